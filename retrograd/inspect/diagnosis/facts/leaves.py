"""``LeafTable``: what the program and its optimizers did to leaves and to their gradients."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import cached_property

from .calls import CallTable, held_by


class LeafTable(CallTable):
    """The events of leaves, by leaf."""

    @cached_property
    def leaf_events(self) -> dict[tuple[int, str], list[int]]:
        """(Leaf, change of it or action of an optimizer that holds it) -> the rows that tell of it.

        A gradient that the program made of the leaf's own one is ``"grad-changed"``, and ``"grad-set"`` any other.
        """
        found: dict[tuple[int, str], list[int]] = defaultdict(list)
        latest: dict[int, int] = {}
        for row, event in self.of_kind("leaf"):
            leaf, change = event.data.get("tensor", -1), event.data.get("change", "")
            if change == "grad-set" and "given" in event.data:
                given = event.data["given"]
                change = "grad-changed" if self._is_own_gradient(leaf, given, row, latest.get(leaf)) else change
                latest[leaf] = given
            found[leaf, change].append(row)
        for row, event in self.of_kind("optimizer"):
            for tensor in held_by(event):
                found[tensor, event.data.get("action", "")].append(row)
        return found

    @cached_property
    def reads_of(self) -> dict[int, list[int]]:
        """Tensor -> the rows at which the program looked at its ``.grad``."""
        found: dict[int, list[int]] = defaultdict(list)
        for row, event in self.of_kind("read"):
            if event.data.get("tensor") is not None:
                found[event.data["tensor"]].append(row)
        return found

    @cached_property
    def optimizer_steps(self) -> list[int]:
        """The rows at which an optimizer stepped."""
        return [row for row, _ in self.of_kind("optimizer", action="step")]

    def stepped_between(self, begin: int, end: int) -> bool:
        """Whether an optimizer stepped after one row and before another."""
        following = bisect_right(self.optimizer_steps, begin)
        return following < len(self.optimizer_steps) and self.optimizer_steps[following] < end

    @cached_property
    def optimized(self) -> dict[int, int]:
        """Tensor -> row at which the first optimizer that holds it was made."""
        found: dict[int, int] = {}
        for row, event in self.of_kind("optimizer"):
            for tensor in event.data.get("parameters", {}).values():
                found.setdefault(tensor, row)
        return found

    @cached_property
    def given_by_hand(self) -> set[int]:
        """Tensors whose ``.grad`` the program set itself, to other than what it computed from that."""
        return {leaf for leaf, change in self.leaf_events if change == "grad-set"}

    @cached_property
    def _given_gradients(self) -> set[int]:
        """Leaves that a gradient ever arrived at."""
        return {event.data.get("tensor", -1) for _, event in self.of_kind("accumulate")}

    def _is_own_gradient(self, leaf: int, given: int, row: int, latest: int | None) -> bool:
        """Whether what a leaf was given as its gradient was made, a few calls ago, of the one that it had.

        That one is the latest that it was given, or known by its shape, and by no recorded call having made it.
        """
        had = set() if latest is None else {latest}
        return leaf in self._given_gradients and self.made_of(
            [given], row, lambda one: one in had or (not self.made_in.get(one) and self._may_be_gradient(one, leaf))
        )

    def _may_be_gradient(self, tensor: int, leaf: int) -> bool:
        """Whether a tensor has the shape of a leaf and is none."""
        return not self.requires_grad(tensor) and self.tensors[tensor].shape == self.tensors[leaf].shape
