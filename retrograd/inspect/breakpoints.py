"""Breakpoints on backward graphs: stop a backward pass at the node where a gradient goes wrong."""

from __future__ import annotations

import bdb
import pdb
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from ..errors import RetrogradError, UsageError
from ..interpreter import getframe
from .program.frames import is_users, user_frame
from .program.places import SourceLine, short_place
from .sources import sources
from .sources.base import Elsewhere, Ran

ACTIONS = ("raise", "pdb", "report")


class BreakpointReached(RetrogradError, RuntimeError):
    """Leaves ``backward()`` when a breakpoint with action ``"raise"`` is reached."""

    code = "breakpoint"


@dataclass(frozen=True, slots=True)
class Step:
    """A node that has just run, as passed to a condition; do not keep it, since it holds the gradients."""

    op: str
    """``"LogBackward0"``."""
    source: SourceLine | None
    """The user's line that made the node."""
    incoming: tuple[Any, ...]
    """Gradients that arrived, as read-only NumPy arrays (None for none).

    Those not on the CPU have ``shape``, ``size``, ``nan``, ``inf`` and ``any()``; ``numpy.asarray``
    copies them.
    """
    outgoing: tuple[Any, ...]
    """Gradients that the node passed on."""

    @property
    def where(self) -> str:
        """The node and its source line as text: ``MulBackward0 (train.py:7)``."""
        return self.op if self.source is None else f"{self.op} ({short_place(self.source.file, self.source.line)})"


Condition = Callable[[Step], Any]


def _nonfinite(step: Step) -> str:
    """Hold if a gradient that the node passes on, or that arrives at a leaf, has a NaN or infinity."""
    for verb, gradients in (("passes on", step.outgoing), ("is given", step.incoming)):
        for gradient in gradients:
            text = "" if gradient is None else _count_bad(gradient)
            if text:
                before = any(g is not None and _count_bad(g) for g in step.incoming)
                rest = "" if before else "; what arrived was finite"
                return f"{step.where} {verb} a gradient with {text}{rest}"
    return ""


def _count_bad(gradient: Any) -> str:
    if isinstance(gradient, Elsewhere):
        return _bad_words(gradient.nan, gradient.inf, gradient.first_bad, gradient.shape)
    if gradient.dtype.kind not in "fc" or np.isfinite(gradient).all():
        return ""
    nan, inf = np.isnan(gradient), np.isinf(gradient)
    return _bad_words(int(nan.sum()), int(inf.sum()), int(np.argmax(nan | inf)), gradient.shape)


def _bad_words(nan: int, inf: int, place: int, shape: tuple[int, ...]) -> str:
    """Return how many entries are not finite and where the first one is; an empty string if all are finite."""
    if not nan + inf:
        return ""
    return f"{nan} NaN and {inf} inf, the first at {[int(i) for i in np.unravel_index(place, shape)]}"


def _zero(step: Step) -> str:
    """Hold if a node passes on only zeros although a nonzero gradient arrived."""
    outgoing = [g for g in step.outgoing if g is not None and g.size]
    if not outgoing or any(g.any() for g in outgoing) or not any(g is not None and g.any() for g in step.incoming):
        return ""
    return f"{step.where} passes on nothing but zeros"


CONDITIONS: dict[str, Condition] = {"nonfinite": _nonfinite, "zero": _zero}
"""Conditions by name; each returns a description of what is wrong, or an empty string."""


class breakpoint:  # noqa: A001, N801 - lower-case, as context managers of PyTorch are
    """Stop at the first node of a backward pass at which a condition holds, on this thread and on every engine.

    ::

        with rg.breakpoint("nonfinite"):
            loss.backward()

    ``condition`` is ``"nonfinite"``, ``"zero"``, or a function that takes a ``Step`` (with ``op``, ``source``,
    ``incoming``, ``outgoing``) and returns something true to stop. ``action`` is ``"raise"`` (``BreakpointReached``
    leaves ``backward()``), ``"pdb"`` (opens the debugger at the line that called ``backward()``) or ``"report"``
    (writes a line to stderr and continues). The object lists what it found in ``stops``. Raises ``UsageError`` for any
    other condition or action.
    """

    def __init__(self, condition: str | Condition, action: str = "raise") -> None:
        if not callable(condition) and condition not in CONDITIONS:
            raise UsageError(
                f"There is no condition {condition!r}.", f"Give a function of a step or one of {_listed(CONDITIONS)}."
            )
        if action not in ACTIONS:
            raise UsageError(f"There is no action {action!r}.", f"Choose one of {_listed(ACTIONS)}.")
        self.condition = CONDITIONS[condition] if isinstance(condition, str) else condition
        self.action = action
        self.stops: list[str] = []
        """Descriptions of the stops, in order."""
        self._listening: list[ExitStack] = []

    def __enter__(self) -> breakpoint:
        with ExitStack() as stack:
            for source in sources():
                stack.enter_context(source.steps(self))
            self._listening.append(stack.pop_all())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.pop().__exit__(kind, error, trace)

    def __call__(self, ran: Ran) -> None:
        """Check a node that ran; with action ``"raise"`` raises ``BreakpointReached``."""
        step = Step(ran.op, ran.source, ran.incoming, ran.outgoing)
        said = self.condition(step)
        if said:
            self._stop(said if isinstance(said, str) else f"{step.where} meets the condition {_name(self.condition)}")

    def _stop(self, text: str) -> None:
        self.stops.append(text)
        if self.action == "raise":
            raise BreakpointReached(f"Breakpoint: {text}.", "Look at that line, or use action='pdb' to look around.")
        print(f"retrograd: breakpoint: {text}", file=sys.stderr)
        if self.action == "pdb":
            _ask(user_frame(getframe(1)))


class _Debugger(pdb.Pdb):
    """A debugger that shows only the user's code: ``step`` would otherwise lead through the engine first."""

    def stop_here(self, frame: FrameType) -> bool:
        """Whether stepping stops in a frame."""
        return _is_users(frame) and bool(super().stop_here(frame))

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """Return frames with their lines, outermost first, and the index of the current one."""
        stack, present = super().get_stack(f, t)
        shown = [number for number, (frame, _) in enumerate(stack) if number == present or _is_users(frame)]
        return [stack[number] for number in shown], shown.index(present)


def _is_users(frame: FrameType) -> bool:
    """Whether code belongs to the program; code compiled from a string (a dataclass's) does so only under ``-c``."""
    code = frame.f_code
    made = code.co_filename == "<string>" and frame.f_globals.get("__name__") != "__main__"
    return not made and is_users(code)


def _ask(frame: FrameType | None) -> None:
    """Open the debugger in a frame of the user's code; ``quit`` ends the program as it does in pdb."""
    debugger = _Debugger()
    debugger.set_trace(frame)
    sys.settrace(_nothing)  # while the user is asked
    debugger.interaction(frame, None)
    if debugger.quitting:
        raise bdb.BdbQuit
    if sys.gettrace() is not None:  # as ``continue`` leaves it where there are no breakpoints
        sys.settrace(debugger.trace_dispatch)


def _nothing(*_: object) -> None:
    """Trace nothing."""


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)


def _name(condition: Condition) -> str:
    return str(getattr(condition, "__name__", type(condition).__name__))
