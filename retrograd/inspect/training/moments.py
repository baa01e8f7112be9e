"""What a step is judged by: its statistics, ``Moment``, and those of the steps before, ``Usual``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..diagnosis.text.words import listed
from ..histories.history import Array

WARM = 50
"""Steps before which nothing counts as unusual: losses and gradients are large at the beginning."""
_USUAL = 64
"""Number of steps in the median that counts as usual."""
_RENEWED = 16
"""Steps between two computations of that median."""
_SCALES = (16, 64, 256)
"""Steps of the stretches in which losses, gradients and updates may grow and grow,"""
_IN_A_ROW = 4
"""stretches in which they must do so,"""
_TOGETHER = 10.0
"""and times that they must have grown in these."""
_MOST_TURNS = 5
"""Times that it is noted that parameters are frozen or thawed: some programs do so in every step."""
GROWN = 5
"""Times that the learning rate must have grown to be named."""
LONGER = 10
"""Times that a stretch is longer than any before where it is unusual."""


@dataclass
class Moment:
    """One step of one optimizer, as triggers see it."""

    step: int
    loss: float
    losses: list[float]
    """The values that ``backward()`` was called on in this step."""
    names: list[str]
    figures: Array
    """``[len(MEASURED), parameters]``."""
    rate: float
    rates: Array
    """The learning rate of each parameter; NaN where it is not known."""
    set_by: str
    """What sets the rates: a scheduler, with the line that makes it, if there is one."""
    scale: float
    seconds: float
    memory: float
    nodes: float
    """Nodes of the graph behind the loss, as counted last."""
    kept: str
    """Name of what keeps the graphs of the losses of all steps since long ago, if they are kept."""
    entries: Callable[[int], tuple[Array, Array] | None]
    """Returns, for the place of a parameter, which entries of its gradient and of itself are not zero, if known."""
    trained: Array
    """Whether each parameter requires a gradient."""
    left_out: bool
    """Whether a ``GradScaler`` left the step out, since gradients overflowed."""
    usual: Usual

    @property
    def gradient(self) -> Array:
        """Norms of the gradients; NaN where there is none."""
        return np.asarray(self.figures[0])

    @functools.cached_property
    def totals(self) -> list[float]:
        """Norms of all gradients, weights and updates together."""
        with np.errstate(all="ignore"):
            found: list[float] = np.sqrt(np.nansum(self.figures[:3].astype(np.float64) ** 2, axis=1)).tolist()
        return found

    def named(self, wrong: Array) -> str:
        """Name the parameters for which something is true."""
        return listed((self.names[place] for place in np.flatnonzero(wrong)), most=3)


class Usual:
    """Statistics of one optimizer's earlier steps."""

    def __init__(self, parameters: int) -> None:
        self.seen = 0
        """Steps so far, without the current one."""
        self._norms = np.full((_USUAL, parameters), np.nan, np.float32)
        self._shares = np.full((_USUAL, parameters), np.nan, np.float32)
        self._losses = np.full(_USUAL, np.nan)
        self._seconds = np.full(_USUAL, np.nan)
        self.norm = np.full(parameters, np.nan, np.float32)
        """Median norm of each gradient."""
        self.share = np.full(parameters, np.nan, np.float32)
        """Median share of its entries that are zero."""
        self.least_share = self.share
        """Least such median so far."""
        self.alive: dict[int, tuple[int, Array]] = {}
        """Place of a parameter -> for how many steps, and which of its entries had a gradient in any of these."""
        self.loss = self.second = np.nan
        self.ever = np.zeros(parameters, np.float32)
        """Greatest finite norm that each gradient ever had,"""
        self.largest = 0.0
        """and that all parameters together had."""
        self.growth = [Growth(steps) for steps in _SCALES]
        """Whether losses, gradients and updates grow and grow, in stretches of different lengths."""
        self.high = Stretches(parameters)
        """Steps in which each gradient is many times its median."""
        self.idle = Stretches(parameters)
        """Steps in which each gradient is zero or missing."""
        self.had = np.zeros(parameters, bool)
        """Whether each gradient was ever there and not zero."""
        self.zeros = Stretches(parameters)
        """Steps in which each gradient is zero,"""
        self.sparse = Stretches(parameters)
        """and those in which many more of its entries are zero than usual."""
        self._trained: Array | None = None
        self._turns = 0
        self.rates = Rates(parameters)
        self.idle_rate = self.smallest_memory = 0.0
        self.had_rate = self.had_scale = False
        self.first_rate = np.nan
        """Learning rate once the first steps were over."""
        self.left_out, self.taken_scale = 0, np.inf
        """Steps left out in a row, and the scale of the last one that was taken."""
        self.counts: list[float] = []
        """Nodes of the graph, each time that they were counted and had changed."""
        self.same_loss = 0
        self.last_loss = np.nan

    def widen(self, more: int) -> None:
        """Make room for parameters that an optimizer was given in the middle of the training."""
        blank = np.full((_USUAL, more), np.nan, np.float32)
        self._norms, self._shares = (np.hstack([one, blank]) for one in (self._norms, self._shares))
        found = (np.append(one, blank[0]) for one in (self.norm, self.share, self.least_share))
        self.norm, self.share, self.least_share = found
        self.had, self.ever = (np.append(one, np.zeros(more, one.dtype)) for one in (self.had, self.ever))
        for one in (self.high, self.idle, self.zeros, self.sparse, self.rates):
            one.widen(more)

    def turned(self, moment: Moment) -> str:
        """Return which parameters are frozen or thawed from this step on; nothing where that changes often."""
        had, self._trained = self._trained, moment.trained
        if had is None or len(had) != len(moment.trained) or np.array_equal(had, moment.trained):
            return ""
        self._turns += 1
        frozen, thawed = had & ~moment.trained, ~had & moment.trained
        share = "({} of {} parameters)"
        said = [
            words.format(moment.named(those), share.format(int(those.sum()), len(had)))
            for those, words in (
                (frozen, "no gradient is required of {} any more {}"),
                (thawed, "a gradient is required of {} now {}"),
            )
            if those.any()
        ]
        return "; ".join(said) if self._turns <= _MOST_TURNS else ""

    def greatest(self) -> Array:
        """Return the greatest norm that each gradient had lately, of those that are finite."""
        return np.asarray(np.where(np.isfinite(self._norms), self._norms, 0).max(0))

    def growth_of_rate(self, moment: Moment) -> str:
        """Return by how much the learning rate has grown, if that may be why a step is too large."""
        if not moment.rate > GROWN * self.first_rate > 0:
            return ""
        set_by = f", set by {moment.set_by}" if moment.set_by else ""
        return f"; the learning rate is {moment.rate:.3g}{set_by}, it was {self.first_rate:.3g} at step {WARM}"

    def add(self, moment: Moment) -> None:
        """Add a step that was judged."""
        place = self.seen % _USUAL
        self._norms[place], self._losses[place], self._seconds[place] = moment.gradient, moment.loss, moment.seconds
        self._shares[place] = moment.figures[3]
        self.rates.add(moment.rates)
        self.ever = np.fmax(self.ever, np.where(np.isfinite(moment.gradient), moment.gradient, 0))
        self.seen += 1
        if self.seen == WARM:
            self.first_rate = moment.rate
        if self.seen % _RENEWED == 0 or self.seen == WARM:
            known = min(self.seen, _USUAL)
            with np.errstate(all="ignore"):
                self.norm, self.share = _median(self._norms[:known]), _median(self._shares[:known])
                self.least_share = np.fmin(self.least_share, self.share)
                self.loss, self.second = (float(_median(one[:known, None])[0]) for one in (self._losses, self._seconds))


