"""Reads which transforms of ``torch.func`` a call is inside, and observes ``functional_call``."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import CodeType, FrameType
from typing import Any

from .....interpreter import getframe
from ...base import Sink
from ...patches import Patches
from ...transforms import Levels, Transforms, functional_call
from ..calls.calls import is_traced
from ..calls.tensors import numbers_of
from ..library import LIBRARY
from ..private import private
from ..problems import unseen


def transforms_of(sink: Sink) -> Transforms:
    """Return what follows the transforms of a recording."""
    return Transforms(sink, _function_of)


def levels_now() -> Levels:
    """Return the levels that are open on this thread."""
    return tuple(str(level.key()).rpartition(".")[2].lower() for level in private().transforms() or ())


@functools.cache
def _places() -> tuple[str, frozenset[str]]:
    """Return the folder in which transforms are written, and the names of the public ones."""
    torch: Any = LIBRARY.torch
    return os.path.join(os.path.dirname(str(torch.__file__)), "_functorch", ""), frozenset(vars(torch.func))


def _function_of(code: CodeType) -> str:
    folder, names = _places()
    function = code.co_qualname.partition(".")[0]
    return function if code.co_filename.startswith(folder) and function in names else ""


class FunctionalCalls:
    """Reports to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Begin to listen where both of PyTorch's names for it end."""
        patches.wrap(sys.modules.get("torch.nn.utils.stateless"), "_functional_call", self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _functional_call(module: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_traced():
                unseen(self._report, given, getframe(2))
            return original(module, given, *args, **kwargs)

        return _functional_call

    def _report(self, given: Any, caller: FrameType) -> None:
        tensors = dict(given) if isinstance(given, Mapping) else {}
        for watch in self._watches():
            watch.sink(functional_call(tensors, caller, partial(numbers_of, watch.sink.tensors)))
