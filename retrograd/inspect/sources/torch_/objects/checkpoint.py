"""Records when checkpointed blocks of a PyTorch program begin, end and are recomputed."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .....interpreter import getframe
from ....program.frames import leave_no_frame, source_line, user_frame
from ...base import Watch
from ...importing import AfterImport
from ...patches import Patches
from ...writers import checkpoints
from ..problems import safely, tell, unseen

_MODULE = "torch.utils.checkpoint"
_GENERATORS = ("_checkpoint_without_reentrant_generator_impl", "_checkpoint_without_reentrant_generator")
"""What a checkpoint is made of; from 2.14 on the first, which has the block's own arguments in front."""
_REENTRANT = "CheckpointFunction"
"""What a reentrant one is made of."""


class Checkpoints:
    """Reports to every recording of level ``backward`` or ``full`` that watches the thread."""

    def __init__(
        self, watches: Callable[[], Iterable[Watch]], run: Callable[[], int | None], threads: Callable[[], int]
    ) -> None:
        self._watches = watches
        self._run = run
        self._threads = threads
        """Tells how many threads are being watched."""
        self._blocks = itertools.count()
        self._told = checkpoints.Checkpoints()
        self._waiting: AfterImport | None = None

    def install(self, patches: Patches) -> None:
        """Wrap what a checkpoint is made of, once that is loaded; a release that lacks it shows none."""
        if _MODULE in sys.modules:
            self._wrap_in(patches)
        else:
            self._waiting = AfterImport(_MODULE, lambda: safely(self._wrap_in, patches))
            self._waiting.begin()

    def uninstall(self) -> None:
        """Wait no more."""
        if self._waiting is not None:
            self._waiting.end()

    def _wrap_in(self, patches: Patches) -> None:
        module = sys.modules[_MODULE]
        name = next((one for one in _GENERATORS if hasattr(module, one)), None)
        if name is None:
            tell(f"{_MODULE} has no {_GENERATORS[1]}: checkpointed blocks are not recorded")
        else:
            patches.wrap(module, name, self._wrap_generator)
        if hasattr(module, _REENTRANT):
            patches.wrap(getattr(module, _REENTRANT), "forward", self._wrap_forward)

    def _wrap_forward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Let a reentrant checkpoint say where it computes its block, without gradients."""

        def forward(ctx: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
            block, name = next(self._blocks), str(getattr(function, "__qualname__", type(function).__name__))
            unseen(self._begin, "reentrant", block, name)
            try:
                return original(ctx, function, *args, **kwargs)
            finally:
                unseen(self._end, block, name)

        return forward

    def _wrap_generator(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Let the generator behind non-reentrant checkpoints say when its block begins, ends and is recomputed."""

        def _checkpoint_without_reentrant_generator(function: Any, *args: Any, **kwargs: Any) -> Any:
            block, name = next(self._blocks), str(getattr(function, "__qualname__", type(function).__name__))

            def computed(*given: Any, **words: Any) -> Any:
                unseen(self._begin, "recompute", block, name)
                try:
                    return function(*given, **words)
                except BaseException as error:
                    leave_no_frame(error)
                    raise
                finally:
                    unseen(self._end, block, name)

            older = args[:1] if original.__name__ == _GENERATORS[1] else ()
            random = bool(older[0]) if older else kwargs.get("preserve_rng_state", True)
            return self._followed(original(computed, *args, **kwargs), block, name, random=random)

        return _checkpoint_without_reentrant_generator

    def _followed(self, steps: Any, block: int, name: str, *, random: bool) -> Iterator[Any]:
        """Run along with the generator: between its two halves runs the forward of the block."""
        value = next(steps)
        unseen(self._begin, "forward", block, name, {"keeps_random_state": random})
        try:
            yield value
        except BaseException as error:
            unseen(self._end, block, name)
            try:
                steps.throw(error)
            except StopIteration:
                return
            raise
        unseen(self._end, block, name)
        yield from steps

    def _begin(self, action: str, block: int, name: str, more: dict[str, Any] | None = None) -> None:
        data = {**self._data(block, name), **(more or {})}
        line = source_line(user_frame(getframe(1)))
        self._told.begin(self._watches(), action, data, line, self._run())

    def _end(self, block: int, name: str) -> None:
        self._told.end(self._data(block, name), source_line(user_frame(getframe(1))), self._run())

    def _data(self, block: int, name: str) -> dict[str, Any]:
        data: dict[str, Any] = {"block": block, "function": name}
        return {**data, "mixed": True} if self._threads() > 1 else data
