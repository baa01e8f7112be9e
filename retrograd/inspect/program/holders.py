"""Finds what holds an object, and names it as the program would.

``gc.get_referrers`` returns the holders, which in turn are held by something with a name: a variable, an attribute, a
closure, a cache. No code of the program runs meanwhile, and nothing is held longer than the search.
"""

from __future__ import annotations

import functools
import gc
import types
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...interpreter import getframe
from .frames import is_users, read_locals
from .modules import attributes_of

_LEVELS = 4
"""Containers within containers that are followed."""
_MOST = 20
"""Holders of one object that are examined."""
_CACHE = type(functools.lru_cache(lambda: None))
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)


def holder_of(thing: Any) -> str:
    """Describe what holds an object, such as ``the list history`` or ``the cache of factor``; ``""`` if unknown.

    >>> class Log:
    ...     pass
    >>> log, entry = Log(), Log()
    >>> log.entries = [entry]
    >>> holder_of(entry)
    'the list entries of a Log'
    """
    level: list[tuple[Any, str]] = [(thing, "")]
    frames = list(_frames())
    seen = {id(thing), id(level), id(frames)}
    for _ in range(_LEVELS):
        following: list[tuple[Any, str]] = []
        for held, kind in level[:_MOST]:
            for name in _named_in(frames, held):
                if kind:  # what is only a variable of a running function is in use, and not kept
                    return f"the {kind} {name}"
            for holder in _referrers(held, seen):
                if words := _words_for(holder, held, kind):
                    return words
                if isinstance(holder, (*_CONTAINERS, types.CellType)):
                    following.append((holder, _kind(holder) or kind))  # of a list of dicts, the list has the name
        level = following
        seen.add(id(level))
    return ""


def _frames() -> Iterator[types.FrameType]:
    """Yield the frames of the program that run on this thread."""
    frame: types.FrameType | None = getframe(1)
    while frame is not None:
        if is_users(frame.f_code):
            yield frame
        frame = frame.f_back


def _named_in(frames: list[types.FrameType], held: Any) -> Iterator[str]:
    """Yield the names that the program's frames have for an object, globals first."""
    for frame in frames[-1:]:
        yield from (name for name, value in list(frame.f_globals.items()) if value is held)
    for frame in frames:
        if frame.f_locals is not frame.f_globals:
            found = (name for name, value in read_locals(frame).items() if value is held)
            yield from (f"{name} of {frame.f_code.co_name}()" for name in found)


def _referrers(held: Any, seen: set[int]) -> list[Any]:
    """Return the objects that refer to an object, each once, without our own."""
    found = []
    for one in islice(gc.get_referrers(held), 4 * _MOST):
        if id(one) not in seen and not isinstance(one, types.FrameType):
            seen.add(id(one))
            found.append(one)
    seen.add(id(found))
    return found


def _kind(holder: Any) -> str:
    return "" if isinstance(holder, types.CellType) else type(holder).__name__


def _words_for(holder: Any, held: Any, kind: str) -> str:
    """Return the words for a holder that has a name; ``""`` for one that is named by what holds it."""
    what = f"the {kind} " if kind else ""
    if isinstance(holder, _CACHE):
        return f"the cache of {getattr(holder, '__name__', 'a function')} (functools.lru_cache)"
    if isinstance(holder, (types.TracebackType, BaseException)):
        return "a stored traceback, whose frames keep their variables"
    if isinstance(holder, types.FunctionType) and holder.__defaults__ is held:
        return f"a default argument of {holder.__qualname__}()"
    if isinstance(holder, types.FunctionType):
        return f"{what or 'a variable '}in the closure of {holder.__qualname__}()"
    if isinstance(holder, dict):
        return _of_namespace(holder, held, what)
    if isinstance(holder, (*_CONTAINERS, types.CellType)):
        return ""
    name = next((name for name, value in list(attributes_of(holder).items()) if value is held), "")
    return f"{what}{name} of a {type(holder).__name__}" if name else ""


def _of_namespace(namespace: dict[Any, Any], held: Any, what: str) -> str:
    """Return the name of an entry of a module or object, if the dictionary holds its variables."""
    name = next((name for name, value in list(namespace.items()) if value is held), None)
    if not isinstance(name, str):
        return ""
    if "__name__" in namespace and "__builtins__" in namespace:
        return f"{what or 'the variable '}{name}"
    for owner in islice(gc.get_referrers(namespace), _MOST):
        if attributes_of(owner) is namespace and not isinstance(owner, types.ModuleType):
            return f"{what or 'the attribute '}{name} of a {type(owner).__name__}"
    return ""
