"""Selects the observers that a watcher needs, and registers and removes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ....engine import observe
from .backward.lines import LINES, Follower
from .backward.nodes import Nodes
from .backward.runs import Runs, TakeSnapshot
from .calls.call_describer import CallDescriber
from .calls.calls import Calls
from .calls.leaves import Leaves
from .calls.severing import Severing
from .calls.unheard_writes import UnheardWrites
from .calls.writes import Writes
from .objects.checkpoints import Checkpoints
from .objects.functions import Functions
from .objects.grad_modes import GradModes
from .objects.hooks import Hooks
from .objects.owners import Owners
from .objects.shared import SharedMemory
from .objects.training_calls import Clipping, TrainingCalls
from .objects.transforms import FunctionalCalls
from .watching import Observer, Watching


def observers_for(watching: Watching, take_snapshot: TakeSnapshot) -> list[Observer | Follower]:
    """The observers for a watcher's level, in the order in which they are notified."""
    runs = Runs(watching, take_snapshot)
    found: list[Observer | Follower] = [runs, Owners(watching, LINES), Severing(watching, LINES)]
    if watching.wants("full"):
        describer, shared = CallDescriber(watching), SharedMemory(watching)
        found += [TrainingCalls(watching), GradModes(watching, describer.switches), FunctionalCalls(watching)]
        runs.look = shared.look
        found += [Calls(watching, describer, shared), Writes(watching, describer, shared), Leaves(watching)]
        found.append(UnheardWrites(watching, describer, shared))
    if watching.wants("backward"):
        nodes = Nodes(watching)
        runs.prepare = nodes.prepare
        found += [Hooks(watching), Functions(watching), Checkpoints(watching), Clipping(watching), nodes]
    return found if watching.wants("full") else [*found, Follower()]


@contextmanager
def observing(observers: Sequence[Observer | Follower]) -> Iterator[None]:
    """Register these observers with the engine until the block ends."""
    for observer in observers:
        observe.add(observer)
    try:
        yield
    finally:
        for observer in reversed(observers):
            observe.remove(observer)
            observer.close()
