"""Finds the program's names for tensors: parameter names of modules first, then variables.

The search covers the variables of the user's frames (innermost first, then their globals), then what lists,
tuples, dicts and plain objects in them hold, level by level, so that the shortest name wins and two runs agree.
No user code is called: no properties, no ``__getattr__``, no iteration protocol of a user's class.
"""

from __future__ import annotations

import json
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

from .frames import read_locals
from .modules import attributes_of, held_parameters, inner_modules, is_module

_MAX_FRAMES = 40
MAX_LEVELS = 4
_SERIES: tuple[type, ...] = (deque, set, frozenset, type({}.values()))
"""Other containers of Python that are gone through from one element to the next."""
_MAX_ELEMENTS = 1_000
MAX_VISITS = 5_000
_spelled = json.JSONEncoder(ensure_ascii=False).encode
"""Formats a key; one encoder, since it takes longer to create than to use."""
_ATOMS = frozenset(
    {
        *(int, float, complex, bool, str, bytes, bytearray, range, slice, type, type(None), type(...)),
        *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.CodeType),
        *(types.FrameType, types.GeneratorType, types.TracebackType, property, staticmethod, classmethod),
    }
)


@dataclass(slots=True)
class Found:
    """Result of a search, by ``id`` of the object."""

    variables: dict[int, str] = field(default_factory=dict)
    """Names such as ``w``, ``params[0]``, ``w["w1"]``, ``self.weight``."""
    modules: list[tuple[str, Any]] = field(default_factory=list)
    """Modules met during the search, each with its name."""
    tensors: list[tuple[str, Any]] = field(default_factory=list)
    """Tensors that are themselves variables."""


def frame_variables(frames: Iterable[types.FrameType]) -> list[tuple[str, Any]]:
    """Return the variables of frames as (name, value): all locals, innermost frame first, then the globals."""
    found: list[tuple[str, Any]] = []
    globals_seen: dict[int, dict[str, Any]] = {}
    for frame in islice(frames, _MAX_FRAMES):
        if frame.f_locals is not frame.f_globals:
            found.extend(_in_order(read_locals(frame)))
        globals_seen.setdefault(id(frame.f_globals), frame.f_globals)
    for namespace in globals_seen.values():
        found.extend(_in_order(dict(namespace)))
    return found


def outer_variables(frames: Sequence[types.FrameType]) -> list[tuple[str, Any]]:
    """Return the same in reverse: the globals first, then the locals, outermost frame first."""
    spaces = {id(frame.f_globals): frame.f_globals for frame in frames}
    found = [pair for space in spaces.values() for pair in _in_order(dict(space))]
    for frame in reversed(frames[:_MAX_FRAMES]):
        if frame.f_locals is not frame.f_globals:
            found += _in_order(read_locals(frame))
    return found