class Stretches:
    """For each parameter, how many steps in a row a condition has held, and the longest such stretch before."""

    def __init__(self, parameters: int) -> None:
        self._now = np.zeros(parameters, np.int64)
        self._longest = np.zeros(parameters, np.int64)

    def widen(self, more: int) -> None:
        """Make room for more parameters."""
        self._now, self._longest = (np.append(one, np.zeros(more, np.int64)) for one in (self._now, self._longest))

    def now_with(self, so: Array) -> Array:
        """Take in a step; return for how many steps it has been so."""
        self._longest = np.where(so, self._longest, np.maximum(self._longest, self._now))
        self._now = np.where(so, self._now + 1, 0)
        return self._now

    def unusual(self, so: Array, steps: int) -> Array:
        """Take in a step; return where a stretch has just become that long, and much longer than any before."""
        return np.asarray(self.now_with(so) == np.maximum(steps, LONGER * self._longest))


class Rates:
    """For each parameter, the greatest learning rate that it had, and how often that changed."""

    def __init__(self, parameters: int) -> None:
        self.greatest = np.zeros(parameters)
        self.changes = np.zeros(parameters, np.int64)
        self._last = np.full(parameters, np.nan)

    def widen(self, more: int) -> None:
        """Make room for more parameters."""
        self.greatest, self._last = (
            np.append(self.greatest, np.zeros(more)),
            np.append(self._last, np.full(more, np.nan)),
        )
        self.changes = np.append(self.changes, np.zeros(more, np.int64))

    def add(self, rates: Array) -> None:
        """Take in a step."""
        if rates is self._last:
            return
        self.greatest = np.fmax(self.greatest, rates)
        self.changes += rates != self._last
        self._last = rates


class Growth:
    """Whether the loss, the gradients and the updates are larger in each of some stretches than in the one before."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._now: list[tuple[float, float, float]] = []
        self.medians: list[Array] = []
        """Of the last stretches: those of the absolute loss, and of the norms of gradients and updates."""

    @property
    def span(self) -> int:
        """Steps in which it grew."""
        return self._steps * _IN_A_ROW

    def goes_on(self, loss: float, gradient: float, update: float) -> bool:
        """Take in a step; return whether a stretch is over, and all have grown in the last ones, many times."""
        self._now.append((abs(loss), gradient, update))
        if len(self._now) < self._steps:
            return False
        self.medians = [*self.medians[-_IN_A_ROW:], np.median(self._now, axis=0)]
        self._now = []
        if len(self.medians) <= _IN_A_ROW or not np.isfinite(self.medians).all():
            return False
        grew = np.diff(self.medians, axis=0) > 0
        return bool(grew.all() and (self.medians[-1] > _TOGETHER * self.medians[0]).all())


def _median(rows: Array) -> Array:
    """Return medians along the first dimension, of what is finite."""
    finite = np.where(np.isfinite(rows), rows, np.nan)
    empty = np.isnan(finite).all(0)
    found = np.full(rows.shape[1], np.nan, np.float32)
    if not empty.all():
        found[~empty] = np.nanmedian(finite[:, ~empty], axis=0)
    return found
