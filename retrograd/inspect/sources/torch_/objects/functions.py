"""Records custom Functions and checkpointed blocks: begun, ended, computed again."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import leave_no_frame, source_line, user_frame
from ...base import Watch
from ...importing import AfterImport
from ...origins import Marks
from ...patches import Patches
from ...writers import functions
from ..calls.calls import Inside, is_traced, unseen_version_of, version_of
from ..library import LIBRARY
from ..problems import safely, tell, unseen
from .replay import TensorReader

# Records when PyTorch's custom Functions are applied and when their backward rules return.

_COLLECTIVES = "torch.distributed.nn.functional"
"""Its Functions have derivatives and call collectives that have none: those alone would seem to cut the graph."""


def applied_in_c() -> bool:
    """Whether ``Function.apply`` has no Python frame that shows its caller (from 2.14 on)."""
    return not isinstance(vars(LIBRARY.torch.autograd.Function).get("apply"), classmethod)


class Functions:
    """Sends events to every recording of level ``backward`` or ``full`` that watches the thread."""

    def __init__(
        self, watches: Callable[[], Iterable[Watch]], marks: Callable[[], Marks], inside: Callable[[], Inside]
    ) -> None:
        self._torch: Any = LIBRARY.torch
        self._watches = watches
        self._marks = marks
        self._inside = inside
        self._original: Any = None
        self._active = True
        self._reader = TensorReader()
        self._writer = functions.Functions(self._torch.Tensor, _rule)

    def install(self) -> None:
        """Wrap ``apply``."""
        function = self._torch.autograd.Function
        original = self._original = function.__dict__["apply"]

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._active or is_traced():
                return original.__get__(None, cls)(*args, **kwargs)
            try:
                return self._apply(cls, args, kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise

        apply.__doc__ = original.__get__(None, function).__doc__
        self._wrapper = classmethod(apply)
        function.apply = self._wrapper

    def uninstall(self) -> None:
        """Restore ``apply``, unless someone else has replaced it meanwhile."""
        self._active = False
        function = self._torch.autograd.Function
        if function.__dict__.get("apply") is self._wrapper:
            function.apply = self._original

    def _apply(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replaces ``Function.apply``: keeps the call, counts how deep Functions are nested, reports the outermost."""
        inside = self._inside()
        tensors = [one for one in args if isinstance(one, self._torch.Tensor)]
        versions = [unseen_version_of(one) for one in tensors]
        if inside.functions == 0:
            unseen(self._keep, cls, args, kwargs)
        inside.functions += 1
        try:
            result = self._original.__get__(None, cls)(*args, **kwargs)
        finally:
            inside.functions -= 1
        if inside.functions == 0:
            unseen(self._applied, cls, args, tensors, versions, result, getframe(1))
        return result

    def _keep(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep the call for the recordings that will compare it with finite differences."""
        for watch in self._watches():
            kept_calls = watch.sink.kept_calls
            if kept_calls is None or watch.level != "full" or not self._writer.is_users(cls):
                continue
            if any(isinstance(one, self._torch.Tensor) and not one.is_cpu for one in args):
                watch.sink.missed("functions", cls.__name__)  # its kernels may be of that device alone
            elif self._reader.opens():
                kept_calls.offer("torch", cls, (args, kwargs), self._reader)

    def _applied(
        self, cls: Any, args: Any, tensors: list[Any], versions: list[int], result: Any, caller: FrameType
    ) -> None:
        """Report a Function that was applied."""
        if not self._writer.is_reported(cls) and cls.__module__ != _COLLECTIVES:
            return
        given = result if isinstance(result, tuple) else (result,)
        outputs = [one for one in given if isinstance(one, self._torch.Tensor)]
        returned = set(map(id, outputs))
        written = zip(tensors, versions, strict=True)
        changed = [one for one, before in written if version_of(one) != before and id(one) not in returned]
        node = next((one.grad_fn for one in outputs if one.requires_grad), None)
        ctx = node if isinstance(node, cls._backward_cls) else None
        number = None if ctx is None else ctx._sequence_nr() - self._marks().begin
        applied = functions.Applied(cls, args, outputs, changed, ctx, number)
        line, run = source_line(user_frame(caller)), self._inside().run
        for watch in self._watches():
            self._writer.applied(watch, applied, run, line)

    def wrap_rule(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make the call of backward rules report what they return."""

        def apply(node: Any, *grads: Any) -> Any:
            spread = any(0 in one.stride() and one.numel() > 1 for one in grads if type(one) is self._torch.Tensor)
            returned = original(node, *grads)
            unseen(self._returned, node, returned, spread)
            return returned

        return apply

    def _returned(self, node: Any, returned: Any, spread: bool) -> None:
        """Report what a user's backward rule returned; ``spread``: entries of its gradients shared memory."""
        if self._writer.is_users(node._forward_cls):
            number, count = node._sequence_nr() - self._marks().begin, len(node.needs_input_grad)
            run = self._inside().run
            for watch in self._watches():
                self._writer.returned(watch, node._forward_cls, number, count, returned, run, spread=spread)


def _rule(cls: Any) -> Any:
    """Return the user's backward rule, by either of its two names."""
    function = LIBRARY.torch.autograd.Function
    return cls.vjp if cls.backward is function.backward else cls.backward


# Records when checkpointed blocks of a PyTorch program begin, end and are recomputed.

_MODULE = "torch.utils.checkpoint"
_GENERATORS = ("_checkpoint_without_reentrant_generator_impl", "_checkpoint_without_reentrant_generator")
"""Functions behind a checkpoint; from 2.14 on the first, which takes the block's own arguments first."""
_REENTRANT = "CheckpointFunction"
"""The class behind a reentrant checkpoint."""


class Checkpoints:
    """Sends events to every recording of level ``backward`` or ``full`` that watches the thread."""

    def __init__(
        self, watches: Callable[[], Iterable[Watch]], run: Callable[[], int | None], threads: Callable[[], int]
    ) -> None:
        self._watches = watches
        self._run = run
        self._threads = threads
        """Returns how many threads are being watched."""
        self._blocks = itertools.count()
        self._writer = functions.Checkpoints()
        self._waiting: AfterImport | None = None

    def install(self, patches: Patches) -> None:
        """Wrap the functions behind a checkpoint, once loaded; without them checkpoints are not recorded."""
        if _MODULE in sys.modules:
            self._wrap_in(patches)
        else:
            self._waiting = AfterImport(_MODULE, lambda: safely(self._wrap_in, patches))
            self._waiting.begin()

    def uninstall(self) -> None:
        """Stop waiting."""
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
        """Make a reentrant checkpoint report when it runs its block without gradients."""

        def forward(ctx: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
            block, name = next(self._blocks), str(getattr(function, "__qualname__", type(function).__name__))
            unseen(self._begin, "reentrant", block, name)
            try:
                return original(ctx, function, *args, **kwargs)
            finally:
                unseen(self._end, block, name)

        return forward

    def _wrap_generator(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make the generator behind non-reentrant checkpoints report when its block begins, ends and is recomputed."""

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
        """Run the generator: the forward of the block runs between its two halves."""
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
        self._writer.begin(self._watches(), action, data, line, self._run())

    def _end(self, block: int, name: str) -> None:
        self._writer.end(self._data(block, name), source_line(user_frame(getframe(1))), self._run())

    def _data(self, block: int, name: str) -> dict[str, Any]:
        data: dict[str, Any] = {"block": block, "function": name}
        return {**data, "mixed": True} if self._threads() > 1 else data
