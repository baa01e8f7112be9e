"""Records ``clip_grad_norm_`` and ``clip_grad_value_``, also where there is nothing to clip."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FrameType, GeneratorType
from typing import Any

from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ...base import Watch
from ...patches import Patches
from ...writers.training import tell_clip
from ..library import LIBRARY
from ..problems import unseen

_BOUNDS = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}
"""Function -> its parameter that says how much is left."""


class Clipping:
    """Reports to every recording of level ``backward`` or ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Watch]], run: Callable[[], int | None]) -> None:
        self._watches, self._run = watches, run

    def install(self, patches: Patches) -> None:
        """Report calls of both functions, under either of the names by which programs import them."""
        torch: Any = LIBRARY.torch
        for holder in (torch.nn.utils.clip_grad, torch.nn.utils):
            for name in _BOUNDS:
                patches.wrap(holder, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make one of them report whose gradients it clips."""
        name = original.__name__

        def clip(*args: Any, **kwargs: Any) -> Any:
            given = args[0] if args else kwargs.get("parameters")
            bound, caller = args[1] if len(args) > 1 else kwargs.get(_BOUNDS[name]), getframe(1)
            read, passed = _as_read(given)
            if passed is given:
                unseen(self._report, name, read, bound, False, caller)
                return original(*args, **kwargs)
            if args:
                args = (passed, *args[1:])
            else:
                kwargs = {**kwargs, "parameters": passed}
            try:
                return original(*args, **kwargs)
            finally:
                unseen(self._report, name, read, bound, True, caller)

        return clip

    def _report(self, name: str, read: Any, bound: Any, read_once: bool, caller: FrameType) -> None:
        line = source_line(user_frame(caller))
        parameters = [read] if isinstance(read, LIBRARY.torch.Tensor) else list(read)
        for watch in self._watches():
            tell_clip(watch, name, parameters, bound, self._run(), line, read_once=read_once)


def _as_read(given: Any) -> tuple[Any, Any]:
    """Return what will hold the parameters afterwards, and what to give in place of ``given``, which may be read once.

    A generator stays one: an empty one is warned of.
    """
    read: list[Any] = []
    if isinstance(given, GeneratorType):
        return read, _noted(given, read)
    if isinstance(given, Iterator):
        return read, map(partial(_note, read), given)
    return given, given


def _noted(given: Iterator[Any], read: list[Any]) -> Iterator[Any]:
    for one in given:
        yield _note(read, one)


def _note(read: list[Any], one: Any) -> Any:
    read.append(one)
    return one
