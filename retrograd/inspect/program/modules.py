"""Reads what modules and optimizers hold from their internal tables: no method of the program's classes is called."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from .frames import read_locals

_HIDDEN = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Where wrappers (compiled, sharded, checkpointed) keep the module that the program wrote."""

_OF_NO_MODULE = ("retrograd.inspect", "torch.nn.functional", "torch.overrides")
"""Where functions lie of which the first argument is never a module; to read variables takes long."""


def attributes_of(value: object) -> dict[str, Any]:
    """Return the dictionary of an object's attributes, an empty one if there is none."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return attributes if type(attributes) is dict else {}


def attribute(value: object, name: str, default: Any = None) -> Any:
    """Return an attribute; the class is asked only if the object itself has none with that name."""
    attributes = attributes_of(value)
    return attributes[name] if name in attributes else getattr(value, name, default)


def is_module(value: object) -> bool:
    """Whether a value is a module: its class can name its parameters."""
    try:
        return callable(type.__getattribute__(type(value), "named_parameters"))  # a metaclass may have its own way
    except AttributeError:
        return False


def inner_modules(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield a module (``""``) and all in it, each once, in the order of ``named_modules``, by ``joined`` names."""
    seen: set[int] = set()
    waiting = [("", module)]
    while waiting:
        path, one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield path, one
        inside = [(name, child) for name, child in _entries(one, "_modules") if child is not None]
        waiting += [(joined(path, name), child) for name, child in reversed(inside)]


def joined(path: str, name: str) -> str:
    """Return the path of a module in another; a library's wrapper adds nothing to the path."""
    return path if name in _HIDDEN else f"{path}.{name}" if path else name


def class_name(module: Any) -> str:
    """Return the name of a module's class; of what a wrapper of a library holds, that of the class in it."""
    inside = attributes_of(module).get("_modules")
    if not inside or _HIDDEN.isdisjoint(inside):
        return type(module).__name__
    held = next((inside[name] for name in _HIDDEN if name in inside), None)
    return type(module).__name__ if held is None else class_name(held)


def inner_classes(module: Any) -> dict[str, str]:
    """Return the classes of the modules inside a module that can be called, by path: not of lists and dictionaries."""
    found = {}
    for path, one in inner_modules(module):
        forwards = [vars(base)["forward"] for base in type(one).__mro__ if "forward" in vars(base)]
        if path and len(forwards) > 1:  # the last is that of all modules, which refuses
            found[path] = class_name(one)
    return found


def held_parameters(module: Any) -> list[tuple[str, Any]]:
    """Return what ``torch.nn.Module.named_parameters`` would; only classes without its tables are called."""
    if "_parameters" not in attributes_of(module):
        return [(str(name), parameter) for name, parameter in module.named_parameters()]
    found: dict[int, tuple[str, Any]] = {}
    for path, one in inner_modules(module):
        for name, parameter in _entries(one, "_parameters"):
            if parameter is not None:
                found.setdefault(id(parameter), (f"{path}.{name}" if path else name, parameter))
    return list(found.values())


def is_training(module: Any) -> bool:
    """Whether a module is in training mode; scripted ones keep that elsewhere and are asked."""
    return bool(attribute(module, "training", True))


def called_in_evaluation(frame: FrameType | None) -> bool:
    """Whether the innermost running module, the first argument of a function on the stack, is in evaluation mode."""
    while frame is not None:
        code = frame.f_code
        if code.co_argcount and not frame.f_globals.get("__name__", "").startswith(_OF_NO_MODULE):
            first = read_locals(frame).get(code.co_varnames[0])
            if is_module(first):
                return not is_training(first)
        frame = frame.f_back
    return False


def _entries(module: Any, table: str) -> list[tuple[str, Any]]:
    """Return the entries of one of a module's tables."""
    return list(attributes_of(module).get(table, {}).items())