def _in_order(namespace: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield variables in the order of their creation, those that begin with an underscore last."""
    hidden = []
    for name, value in namespace.items():
        if type(value) in _ATOMS or name.startswith("__") or not name.isidentifier():
            continue
        if name.startswith("_"):
            hidden.append((name, value))
        else:
            yield name, value
    yield from hidden


def search(
    variables: list[tuple[str, Any]],
    wanted: set[int],
    is_tensor: Callable[[object], bool],
    *,
    deep: bool = True,
    levels: int = MAX_LEVELS,
) -> Found:
    """Search variables and what they hold for objects, by ``id``; ends early when every wanted one has a name."""
    found = Found()
    seen: set[int] = set()
    level = variables
    for depth in range(levels if deep else 1):
        holders: list[tuple[str, Any]] = []
        for path, value in level:
            identity = id(value)
            if identity in wanted:
                found.variables.setdefault(identity, path)
            if is_tensor(value):
                if depth == 0:
                    found.tensors.append((path, value))
            elif identity not in seen and len(seen) < MAX_VISITS:
                seen.add(identity)
                if is_module(value):
                    found.modules.append((path, value))
                else:
                    holders.append((path, value))
        if not deep or len(found.variables) == len(wanted):
            break
        level = [item for path, value in holders for item in contents(path, value)]
    return found


def contents(path: str, value: Any) -> list[tuple[str, Any]]:
    """Return what a container or plain object holds, each entry with its path."""
    kind = type(value)
    inside: Iterable[tuple[str, Any]]
    if issubclass(kind, (list, tuple)) or kind in _SERIES:
        plain = list if issubclass(kind, list) else tuple if issubclass(kind, tuple) else kind
        elements = plain.__iter__(value)  # never a method of the program's own
        first = next(elements, None)
        most = MAX_VISITS if is_module(first) else _MAX_ELEMENTS  # each of them may be asked for
        inside = ((f"{path}[{place}]", one) for place, one in enumerate(islice(chain((first,), elements), most)))
    elif issubclass(kind, dict) and not (attributes := attributes_of(value)).keys() & dict.keys(value):
        inside = (
            (f"{path}[{_spelled(key)}]", element)
            for key, element in list(islice(dict.items(value), _MAX_ELEMENTS))
            if type(key) in (str, int)
        )
    else:
        attributes = attributes_of(value)
        inside = ((f"{path}.{name}", element) for name, element in list(islice(attributes.items(), _MAX_ELEMENTS)))
    return [item for item in inside if type(item[1]) not in _ATOMS]


class ParameterName(NamedTuple):
    """A parameter as its module knows it: ``layers.0.weight`` in scope ``model/layers/0``."""

    name: str
    scope: str


def parameter_names(modules: Sequence[tuple[str, Any]], wanted: set[int]) -> dict[int, ParameterName]:
    """Return ``id`` -> parameter name for the wanted tensors that modules (with their names) hold.

    Names are those of ``named_parameters``; if there are several modules, each name is preceded by its module's,
    since two of them may both have a ``weight``.
    """
    parts: dict[str, dict[int, str]] = {}
    found: set[int] = set()
    for members in (_parameters_of, _strangers_in):  # the second costs more and is seldom needed
        for path, module in modules if len(found) < len(wanted) else ():
            own = {key: name for key, name in members(module) if key in wanted and key not in found}
            if own:
                parts.setdefault(path, {}).update(own)
                found.update(own)
    several = len(parts) > 1
    return {
        key: ParameterName(f"{path}.{name}" if several else name, "/".join([path, *name.split(".")[:-1]]))
        for path, own in parts.items()
        for key, name in own.items()
    }


def unregistered(module: Any) -> list[tuple[str, Any]]:
    """Return (name, tensor) for tensors that a module and its children use but do not register.

    These are parameters of modules in plain containers, and plain tensors that require grad:
    ``parameters()`` does not yield them, so no optimizer gets them.
    """
    found: list[tuple[str, Any]] = []
    for prefix, one in inner_modules(module):
        for name, value in list(attributes_of(one).items()):
            if not name.startswith("_") and type(value) not in _ATOMS:
                found += _of_attribute(f"{prefix}.{name}" if prefix else name, value)
    return found


def _of_attribute(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return the trainable tensors in one plain attribute of a module."""
    entries = contents("", value) if issubclass(type(value), (list, tuple, dict, *_SERIES)) else []
    found: list[tuple[str, Any]] = []
    for place, entry in [("", value), *entries]:
        path = name + place.replace("[", ".").replace("]", "").replace('"', "")
        if hasattr(type(entry), "is_leaf"):
            found += [(path, entry)] if entry.requires_grad and _is_leaf(entry) else []
        elif place and is_module(entry):
            found += [(f"{path}.{inner}", parameter) for inner, parameter in held_parameters(entry)]
    return found


def _is_leaf(tensor: Any) -> bool:
    """Whether a tensor is a leaf; a view whose base was written to in the meantime may refuse to say, and is not."""
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return False


def _strangers_in(module: Any) -> list[tuple[int, str]]:
    """Return (``id``, name) of the trainable tensors that a module does not register."""
    return [(id(tensor), name) for name, tensor in unregistered(module)]


def _parameters_of(module: Any) -> list[tuple[int, str]]:
    """Return (``id``, name) of a module's parameters; none if the module cannot list them."""
    try:
        return [(id(parameter), name) for name, parameter in held_parameters(module)]
    except Exception:
        return []
