"""Ready-made treatments of saved values: forbid hooks, keep copies in memory, keep them on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..switches.state import STATE
from ..tensors.base import wrap
from .interface import saved_tensors_hooks
from .spill import SpillFolder


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """While this is open, entering ``saved_tensors_hooks`` raises ``RuntimeError(error_message)`` in this thread.

    Raises it at once when hooks are active already. The message of the innermost context counts. Also a decorator.
    """
    if STATE.saved_hooks:
        raise RuntimeError(error_message)
    before = STATE.saved_hooks_disabled
    STATE.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        STATE.saved_hooks_disabled = before


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """The message that entering hooks raises now, or ``None`` when it is allowed."""
    return STATE.saved_hooks_disabled


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether saved-tensor hooks may be entered in this thread."""
    return STATE.saved_hooks_disabled is None


def _saved_tensors_hooks_disable(error_message: str) -> None:
    """Let entering hooks raise from here on in this thread."""
    STATE.saved_hooks_disabled = error_message


def _saved_tensors_hooks_enable() -> None:
    """Let hooks be entered again in this thread."""
    STATE.saved_hooks_disabled = None


def _push_saved_tensors_default_hooks(pack_hook: Any, unpack_hook: Any) -> None:
    """What entering ``saved_tensors_hooks`` does."""
    saved_tensors_hooks(pack_hook, unpack_hook).__enter__()


def _pop_saved_tensors_default_hooks() -> None:
    """What leaving the innermost of them does."""
    if not STATE.saved_hooks:
        raise RuntimeError("there are no hooks for saved tensors in this thread")
    saved_tensors_hooks(None, None).__exit__()


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> tuple[Any, Any] | None:
    """The innermost pair of hooks, or ``None``."""
    return STATE.saved_hooks[-1] if STATE.saved_hooks else None


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - torch's name
    """Keep a copy of every saved tensor, so that later in-place writes cannot reach what backward reads.

    PyTorch keeps a CPU tensor itself unless ``pin_memory`` is set, and then a later write changes the gradient
    without an error; here both ways copy. ``device_type`` is accepted and ignored: there is only the CPU.
    """

    __module__ = "retrograd.autograd.graph"

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_copy_to_cpu, _back_to_device)
        self.pin_memory = pin_memory
        self.device_type = device_type


def _copy_to_cpu(t: Any) -> tuple[Any, Any]:
    return t.device, t.detach().clone()


def _back_to_device(packed: tuple[Any, Any]) -> Any:
    return packed[1]


class save_on_disk(saved_tensors_hooks):  # noqa: N801 - named after save_on_cpu
    """Keep every saved tensor in a file of its own and read it again when backward needs it.

    ``folder`` is where a temporary folder is made (default: the system's place for such). A file is removed as soon
    as its value is released, the temporary folder together with the last of them, and what a killed process left
    behind when the next one starts to save there. Raises ``OSError`` from the forward operation when a value cannot
    be written.
    """

    def __init__(self, folder: str | None = None) -> None:
        spill = self._spill = SpillFolder(folder)
        # The hook does not refer to this object: the folder goes with its last value, not when cycles are collected.
        super().__init__(lambda t: spill.write(t._array), _read_back)

    @property
    def folder(self) -> str:
        """The temporary folder that holds the files."""
        return str(self._spill.path)


def _read_back(packed: Any) -> Any:
    return wrap(packed.read())
