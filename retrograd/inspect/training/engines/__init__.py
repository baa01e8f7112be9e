"""Readers of the statistics of a step, a file for each engine; a module that offers an ``ENGINE`` takes part."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
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


def graph_behind(
    node: Any, most: int, kept: Callable[[Any], Mapping[Hashable, int]], memory: Callable[[Any], Hashable]
) -> GraphSize:
    """Measure a graph from one node on, of at most ``most`` nodes.

    ``kept`` returns the memories that a node saves, with their bytes; ``memory`` that of a tensor.
    """
    seen = {node} if node is not None else set()
    waiting, held, leaves = list(seen), dict[Hashable, int](), set[Hashable]()
    while waiting:
        one = waiting.pop()
        held.update(kept(one))
        leaf = getattr(one, "variable", None)
        if leaf is not None:
            leaves.add(memory(leaf))
        for following, _ in one.next_functions if len(seen) < most else ():
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return GraphSize(len(seen), sum(size for memory, size in held.items() if memory not in leaves))


class Hearing(Protocol):
    """Callbacks for the events of a training run."""

    def backward(self, roots: Sequence[Any], frame: FrameType | None) -> None:
        """Called when a backward pass into leaves begins at these tensors."""

    def step_begins(self, optimizer: Any, *, closure: bool) -> None:
        """Called when an optimizer is about to step."""

    def step_ended(self, optimizer: Any) -> None:
        """Called when an optimizer has stepped."""

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
    """Reads the statistics of one optimizer's steps, with a copy of the parameters meanwhile."""

    def before(self, *, gradients: bool) -> None:
        """Read statistics before the step; without gradients if the step computes them itself."""

    def values(self) -> list[tuple[Any, Any]]:
        """Return each parameter with its value before the step, as ``Engine.write`` takes it."""

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

    def graph_size(self, root: Any, most: int) -> GraphSize:
        """Measure the graph behind a tensor, of at most ``most`` nodes; nothing is unpacked."""

    def memory(self) -> float | None:
        """Return the bytes allocated on its devices, or None."""


@functools.cache
def engines() -> dict[str, Engine]:
    """Return name -> engine; none is loaded by that."""
    found: dict[str, Engine] = plugins_in(sys.modules[__name__], "ENGINE")
    return found
