"""The ``Source`` of our engine; it does not import the engine, so a program on PyTorch runs without it."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from ...graphs.graph import Graph
from ..base import Gradient, Node, Ran, Sink
from ..importing import AfterImport

if TYPE_CHECKING:
    from .graphs import EngineGraphs
    from .objects.replay import EngineReplay

_ENGINE = "retrograd.engine"


def _graphs() -> EngineGraphs:
    """Return the code that works with the engine's graphs; called once the program has loaded the engine."""
    found: EngineGraphs = importlib.import_module(".graphs", __package__).GRAPHS
    return found


class EngineSource:
    """The source of our own graphs."""

    name = "retrograd"

    def owns(self, obj: object) -> bool:
        """Whether an object is a tensor, node or gradient edge of our engine."""
        return _ENGINE in sys.modules and _graphs().owns(obj)

    def edges(self, obj: Any) -> list[tuple[Node, int]]:
        """Return where backward from this object starts."""
        return _graphs().edges(obj)

    def snapshot(
        self,
        roots: list[Any],
        frame: FrameType | None,
        *,
        label: str = "walk",
        params: Mapping[str, Any] | None = None,
        find_names: bool = True,
    ) -> Graph:
        """Take a snapshot of the graph behind these objects."""
        return _graphs().snapshot(roots, frame, label=label, params=params, find_names=find_names)

    def log_hooks(
        self, roots: list[Any], frame: FrameType, log: Callable[[str], None], *, verbose: bool
    ) -> AbstractContextManager[None]:
        """Log each node behind these objects as it executes, until the block ends."""
        return _graphs().log_hooks(roots, frame, log, verbose=verbose)

    def watch(self, sink: Sink, *, every_thread: bool = True, level: str = "graph") -> AbstractContextManager[None]:
        """Send events to the sink, from the moment that the engine is loaded until the block ends."""
        thread = None if every_thread else threading.get_ident()
        return _once_loaded(lambda: _graphs().watch(sink, thread, level))

    def steps(self, look: Callable[[Ran], None]) -> AbstractContextManager[None]:
        """Call ``look`` for each node that runs on this thread."""
        return _once_loaded(lambda: _graphs().steps(look))

    def gradient(self, tensor: Any) -> Gradient:
        """Read a tensor's gradient."""
        return _graphs().gradient(tensor)

    def replay(self) -> EngineReplay:
        """Return what runs Functions again."""
        return _graphs().replay()


@contextmanager
def _once_loaded(enter: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Enter a context now if the engine is loaded, else when it is; leave it when the block ends."""
    with ExitStack() as entered:
        waiting = AfterImport(_ENGINE, lambda: entered.enter_context(enter()))
        if _ENGINE in sys.modules:
            entered.enter_context(enter())
        else:
            waiting.begin()
            entered.callback(waiting.end)
        yield


SOURCE = EngineSource()
