"""Tracks the hooks of a PyTorch program: where registered, how often run, whether they replaced their argument."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import leave_no_frame, source_line, user_frame
from ....program.places import SourceLine
from ....references import Reference
from ...base import Sink
from ...object_numbers import ObjectNumbers
from ...patches import Patches
from ...writers import hooks
from ..calls.calls import is_traced, unseen_version_of
from ..library import LIBRARY
from ..own_work import own_work
from ..problems import note_problem, unseen
from ..values.values import Readable

_OWN = os.path.dirname(__file__)
"""The folder in which our own hooks are removed."""
_MAX_HOOKED = 100_000
"""Nodes with hooks that are remembered."""


class HookWrapper:
    """Replaces a hook on a tensor and reports when it runs; the original is restored when the watch ends.

    It holds the hook with its closure, so only the table of hooks may hold it.
    """

    def __init__(
        self,
        holder: weakref.ref[Any],
        key: int,
        hook: Any,
        report: Callable[[bool, bool, bool], None],
        is_zero: Callable[[Any], bool | None],
    ) -> None:
        """``holder`` refers to the table that contains it under a key, or to the tensor that owns the table."""
        self.holder = holder
        self.key = key
        self.hook = hook
        self.report: Callable[[bool, bool, bool], None] | None = report
        self.is_zero = is_zero

    def __call__(self, given: Any) -> Any:
        before, result = unseen_version_of(given), None
        alive = self.report is not None and self.is_zero(given) is False
        try:
            result = self.hook(given)
            return result
        except BaseException as error:
            leave_no_frame(error)
            raise
        finally:  # one that raises has run, too
            if self.report is not None:
                zeroed = alive and self.is_zero(given if result is None else result) is True
                unseen(self.report, unseen_version_of(given) != before, result is not None, zeroed)

    def leave(self) -> None:
        """Restore the hook, and stop reporting."""
        self.report = None
        holder = self.holder()
        if isinstance(holder, LIBRARY.torch.Tensor):
            holder = holder._backward_hooks
        if holder and holder.get(self.key) is self:
            holder[self.key] = self.hook


class Hooks:
    """The hooks of one recording; those on tensors are wrapped."""

    def __init__(self, sink: Sink, run: Callable[[], int | None], readable: Readable) -> None:
        self.writer = hooks.Hooks(sink)
        self._run = run
        self._readable = readable
        self._placed: weakref.WeakSet[HookWrapper] = weakref.WeakSet()

    def registered(self, kind: str, tensor: Any, number: int, handle: Any, line: SourceLine | None) -> None:
        """Report a hook that was registered on a tensor, and wrap it."""
        key = getattr(handle, "id", None)
        attribute = "_backward_hooks" if kind == "tensor" else "_post_accumulate_grad_hooks"
        holder = getattr(tensor, attribute, None)
        if key is None or not holder or key not in holder:
            return
        hook, writer, run = holder[key], self.writer, self._run
        writer.registered(key, kind, hook, {"tensor": number}, line)

        def ran(in_place: bool, returned: bool, zeroed: bool) -> None:
            writer.ran(key, run(), returned=returned, in_place=in_place, zeroed=zeroed)

        held_by = Reference(holder) if _can_refer(holder) else Reference(tensor)
        is_zero = self._is_zero if kind == "tensor" else _unknown
        wrapper = holder[key] = HookWrapper(held_by, key, hook, ran, is_zero)
        self._placed.add(wrapper)

    def _is_zero(self, gradient: Any) -> bool | None:
        """Whether all entries of a gradient are zero; None if it cannot be read."""
        try:
            with own_work():
                array = self._readable.gradient(gradient) if self._readable.now() else None
                return None if array is None or not array.size else not array.any()
        except Exception as problem:
            note_problem(problem)
            return None

    def close(self) -> None:
        """Restore the program's own hooks."""
        for wrapper in list(self._placed):
            wrapper.leave()
        self._placed.clear()


class Hooked:
    """Knows at which nodes gradients first pass through a hook of the program."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        """Sequence numbers of the nodes."""

    def wrap_register(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make ``Tensor.register_hook`` report its calls."""

        def register_hook(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            handle = original(tensor, *args, **kwargs)
            if not is_traced():
                unseen(self._note, tensor)
            return handle

        return register_hook

    def _note(self, tensor: Any) -> None:
        if tensor.grad_fn is not None:
            if len(self.numbers) >= _MAX_HOOKED:
                self.numbers = set(sorted(self.numbers)[_MAX_HOOKED // 2 :])
            self.numbers.add(tensor.grad_fn._sequence_nr())


class Handles:
    """Reports hooks registered on modules, and the removal of any hook, to recordings that watch."""

    REGISTERING = (
        *("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"),
        *("register_full_backward_pre_hook", "register_backward_hook"),
    )
    """Methods of ``torch.nn.Module``."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches
        self._modules = ObjectNumbers()

    def install(self, patches: Patches) -> None:
        """Wrap the methods that register hooks on modules, and that of the handle."""
        torch: Any = LIBRARY.torch
        for name in self.REGISTERING:
            patches.wrap(torch.nn.Module, name, self._wrap_register)
        patches.wrap(torch.utils.hooks.RemovableHandle, "remove", self._wrap_remove)

    def _wrap_register(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def register(module: Any, *args: Any, **kwargs: Any) -> Any:
            handle = original(module, *args, **kwargs)
            hook = args[0] if args else kwargs["hook"]
            unseen(self._registered, original.__name__, module, hook, handle, getframe(1))
            return handle

        return register

    def _registered(self, method: str, module: Any, hook: Any, handle: Any, caller: FrameType) -> None:
        on = {"owner": self._modules.of(module), "type": type(module).__name__, "method": method}
        line = source_line(user_frame(caller))
        for watch in self._watches():
            watch.forward.hooks.writer.registered(handle.id, "module", hook, on, line)

    def _wrap_remove(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        def remove(handle: Any) -> None:
            original(handle)
            caller = getframe(2)  # below the wrapper that patches put around this
            if os.path.dirname(caller.f_code.co_filename) != _OWN:
                unseen(self._removed, handle, caller)

        return remove

    def _removed(self, handle: Any, caller: FrameType) -> None:
        line = source_line(user_frame(caller))
        for watch in self._watches():
            watch.forward.hooks.writer.removed(handle.id, line)


def _unknown(_: Any) -> bool | None:
    """Return None: the gradient is not read."""
    return None


def _can_refer(holder: Any) -> bool:
    """Whether an object supports weak references; an ``OrderedDict`` does."""
    try:
        Reference(holder)
    except TypeError:
        return False
    return True
