"""The switches every operation consults: one process-wide count, and what each thread has set.

``MODE`` counts everything special that is on in any thread (grad mode off, inference mode, saved-tensor hooks,
forward-mode levels, anomaly mode, observers).  While it is 0, an operation need not look at anything else.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from ...locks import lock

MODE = 0
_lock = lock()

_numbers = itertools.count()
next_number = _numbers.__next__
"""Gives out the numbers of nodes and of writes; one counter for all threads, so a larger one is always later."""


def peek_number() -> int:
    """The number the next node or write will get."""
    return int(repr(_numbers)[6:-1])  # "count(7)"; its pickling, the quicker way, ends with Python 3.14


def enter_mode() -> None:
    """Something special was switched on."""
    global MODE
    with _lock:
        MODE += 1


def leave_mode() -> None:
    """It was switched off again."""
    global MODE
    with _lock:
        MODE -= 1


class ThreadState(threading.local):
    """What one thread has switched on; the class attributes are a new thread's defaults."""

    grad_enabled: bool = True
    in_handler: bool = False
    """Whether a ``__torch_dispatch__`` is running: what it does is how one operator computes, and is not observed."""
    through: Any = None
    """Set where the program's grad modes are only noted, as tangents pass through all of them."""
    grad_enabled_above: bool = False
    """``grad_enabled`` at the time of the call, which the handler sees."""
    inference: bool = False
    forward_grad_enabled: bool = True
    pushing: bool = False
    """Whether the running write is of a tangent, beside that of a tensor."""
    multithreading: bool = True
    view_replay: bool = False
    grad_layout: bool = True
    saved_hooks_disabled: str | None = None
    device: Any = None
    """The device that new tensors are made on where none is given; ``None`` for the CPU."""
    batches: tuple[Any, ...] = ()
    """The batches that ``vmap`` is going through, the outermost first."""
    updating: object = None
    """The observers (``observe.PRESENT``) that were notified that an optimizer is running."""
    repeating: bool = False
    """Whether the running code runs again for other entries of a batch, which may share its graph."""

    def __init__(self) -> None:
        self.saved_hooks: list[tuple[Any, Any]] = []
        self.tasks: list[Any] = []
        """Running graph tasks of this thread, innermost last."""
        self.dispatch_modes: list[Any] = []
        """Who stands between operators and their computation, innermost last."""
        self.devices_outside: list[Any] = []
        """What ``device`` was before each block that set it, innermost last."""
        self.transforms: list[str] = []
        """The kinds of function transforms that are running, innermost last."""
        self.levels: list[Any] = []
        """What the function transforms that are running know of the tensors made in them, innermost last."""
        self.mode_blocks: list[tuple[Any, Any]] = []
        """Objects of grad modes whose blocks this thread is in, innermost last, each with what was before."""
        self.nodes: list[Any] = []
        """Running nodes of this thread, innermost last."""


STATE = ThreadState()


def set_grad_enabled_here(enabled: bool) -> bool:
    """Switch recording on or off in this thread, keeping the process-wide count right; what it was before."""
    global MODE
    before = STATE.grad_enabled
    if before is not enabled:
        STATE.grad_enabled = enabled
        with _lock:
            MODE += -1 if enabled else 1
    return before


def restore_saved_hooks(hooks: tuple[Any, ...]) -> None:
    """Undo what code that ran within backward did to this thread's hooks on saved tensors."""
    global MODE
    with _lock:
        MODE += len(hooks) - len(STATE.saved_hooks)
    STATE.saved_hooks[:] = hooks


DISPATCH_MODES = 0
"""How many ``dispatch_modes`` there are in all threads."""
ANOMALY = False
"""Anomaly mode (process-wide): nodes remember where they were made."""
CHECK_NAN = True
"""Whether anomaly mode looks for NaN."""
FORWARD_LEVELS = 0
"""How many forward-mode levels are open (process-wide)."""


def snapshot() -> dict[str, Any]:
    """This thread's switches, to be taken over by another thread."""
    return {
        "grad_enabled": STATE.grad_enabled,
        "inference": STATE.inference,
        "forward_grad_enabled": STATE.forward_grad_enabled,
        "multithreading": STATE.multithreading,
        "view_replay": STATE.view_replay,
        "grad_layout": STATE.grad_layout,
        "saved_hooks_disabled": STATE.saved_hooks_disabled,
        "saved_hooks": list(STATE.saved_hooks),
        "tasks": list(STATE.tasks),
        "nodes": list(STATE.nodes),
    }


@contextlib.contextmanager
def inherited(switches: dict[str, Any]) -> Iterator[None]:
    """Run with another thread's switches, keeping the process-wide count right."""
    special = (not switches["grad_enabled"]) + switches["inference"]
    for _ in range(special):
        enter_mode()
    for name, value in switches.items():
        setattr(STATE, name, value)
    try:
        yield
    finally:
        for _ in range((not STATE.grad_enabled) + STATE.inference):
            leave_mode()
        STATE.grad_enabled, STATE.inference = True, False
