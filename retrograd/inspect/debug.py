"""``debug``: a block of a script whose backward runs are recorded, printed and saved."""

from __future__ import annotations

import os
import weakref
from contextlib import ContextDecorator, ExitStack
from types import TracebackType
from typing import Any

from ..errors import NoGraphError
from .breakpoints import Breakpoint, Condition, armed
from .diagnose import diagnose
from .events import Recording
from .explain import explain
from .findings import Finding
from .kept_steps import KEPT
from .notebook import recording_bundle
from .output import save, with_findings
from .record import Recorder, recorded
from .render import RenderOptions, renderer_for
from .render.formats.tree import print_tree
from .snapshot import GraphSnapshot

_latest: list[weakref.ref[debug]] = []


def latest() -> debug | None:
    """Return the block that was entered last, while it is alive."""
    return _latest[0]() if _latest else None


class debug(ContextDecorator):  # noqa: N801 - lower-case, as context managers of PyTorch are
    """Record every backward run of the current thread, of both engines, inside a ``with`` block or function.

    ::

        with rg.debug() as trace:
            loss = model(x)
            loss.backward()
        trace.print()
        trace.save("step.svg")

    ``level`` says how much is recorded: ``"graph"``, ``"backward"`` (times and statistics of each node as well) or
    ``"full"`` (every call of forward, too), which explains most.  Blocks nest.  Exceptions go through, with a note
    that says what led to them where that is known, and what was recorded up to then is kept.  With ``check`` the
    custom Functions that ran are compared with finite differences when the block ends: they are called again.
    Smallest, largest and mean entry of gradients and their share of zeros are taken in the first runs and in some of
    the later ones, with ``all_figures`` in every one.  Of a program of more steps than ``keep`` so many are kept: the
    first and the last ones, those in which something changed or went wrong, and a sample; None keeps all.
    As a decorator (``@rg.debug()``) it records each call anew; the object then holds the last one.
    """

    def __init__(
        self, *, level: str = "full", check: bool = False, all_figures: bool = False, keep: int | None = KEPT
    ) -> None:
        self.level = level
        self.check = check
        self.all_figures = all_figures
        self.keep = keep
        self.recording = Recording()
        """Events and graphs of the block; complete when it has ended."""
        self._recorder: Recorder | None = None
        self._running: list[ExitStack] = []
        self._breakpoints: list[Breakpoint] = []

    def __enter__(self) -> debug:
        recorder = Recorder(
            level=self.level, explain=explain, check=self.check, all_figures=self.all_figures, keep=self.keep
        )
        with ExitStack() as stack:
            stack.enter_context(recorded(recorder, every_thread=False))
            self.recording, self._recorder = recorder.recording, recorder
            _latest[:] = [weakref.ref(self)]
            for one in self._breakpoints:
                stack.enter_context(armed(one))
            self._running.append(stack.pop_all())
        return self

    def number(self, tensor: Any) -> int | None:
        """Return the row of a living tensor in ``recording.tensors``, None if the block did not see it."""
        return None if self._recorder is None else self._recorder.number(tensor)

    def break_when(self, condition: str | Condition, action: str = "raise") -> Breakpoint:
        """Stop at the first node of a backward run at which a condition holds; before or inside the block.

        ``condition`` is ``"nonfinite"``, ``"zero"``, or a function of a ``Step`` (``op``, ``source``, ``incoming``,
        ``outgoing``) that returns something true.  ``action`` is ``"raise"`` (``BreakpointReached`` leaves
        ``backward()``), ``"pdb"`` (the debugger, in the line that called ``backward()``) or ``"report"`` (a line on
        stderr).  The object returned lists its ``stops``.  Raises ``UsageError`` for another condition or action.
        """
        made = Breakpoint(condition, action)
        self._breakpoints.append(made)
        if self._running:
            self._running[-1].enter_context(armed(made))
        return made

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.pop().__exit__(kind, error, trace)

    @property
    def graphs(self) -> list[GraphSnapshot]:
        """The graphs of all backward runs so far, in order."""
        return self.recording.snapshots

    @property
    def graph(self) -> GraphSnapshot:
        """The graph of the last backward run; raises ``NoGraphError`` if there was none."""
        if not self.recording.snapshots:
            raise NoGraphError(
                "No backward run was recorded.",
                "Call backward() inside the block, or use retrograd.inspect.walk(loss).",
            )
        return self.recording.snapshots[-1]

    @property
    def findings(self) -> list[Finding]:
        """What went wrong, causes first; level ``"full"`` finds most.  Worked out anew at each call."""
        return diagnose(self.recording)

    def text(self, **options: Any) -> str:
        """Return the last graph as a plain-text tree; options are those of ``RenderOptions``."""
        rendered = renderer_for("tree").render(self.recording, RenderOptions(**options))
        return rendered.decode() if isinstance(rendered, bytes) else rendered

    def print(self, **options: Any) -> None:
        """Print the last graph as a tree, in colour on a terminal; options are those of ``RenderOptions``."""
        print_tree(self.recording, with_findings(self.recording, RenderOptions(**options)))

    def save(self, path: str | os.PathLike[str], fmt: str | None = None, **options: Any) -> None:
        """Write the last graph (or ``step="all"``) to a file in the format of its suffix, or ``fmt``."""
        save(self.recording, os.fspath(path), fmt, RenderOptions(**options))

    def __repr__(self) -> str:
        return f"<retrograd.debug: {len(self.graphs)} backward graph{'' if len(self.graphs) == 1 else 's'}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the last graph in a notebook, with the findings on it."""
        return recording_bundle(self.recording, repr(self), diagnosed=True)
