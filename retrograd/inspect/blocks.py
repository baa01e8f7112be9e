"""``record`` and ``debug``: a block of a script whose backward passes are recorded, shown and saved."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ContextDecorator, ExitStack, contextmanager
from types import TracebackType
from typing import Any

from ..errors import NoGraphError
from .events import Recording
from .explain import explain
from .kept_steps import KEPT
from .output import drawn
from .recorder import Recorder, recorded
from .render import RenderOptions, renderer_for
from .snapshot import Graph
from .verbs import Verbs

_latest: list[weakref.ref[debug]] = []


def latest() -> debug | None:
    """Return the block that was entered last, while it is alive."""
    return _latest[0]() if _latest else None


class debug(ContextDecorator, Verbs):  # noqa: N801 - lower-case, as context managers of PyTorch are
    """Record every backward pass of the current thread, of both engines, inside a ``with`` block or function.

    ::

        with rg.debug() as trace:
            loss = model(x)
            loss.backward()
        trace.show()
        trace.save("step.svg")

    ``level`` says how much is recorded: ``"graph"``, ``"backward"`` (times and statistics of each node as well) or
    ``"full"`` (every call of forward, too), which explains most.  Blocks nest.  Exceptions go through, with a note
    that says what led to them where that is known, and what was recorded up to then is kept.  With ``check`` the
    custom Functions that ran are compared with finite differences when the block ends: they are called again.
    Smallest, largest and mean entry of gradients and their share of zeros are taken in the first runs and in some of
    the later ones, with ``all_figures`` in every one.  Of a program of more steps than ``keep`` so many are kept: the
    first and the last ones, those in which something changed or went wrong, and a sample; None keeps all.
    With ``every_thread`` what other threads do meanwhile is recorded, too.
    As a decorator (``@rg.debug()``) it records each call anew; the object then holds the last one.
    """

    def __init__(
        self,
        *,
        level: str = "full",
        check: bool = False,
        all_figures: bool = False,
        keep: int | None = KEPT,
        every_thread: bool = False,
    ) -> None:
        self.level = level
        self.check = check
        self.all_figures = all_figures
        self.keep = keep
        self.every_thread = every_thread
        self.recording = Recording()
        """Events and graphs of the block; complete when it has ended."""
        self._recorder: Recorder | None = None
        self._running: list[ExitStack] = []

    def __enter__(self) -> debug:
        recorder = Recorder(
            level=self.level, explain=explain, check=self.check, all_figures=self.all_figures, keep=self.keep
        )
        with ExitStack() as stack:
            stack.enter_context(recorded(recorder, every_thread=self.every_thread))
            self.recording, self._recorder = recorder.recording, recorder
            _latest[:] = [weakref.ref(self)]
            self._running.append(stack.pop_all())
        return self

    def number(self, tensor: Any) -> int | None:
        """Return the row of a living tensor in ``recording.tensors``, None if the block did not see it."""
        return None if self._recorder is None else self._recorder.number(tensor)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.pop().__exit__(kind, error, trace)

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of all backward runs so far, in order."""
        return self.recording.graphs

    @property
    def graph(self) -> Graph:
        """The graph of the last backward run; raises ``NoGraphError`` if there was none."""
        if not self.recording.graphs:
            raise NoGraphError(
                "No backward pass was recorded.",
                "Call backward() inside the block, or use retrograd.walk(loss).",
            )
        return self.recording.graphs[-1]

    def text(self, **options: Any) -> str:
        """Return the last graph as a plain-text tree; options are those of ``RenderOptions``."""
        rendered = renderer_for("tree").render(*drawn(self.recording, RenderOptions(**options), findings=False))
        return rendered.decode() if isinstance(rendered, bytes) else rendered

    def __repr__(self) -> str:
        return f"<retrograd.debug: {len(self.graphs)} backward graph{'' if len(self.graphs) == 1 else 's'}>"


@contextmanager
def record(**chosen: Any) -> Iterator[Recording]:
    """Record every backward pass inside a ``with`` block, and yield the ``Recording``: complete when the block ends.

    ``chosen`` are the arguments of ``debug``, with the same defaults: level ``"full"``, the current thread::

        with rg.record() as run:
            model(x).sum().backward()
        run.save("run.json")
    """
    with debug(**chosen) as block:
        yield block.recording
