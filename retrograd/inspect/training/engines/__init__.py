"""Readers of the statistics of a step, a file for each engine; a module that offers an ``ENGINE`` takes part."""

from __future__ import annotations

import functools
import resource
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple, Protocol

from ...histories.history import Array
from ...plugins import plugins_in

MEASURED = ("gradient", "weight", "update", "zeros", "nonfinite")
"""Statistics of each parameter: norms of its gradient, of itself after the step and of its update, and the shares of
gradient entries that are zero, and that are NaN or infinite."""


class GraphSize(NamedTuple):
    """How large the graph behind a loss is."""

    nodes: int
    held: int
    """Bytes that its nodes save for backward, each memory once, without that of its leaves."""


_PAGE = resource.getpagesize()
_PEAK = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit of ``ru_maxrss``."""
MOST_NODES = 100_000
"""Nodes of a graph visited at most."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A backward pass: from its roots, to inputs if they were named, else to all leaves."""

    roots: list[Any]
    inputs: list[Any]
    into_leaves: bool
    """Whether it accumulates into ``.grad``; otherwise it returns the gradients."""


def nodes_behind(begin: Iterable[Any]) -> Iterator[Any]:
    """Yield the nodes of a graph from some on, at most ``MOST_NODES``."""
    seen = {node for node in begin if node is not None}
    waiting = list(seen)
    while waiting:
        one = waiting.pop()
        yield one
        for following, _ in one.next_functions if len(seen) < MOST_NODES else ():
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)


def leaves_behind(begin: Iterable[Any]) -> list[Any]:
    """Return the leaves of a graph, in an order that is the same for equal graphs."""
    found = (getattr(node, "variable", None) for node in nodes_behind(begin))
    return [leaf for leaf in found if leaf is not None]


def graph_behind(
    node: Any, kept: Callable[[Any], Mapping[Hashable, int]], memory: Callable[[Any], Hashable]
) -> GraphSize:
    """Measure a graph from one node on.

    ``kept`` returns the memories that a node saves, with their bytes; ``memory`` that of a tensor.
    """
    count, held, leaves = 0, dict[Hashable, int](), set[Hashable]()
    for one in nodes_behind([node]):
        count += 1
        held.update(kept(one))
        leaf = getattr(one, "variable", None)
        if leaf is not None:
            leaves.add(memory(leaf))
    return GraphSize(count, sum(size for memory, size in held.items() if memory not in leaves))


class Hearing(Protocol):
    """Callbacks for the events of a training run."""

    def backward(self, of: Pass, frame: FrameType | None) -> None:
        """Called when a backward pass begins."""

    def backward_ended(self, of: Pass, results: Sequence[Any] | None, *, raised: bool) -> None:
        """Called when it is over, with the gradients of its inputs if it returns them."""

    def step_begins(self, optimizer: Any, *, closure: bool) -> None:
        """Called when an optimizer is about to step."""

    def step_ended(self, optimizer: Any) -> None:
        """Called when an optimizer has stepped."""

    def scheduled(self, scheduler: Any, optimizer: Any, frame: FrameType | None) -> None:
        """Called when a scheduler is made for the rates of an optimizer."""

    def clipped(self, norm: Any, bound: float) -> None:
        """Called when gradients with a norm, a tensor, were clipped to a bound."""

    def loss_scaled(self, scaled: Any, loss: Any) -> None:
        """Tell that a scaler has multiplied a loss, or several, by its scale."""

    def scaler_steps(self, scaler: Any) -> None:
        """Tell that a scaler lets an optimizer step, or leaves the step out if gradients overflowed."""

    def scaler_stepped(self, optimizer: Any) -> None:
        """Tell that it has done one or the other; None where it raised."""

    def scaled(self, scale: Any) -> None:
        """Called with the scale, a number or tensor, of the losses from now on."""


class StepReader(Protocol):
    """Reads the statistics of some parameters' steps, with a copy of them meanwhile."""

    def take(self, parameters: Sequence[Any]) -> None:
        """Read these parameters, which have taken the places of the ones before; none, until others are given."""

    def keep(self, places: Sequence[int]) -> None:
        """Keep what was read of the parameters at some places."""

    def before(self, gradients: Sequence[Any] | None) -> None:
        """Read statistics before the step; None for gradients that the step computes itself."""

    def settle(self) -> None:
        """Read what would need gradients later: they may be gone then."""

    def copies(self) -> list[Any]:
        """Return the values of the parameters before the step, as ``Engine.write`` takes them."""

    def after(self, others: Sequence[Any]) -> tuple[Array, list[float]]:
        """Return statistics ``[len(MEASURED), parameters]``, and the numbers in other tensors, by one read-back."""


class Engine(Protocol):
    """The interface of an engine."""

    name: str
    module: str
    """The module whose import makes the engine available."""

    def hear(self, hearing: Hearing) -> AbstractContextManager[None]:
        """Call ``hearing`` for each event until the block ends."""

    def reader(self, parameters: Sequence[Any]) -> StepReader:
        """Return a reader of the statistics of these parameters."""

    def is_tensor(self, value: object) -> bool:
        """Whether something is a tensor of this engine."""

    def held(self, root: Any) -> Any:
        """Return the value of a loss as a tensor without history, to be read later."""

    def number(self, value: Any) -> float:
        """Return the number in what ``held`` gave."""

    def copy(self, tensor: Any) -> Any:
        """Return a copy of a tensor, for ``write``."""

    def nonzero(self, tensor: Any) -> Array:
        """Return which entries of a tensor are not zero."""

    def write(self, tensor: Any, value: Any) -> None:
        """Write a value into a tensor of the program."""

    def own_work(self) -> AbstractContextManager[Any]:
        """Return the context manager in which our own code may use tensors."""

    def available(self) -> bool:
        """Whether the program has imported the engine."""

    def ready_again(self, scaler: Any) -> None:
        """Let a scaler take a step, that it has taken or left out, once more."""

    def why_not_repeated(self) -> str:
        """Return why a step cannot be run again in a child process, or nothing."""

    def random_states(self) -> Callable[[], None]:
        """Save the states of its generators; return a function that restores them."""

    def witness(self, node: Any) -> weakref.ref[Any]:
        """Return a reference to something, the same each time, that is there as long as a node."""

    def leaves(self, roots: Sequence[Any]) -> list[Any]:
        """Return the leaves behind tensors."""

    def graph_size(self, root: Any) -> GraphSize:
        """Measure the graph behind a tensor; nothing is unpacked."""

    def memory(self) -> float | None:
        """Return the bytes allocated on its devices, or None."""


@functools.cache
def engines() -> dict[str, Engine]:
    """Return name -> engine; none is loaded by that."""
    found: dict[str, Engine] = plugins_in(sys.modules[__name__], "ENGINE")
    return found


def memory_used(engine: Engine) -> float:
    """Return bytes that are allocated on devices, else those of the process."""
    found = engine.memory()
    if found is not None:
        return found
    try:
        with open("/proc/self/statm", "rb") as file:
            return float(int(file.read().split()[1]) * _PAGE)
    except (OSError, ValueError, IndexError):
        return float("nan")


def greatest_memory() -> float:
    """Return the most bytes that the process ever had."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK)
