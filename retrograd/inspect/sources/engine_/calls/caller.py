"""Finds the user's frame that called the engine, and the public function that it called.

An operator row is called ``_sum_dim`` or ``_where``; the user wrote ``x.sum(1)`` or ``torch.where(...)``. The outermost
of our frames between the row and the user's frame that belongs to a public function has the name that the user wrote.
"""

from __future__ import annotations

import functools
import os
import re
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .....engine import late
from .....engine.checkpoint.frame import Frame
from .....engine.checkpoint.run import _Region
from .....engine.execution.graph_task import GraphTask
from .....engine.frames import TORCH_NAMES
from .....engine.table.public import FUNCTIONS, METHODS, NAMESPACES, PROPERTIES
from ....operators import canonical, inplace
from ....program.frames import is_foreign, user_frame

_INTERNAL = "<internal>"
_MODULE = "<module>"
_DUNDER = re.compile(r"__(\w+)__$")
_VARIANT = re.compile(r"_(?:(?:self|other)_)?(?:number|tensor|scalar|dims?|all|base|with)$|_inplace_(?:number|tensor)$")
_COMMON_CODE = ("call", "<lambda>", "_first_call")
"""Names of code shared by many functions: wrappers, and first calls."""

_COMPOSERS = (("distributions", ""), ("nn", "module"), ("nn", "conv"))
_COMPOSING = tuple(TORCH_NAMES + os.path.join(*names) for names in _COMPOSERS)
"""Prefixes of our files that call operators as a program does."""
_OWN_DOING = (GraphTask.run, _Region.run, Frame.save_inputs, Frame.receive, Frame.pack)
"""Functions below which, up to the next user's frame, the engine works for itself."""


class Caller(NamedTuple):
    """Where a call of the engine came from."""

    frame: FrameType | None
    """The user's innermost frame."""
    function: str
    """The public function, ``""`` if there was none in between."""
    internal: bool
    """The engine called itself: a rule that runs on tensors, an optimizer's update."""
    module: bool
    """A module's ``forward`` of ours is in between."""


_new = tuple.__new__
"""Makes a ``Caller`` in a third of the time."""
_USER = "<user>"
_kinds: dict[int, tuple[CodeType, str]] = {}
"""Id of a code object -> the code, kept so that its id stays unique, and ``_USER``, a public name or ``""``."""


def caller_of(frame: FrameType | None) -> Caller:
    """Return who called, beginning with a frame inside the engine."""
    kinds, function, module = _kinds, "", False
    while frame is not None:
        code = frame.f_code
        known = kinds.get(id(code))
        kind = _judge(code) if known is None else known[1]
        if kind:
            if kind is _USER:
                return _new(Caller, (frame, function, False, module))
            if kind is _INTERNAL:
                return Caller(user_frame(frame), "", True, module)
            if kind is _MODULE:
                module = True
            else:
                function = kind
        frame = frame.f_back
    return Caller(None, function, False, module)


def forget_callers() -> None:
    """Clear the caches, which hold code objects."""
    _kinds.clear()


def _judge(code: CodeType) -> str:
    """Return the kind of a code object."""
    names = _names or _public_names()
    kind = (names.get(id(code), _NAMELESS)[1] or _composing(code)) if is_foreign(code) else _USER
    _kinds[id(code)] = (code, kind)
    return kind


def _composing(code: CodeType) -> str:
    """Return the kind of our own code that calls operators without texts in the user's line, as modules do."""
    return _MODULE if code.co_filename.startswith(_COMPOSING) else ""


_names: dict[int, tuple[CodeType, str]] = {}
"""Id of a code object -> the code, kept as functions may be replaced, and the name of its public function."""
_NAMELESS = (None, "")


def _public_names() -> dict[int, tuple[CodeType, str]]:
    """Fill the table, at the first call of the engine, when all functions are there."""
    found: dict[int, tuple[CodeType, str]] = {}
    shared: set[int] = set()
    tables: list[dict[str, Any]] = [*NAMESPACES.values(), PROPERTIES, FUNCTIONS, METHODS]
    for name, function in [pair for table in tables for pair in table.items()]:
        code = _own_code(function)
        if code is None or code.co_name in _COMMON_CODE:
            continue
        _, known = found.setdefault(id(code), (code, spelled(name)))
        if known != spelled(name) and code.co_name not in (name, known):
            shared.add(id(code))
    for name, method in vars(late.tensor_class).items():
        code = _own_code(method)
        if code is not None and _DUNDER.match(name) and code.co_name == name:
            found.setdefault(id(code), (code, spelled(name)))
    for key in shared:
        del found[key]
    own = {id(function.__code__): (function.__code__, _INTERNAL) for function in _OWN_DOING}
    _names.update({**found, **_names, **own})
    return _names


def note_module(code: CodeType) -> None:
    """Count this function as the call of a module."""
    names = _names or _public_names()
    names[id(code)] = (code, _MODULE)
    _kinds.pop(id(code), None)


def _own_code(function: Any) -> CodeType | None:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


@functools.cache
def spelled(name: str) -> str:
    """Return torch's name for a row or method: ``_sum_dim`` is ``sum``, ``__radd__`` is ``add``."""
    if _DUNDER.match(name):
        return canonical(name) + ("_" if inplace(name) and name != "__setitem__" else "")
    return _VARIANT.sub("", name.lstrip("_")) if name.startswith("_") else name
