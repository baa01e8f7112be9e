"""``record`` and ``debug``: blocks of a script whose backward passes are recorded."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import ContextDecorator, ExitStack, contextmanager
from types import TracebackType
from typing import Any

from ..errors import NoGraphError
from .explain import explain
from .graphs.graph import Graph
from .output import drawn
from .process.recorder import Recorder, recorded
from .recording.events import Recording
from .recording.kept_steps import KEPT
from .render import RenderOptions, renderer_for
from .verbs import Verbs

_latest: list[weakref.ref[debug]] = []


def latest() -> debug | None:
    """Return the most recently entered block, or None if it no longer exists."""
    return _latest[0]() if _latest else None


class debug(ContextDecorator, Verbs):  # noqa: N801 - lower-case, as context managers of PyTorch are
    """Record every backward pass of the current thread, on either engine, inside a ``with`` block or function.

    ::

        with rg.debug() as trace:
            loss = model(x)
            loss.backward()
        trace.show()
        trace.save("step.svg")

    ``level`` is how much is recorded: ``"graph"`` (the graphs), ``"backward"`` (also the time and the gradient
    statistics of each node) or ``"full"`` (also every call of the forward pass), which lets a diagnosis explain most.
    ``every_thread`` records what other threads do, too.

    ``keep`` is the number of optimizer steps kept in detail: the first, the last, those in which something changed or
    went wrong, and a sample of the rest; None keeps all. Norms and counts of NaN and infinity are taken of every
    gradient in every pass; minimum, maximum, mean and share of zeros in the first passes and some later ones, or in
    every pass with ``all_figures``. ``check`` calls the custom Functions that ran once more when the block ends, and
    compares them with finite differences.

    The block yields itself: ``graph`` is the graph of the last backward pass, ``graphs`` are those of all,
    ``recording`` is the ``Recording``; ``findings``, ``stats``, ``save`` and ``show`` work on it. Blocks nest. An
    exception passes through unchanged, with a note of its cause where that is known, and what was recorded until then
    is kept. As a decorator (``@rg.debug()``) it records each call anew and holds the last one.
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
        """Return the index of a living tensor in ``recording.tensors``, or None if the block did not see it."""
        return None if self._recorder is None else self._recorder.number(tensor)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.pop().__exit__(kind, error, trace)

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of all backward passes so far, oldest first."""
        return self.recording.graphs

    @property
    def graph(self) -> Graph:
        """The graph of the last backward pass; raises ``NoGraphError`` if there was none."""
        if not self.recording.graphs:
            raise NoGraphError(
                "No backward pass was recorded.",
                "Call backward() inside the block, or use retrograd.walk(loss).",
            )
        return self.recording.graphs[-1]

    def text(self, **options: Any) -> str:
        """Return the last graph as a plain-text tree; ``options`` are those of ``RenderOptions``."""
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
