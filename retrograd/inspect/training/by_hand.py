"""``ByHand``: the steps of a program that updates its weights itself, found by what lies between backward passes.

A step is over when a backward pass begins and leaves that an earlier one reached have other values than that one left
in them, or when leaves that are made anew have taken their places, a step along the gradient away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..histories.history import Array
from ..references import Reference
from .engines import Engine, StepReader

HOW = (
    "No optimizer was seen, the program updates its weights itself: a step is over when a backward pass finds them "
    "changed since the pass before. Gradients are those that the pass leaves."
)
"""The sentence on how steps were found."""
_LOOKED = 64
"""Passes in which all leaves are looked for; after them in two of ``_RENEWED`` passes."""
_RENEWED = 20
_ALONG = 0.95
"""Least cosine between the step to a leaf's successor and the gradient, or the signs of the gradient: the first step
by any common rule is along one of these."""
_FEW = 4
"""Entries of which that must be so, lest it be chance."""


class ByHand:
    """Finds steps by passes of one kind, into ``.grad`` or by ``autograd.grad``, and reads their statistics.

    It stands for the optimizer that is not there, and is the reader of its steps. Between two passes it holds copies,
    and keeps none of the leaves alive.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.steps = 0
        """Steps found."""
        self.counts = True
        """Whether the current pass is one of those that the program is trained by."""
        self._passes = 0
        self._since, self._per_step = 0, 1
        """Passes since the last step, and those that it had."""
        self._finite = True
        """Whether the leaves were finite."""
        self._reader: StepReader | None = None
        """Holds copies of the leaves of the last pass, and the statistics of their gradients."""
        self._had: list[Reference] = []
        """These leaves; then those that the statistics of the step are about."""
        self._before = self._had
        """Those that the copies are of."""
        self._versions: list[int] = []
        self._copies: list[tuple[Any, Any]] = []
        """Values and gradients of the leaves, until a step was found."""
        self._remade: tuple[int, list[int]] | None = None
        """How many leaves a pass reaches, and which of them each step makes anew, if it does."""
        self._others: list[Reference] = []
        """Leaves that were reached and are not watched."""
        self._reading: Array = np.zeros((0, 0), np.float32)
        self._now: list[Any] = []
        """Leaves to be read when the current pass is over."""
        self._inputs: list[Any] = []

    # -- passes

    def begins(self, roots: Sequence[Any], inputs: Sequence[Any]) -> bool:
        """A pass begins, into the leaves behind roots, or into inputs: return whether a step is over."""
        self._passes += 1
        self._inputs, self.counts = list(inputs), True
        had = [one() for one in self._had]
        if self.steps and self._remade is None and all(one is None for one in had):
            self._forget()
        trained = [one for one in inputs if one.is_leaf and one.requires_grad]
        reached = trained if inputs or not self._looks() else self._engine.leaves(roots)
        if not self.steps:
            over = self._finds(had, reached)
        elif self._remade is not None:
            over = self._is_remade(reached, *self._remade)
        else:
            over = self._is_written(had, reached)
        self._since += 1
        if over:
            self._per_step, self._since, self.steps = self._since, 0, self.steps + 1
        return over

    def reaches(self, roots: Sequence[Any]) -> None:
        """A pass begins within the current one, as a checkpoint's does: it may reach leaves not watched yet."""
        if self.steps and self._remade is None and self._looks():
            with self._engine.own_work():
                self._add(self._engine.leaves(roots))

    def ended(self, results: Sequence[Any] | None) -> None:
        """The pass is over: copy the leaves, and read their gradients from the results, or from ``.grad``."""
        now, inputs = self._now, self._inputs
        self.failed()
        if not now:
            return
        given = None if results is None else {id(one): grad for one, grad in zip(inputs, results, strict=True)}
        grads = [one.grad if given is None else given.get(id(one)) for one in now]
        same = _all_are(self._before, now) or (self._remade is not None and len(now) == len(self._before))
        if self._reader is None or not same:
            self._reader = self._engine.reader(now)
        self._reader.take(now)
        self._reader.before(grads)
        self._reader.settle()
        self._reader.take(())
        self._had = self._before = [Reference(one) for one in now]
        self._versions = [_version(one) for one in now]
        copy = self._engine.copy
        pairs = zip(now, grads, strict=True)
        self._copies = [] if self.steps else [(copy(one), None if grad is None else copy(grad)) for one, grad in pairs]

    def closes(self) -> bool:
        """There will be no pass any more: return whether a step is over, as far as that can be seen without."""
        had = [one() for one in self._had]
        return bool(self.steps) and None not in had and self._remade is None and self._read(had, list(range(len(had))))

    def failed(self) -> None:
        """The pass is over, and has raised."""
        self._now, self._inputs = [], []

    # -- what a step is read by

    @property
    def parameters(self) -> list[Any]:
        """The leaves that the last step is about."""
        return [one for one in (held() for held in self._had) if one is not None]

    def after(self, others: Sequence[Any]) -> tuple[Array, list[float]]:
        """Return the statistics of the step that is over, and the numbers in other tensors."""
        return self._reading, [self._engine.number(one) for one in others]

    def values(self) -> list[tuple[Any, Any]]:
        """Return each leaf that is still there with its value before the step."""
        kept = [] if self._reader is None else self._reader.copies()
        return [(one(), value) for one, value in zip(self._before, kept, strict=True) if one() is not None]

    # -- whether a step is over

    def _looks(self) -> bool:
        """Whether leaves are looked for in the graph of this pass."""
        return self._remade is not None or self._passes <= _LOOKED or self._passes % _RENEWED < 2

    def _forget(self) -> None:
        """Look for steps as at first: all that was watched is gone."""
        self.steps, self._passes, self._reader = 0, 1, None
        self._had = self._before = self._others = []

    def _finds(self, had: list[Any], reached: list[Any]) -> bool:
        """Return whether the first step is over; until then every leaf may be a weight, or an input."""
        self._now = reached
        ids = {id(one) for one in reached}
        stayed = [place for place, one in enumerate(had) if one is not None and id(one) in ids]
        if any(self._is_changed(had[place], place) for place in stayed):
            self._now = [had[place] for place in stayed]
            return self._read(had, stayed)
        known = {id(one) for one in had}
        if len(had) != len(reached):
            return False
        made = [place for place, one in enumerate(reached) if id(one) not in known and place not in stayed]
        made = [place for place in made if self._is_along(reached[place], place)]
        if sum(self._copies[place][1].reshape(-1).shape[0] for place in made) < _FEW:
            return False
        self._remade = (len(reached), made)
        self._now = [reached[place] for place in made]
        return self._read(reached, made)

    def _is_changed(self, leaf: Any, place: int) -> bool:
        """Whether a leaf was written to since the last pass."""
        now, was = self._engine.copy(leaf), self._copies[place][0]
        return _version(leaf) != self._versions[place] or now.shape != was.shape or bool((now != was).any())

    def _is_along(self, leaf: Any, place: int) -> bool:
        """Whether a leaf lies about a step along the gradient from the one whose place it has."""
        (value, grad), new = self._copies[place], self._engine.copy(leaf)
        if grad is None or new.shape != value.shape:
            return False
        signs = grad if "complex" in str(grad.dtype) else 1.0 * (grad > 0) - 1.0 * (grad < 0)
        return max(_cosine(value - new, grad), _cosine(value - new, signs)) > _ALONG

    def _is_remade(self, reached: list[Any], count: int, places: list[int]) -> bool:
        """Return whether a step is over, where each makes leaves anew; a pass into others does not count."""
        now = [reached[place] for place in places] if len(reached) == count else []
        shapes = [] if self._reader is None else [one.shape for one in self._reader.copies()]
        self.counts = bool(now) and [tuple(one.shape) for one in now] == [tuple(one) for one in shapes]
        if not self.counts:
            return False
        self._now = now
        return not _all_are(self._had, now) and self._read(now, list(range(len(now))))

    def _is_written(self, had: list[Any], reached: list[Any]) -> bool:
        """Return whether a step is over, where each writes into the leaves."""
        ids = {id(one) for one in had}
        if self._inputs and not any(id(one) in ids for one in reached):
            self.counts = False
            return False
        stayed = [place for place, one in enumerate(had) if one is not None]
        over = self._read(had, stayed)
        self._now = [had[place] for place in stayed]
        self._add(reached)
        return over

    def _add(self, reached: list[Any]) -> None:
        """Watch leaves that are reached for the second time."""
        known = {id(one) for one in self._now}
        seen = {id(one) for one in (held() for held in self._others) if one is not None}
        new = [one for one in reached if id(one) not in known]
        self._now += [one for one in new if id(one) in seen]
        alive = [held for held in self._others if held() is not None]
        self._others = alive + [Reference(one) for one in new if id(one) not in seen]

    def _read(self, leaves: list[Any], places: list[int]) -> bool:
        """Read the statistics of some leaves since the last pass; return whether they were written to, or made."""
        assert self._reader is not None, "a pass was over"
        if len(places) < len(self._before):
            self._reader.keep(places)
        now, before = [leaves[place] for place in places], self._before
        self._reader.take(now)
        self._reading, _ = self._reader.after(())
        self._reader.take(())
        self._before = [before[place] for place in places]
        self._had = [Reference(one) for one in now]
        versions = self._versions = [self._versions[place] for place in places]
        finite, self._finite = self._finite, bool(np.isfinite(self._reading[1]).all())
        moved = bool((self._reading[2] > 0).any()) or (finite and not self._finite)
        if not moved and not self._finite:  # NaN is NaN, whatever was added to it
            moved = self._since >= self._per_step
        return moved or any(_version(one) != was for one, was in zip(now, versions, strict=True))


def _cosine(one: Any, other: Any) -> float:
    """Return the absolute cosine of the angle between two arrays, or tensors; 0 where one is 0."""
    lengths = float((abs(one) ** 2).sum()) * float((abs(other) ** 2).sum())
    return abs(float((one * other.conj()).sum().real)) / lengths**0.5 if lengths > 0 else 0.0


def _all_are(held: Sequence[Reference], leaves: Sequence[Any]) -> bool:
    """Whether leaves are the ones that are held."""
    return len(held) == len(leaves) and all(one() is other for one, other in zip(held, leaves, strict=True))


def _version(leaf: Any) -> int:
    """Return the number of writes to a leaf that PyTorch counts; ``.data`` is written to without them."""
    try:
        return int(leaf._version)
    except RuntimeError:  # made in inference mode: it has none
        return 0
