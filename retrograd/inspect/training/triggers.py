"""Conditions that mean a step went wrong: ``TRIGGERS`` maps their names to functions that judge a step.

A trigger gets the statistics of the step and of earlier ones, and returns a sentence if something is wrong. Each fires
once in a run, so that a bad run does not write a black box at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..diagnosis.text.words import listed
from ..histories.history import Array

WARM = 50
"""Steps before which nothing counts as unusual: losses and gradients are large at the beginning."""
_USUAL = 64
"""Number of steps in the median that counts as usual."""
KEPT = 500
"""Number of steps whose losses may all stay with their graphs before that is reported."""
_RENEWED = 16
"""Steps between two computations of that median."""


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
    scale: float
    seconds: float
    memory: float
    nodes: float
    """Nodes of the graph behind the loss, as counted last."""
    kept: str
    """Name of a loss of long ago, where those of all steps since are there with their graphs."""
    trained: Array
    """Whether each parameter requires a gradient."""
    left_out: bool
    """Whether a ``GradScaler`` left the step out, since gradients overflowed."""
    usual: Usual

    @property
    def gradient(self) -> Array:
        """Norms of the gradients; NaN where there is none."""
        return np.asarray(self.figures[0])

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
        self.loss = self.second = np.nan
        self.ever = np.zeros(parameters, np.float32)
        """Greatest finite norm that each gradient ever had,"""
        self.largest = 0.0
        """and that all parameters together had."""
        self.high = _Stretches(parameters)
        """Steps in which each gradient is many times its median."""
        self.idle = _Stretches(parameters)
        """Steps in which each gradient is zero or missing."""
        self.had = np.zeros(parameters, bool)
        """Whether each gradient was ever there and not zero."""
        self.zeros = _Stretches(parameters)
        """Steps in which each gradient is zero,"""
        self.sparse = _Stretches(parameters)
        """and those in which many more of its entries are zero than usual."""
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
        self.norm, self.share = (np.append(one, blank[0]) for one in (self.norm, self.share))
        self.had, self.ever = (np.append(one, np.zeros(more, one.dtype)) for one in (self.had, self.ever))
        for one in (self.high, self.idle, self.zeros, self.sparse):
            one.widen(more)

    def greatest(self) -> Array:
        """Return the greatest norm that each gradient had lately, of those that are finite."""
        return np.asarray(np.where(np.isfinite(self._norms), self._norms, 0).max(0))

    def growth_of_rate(self, moment: Moment) -> str:
        """Return by how much the learning rate has grown, if that may be why a step is too large."""
        if not moment.rate > _GROWN * self.first_rate > 0:
            return ""
        return f"; the learning rate is {moment.rate:.3g}, it was {self.first_rate:.3g} at step {WARM}"

    def add(self, moment: Moment) -> None:
        """Add a step that was judged."""
        place = self.seen % _USUAL
        self._norms[place], self._losses[place], self._seconds[place] = moment.gradient, moment.loss, moment.seconds
        self._shares[place] = moment.figures[3]
        self.ever = np.fmax(self.ever, np.where(np.isfinite(moment.gradient), moment.gradient, 0))
        self.seen += 1
        if self.seen == WARM:
            self.first_rate = moment.rate
        if self.seen % _RENEWED == 0 or self.seen == WARM:
            known = min(self.seen, _USUAL)
            with np.errstate(all="ignore"):
                self.norm, self.share = _median(self._norms[:known]), _median(self._shares[:known])
                self.loss, self.second = (float(_median(one[:known, None])[0]) for one in (self._losses, self._seconds))


class _Stretches:
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
        return np.asarray(self.now_with(so) == np.maximum(steps, _LONGER * self._longest))


_STAYS = 3
"""Steps for which a gradient must be large to count as exploding,"""
_FAR = 10
"""unless it is this many times the greatest of the last steps."""
_GROWN = 5
"""Times that the learning rate must have grown to be named."""
_LONGER = 10
"""Times that a stretch is longer than any before where it is unusual."""


def _median(rows: Array) -> Array:
    """Return medians along the first dimension, of what is finite."""
    finite = np.where(np.isfinite(rows), rows, np.nan)
    empty = np.isnan(finite).all(0)
    found = np.full(rows.shape[1], np.nan, np.float32)
    if not empty.all():
        found[~empty] = np.nanmedian(finite[:, ~empty], axis=0)
    return found


Judge = Callable[[Moment], "str | None"]
"""Returns what is wrong with a step."""


def not_finite(moment: Moment) -> str | None:
    """A loss, gradient or weight is NaN or infinite."""
    for loss in moment.losses:
        if not np.isfinite(loss):
            return f"the loss is {loss:g}"
    bad = moment.figures[4] > 0
    bad &= not moment.left_out
    if bad.any():
        return f"the gradient of {moment.named(bad)} is not finite"
    weights = ~np.isfinite(moment.figures[1])
    if not weights.any():
        return None
    return f"{moment.named(weights)} {'is' if weights.sum() == 1 else 'are'} not finite"


def exploding(moment: Moment, times: float = 100.0) -> str | None:
    """The norm of a gradient is many times its usual value, and the loss has changed as well.

    It must be the greatest so far, since a gradient that has become tiny may grow again. Rare batches, such as those
    with a reward, may have large gradients as well: so it must stay large, or be far above the last ones.
    """
    usual = moment.usual
    with np.errstate(all="ignore"):
        high = (moment.gradient > np.maximum(times * usual.norm, usual.ever)) & (usual.norm > 0)
        high &= np.isfinite(moment.gradient)
        stays = usual.high.now_with(high) >= _STAYS
    if usual.seen < WARM or moment.left_out or not high.any() or not abs(moment.loss) > 2 * abs(usual.loss):
        return None
    high &= stays | (moment.gradient > _FAR * usual.greatest())
    if not high.any():
        return None
    place = int(np.nanargmax(np.where(high, moment.gradient / moment.usual.norm, -np.inf)))
    now, before = moment.gradient[place], moment.usual.norm[place]
    sentence = (
        f"the gradient of {moment.names[place]} has norm {now:.3g}, {now / before:.0f} times its median {before:.3g}"
    )
    return sentence + usual.growth_of_rate(moment)


def stopped(moment: Moment, steps: int = 300) -> str | None:
    """A parameter that was trained gets no gradient, or one of zero, for many steps in a row."""
    usual = moment.usual
    with np.errstate(invalid="ignore"):
        there = (moment.gradient > 0) | (moment.figures[4] > 0)
    nothing_to_learn = ~moment.trained | (moment.loss == 0)
    usual.had |= there
    gone = usual.had & (usual.idle.now_with(~there & ~nothing_to_learn) == steps)
    return f"{moment.named(gone)} got no gradient in {steps} steps" if gone.any() else None


def zeros(moment: Moment, steps: int = 5) -> str | None:
    """A parameter that was trained gets gradients of zero, or many more zeros than usual, for some steps in a row."""
    usual = moment.usual
    with np.errstate(invalid="ignore"):
        gone = usual.zeros.unusual(moment.gradient == 0, steps)
        fewer = usual.sparse.unusual(moment.figures[3] > usual.share + _MORE_ZEROS, steps)
    if usual.seen < WARM or moment.loss == 0:  # where the loss is zero, so are gradients
        return None
    if (gone & (usual.norm > 0)).any():
        return f"the gradient of {moment.named(gone & (usual.norm > 0))} is zero"
    if not fewer.any():
        return None
    place = int(np.argmax(fewer))
    now, before = moment.figures[3][place], usual.share[place]
    return f"{now:.0%} of the gradient of {moment.names[place]} is zero, usually {before:.0%}"


_MORE_ZEROS = 0.5
"""Share of a gradient's entries that become zero at once where units have died."""


def large_update(moment: Moment, ratio: float = 1.0) -> str | None:
    """A step changes the parameters by more than their greatest norm so far: some are meant to become zero."""
    usual = moment.usual
    total, moved = (float(np.sqrt(np.nansum(one**2))) for one in moment.figures[1:3].astype(np.float64))
    usual.largest = max(usual.largest, total)
    if usual.seen < WARM or not moved > ratio * usual.largest:
        return None
    sentence = f"the step changes the parameters by {moved:.3g}, more than their own norm {total:.3g}"
    return sentence + usual.growth_of_rate(moment)


def no_rate(moment: Moment, steps: int = 5) -> str | None:
    """The learning rate is zero for several steps, although it was not before."""
    usual = moment.usual
    usual.had_rate |= moment.rate > 0
    usual.idle_rate = 0 if moment.rate > 0 else usual.idle_rate + 1
    if not usual.had_rate or usual.idle_rate != steps:
        return None
    return f"the learning rate has been 0 for {steps} steps"


def small_scale(moment: Moment, least: float = 1.0, steps: int = 5) -> str | None:
    """The loss scale falls below 1: gradients overflow again and again."""
    usual = moment.usual
    if not np.isfinite(moment.scale):
        return None
    fell = usual.had_scale and moment.scale < least
    usual.had_scale |= moment.scale >= least
    usual.left_out = usual.left_out + 1 if moment.left_out else 0
    if not moment.left_out:
        usual.taken_scale = moment.scale
    if usual.left_out == steps and moment.scale < usual.taken_scale / 2 < np.inf:
        return f"{steps} steps in a row were left out, since gradients overflow even with the scale {moment.scale:g}"
    return f"the scale of the losses has fallen to {moment.scale:g}" if fell else None


def growing(moment: Moment, size: float = 1e9, steps: int = 1000) -> str | None:
    """Memory keeps growing, by a gigabyte since the first steps."""
    usual = moment.usual
    if usual.seen == WARM or not usual.smallest_memory:
        usual.smallest_memory = moment.memory
    grown = moment.memory - usual.smallest_memory
    if usual.seen < steps or grown < size:
        return None
    return f"memory has grown by {grown / 1e6:,.0f} MB since step {moment.step - usual.seen + WARM}"


def growing_graph(moment: Moment, times: int = 5) -> str | None:
    """The graph behind the loss had more nodes each time that it was counted, or the graphs of all losses are kept."""
    if moment.kept:
        return f"the losses of the last {KEPT} steps are all kept with their graphs, as {moment.kept}: keep loss.item()"
    counts = moment.usual.counts
    if not np.isfinite(moment.nodes) or (counts and moment.nodes == counts[-1]):
        return None
    if counts and moment.nodes < counts[-1]:
        counts.clear()
    counts.append(moment.nodes)
    if len(counts) < times or counts[-1] < 1.5 * counts[0]:
        return None
    return f"the graph behind the loss grows from step to step: {counts[0]:,.0f} nodes, now {counts[-1]:,.0f}"


def high_loss(moment: Moment, above: float = np.inf) -> str | None:
    """The loss is above a number."""
    return f"the loss is {moment.loss:g}" if moment.loss > above else None


def same_loss(moment: Moment, steps: int = 1000) -> str | None:
    """The loss is the same, digit by digit, for many steps."""
    usual = moment.usual
    usual.same_loss = usual.same_loss + 1 if moment.loss == usual.last_loss else 0
    usual.last_loss = moment.loss
    return f"the loss has been {moment.loss:g} for {steps} steps" if usual.same_loss == steps else None


def slow(moment: Moment, times: float = 20.0) -> str | None:
    """A step takes many times as long as usual."""
    if moment.usual.seen < WARM or not moment.seconds > max(times * moment.usual.second, 1.0):
        return None
    return f"the step took {moment.seconds:.1f} s, {moment.seconds / moment.usual.second:.0f} times its median"


TRIGGERS: dict[str, Callable[..., str | None]] = {
    "nonfinite": not_finite,
    "exploding": exploding,
    "stopped": stopped,
    "zeros": zeros,
    "update": large_update,
    "rate": no_rate,
    "scale": small_scale,
    "memory": growing,
    "graph": growing_graph,
    "loss": high_loss,
    "stalled": same_loss,
    "slow": slow,
}
"""Name -> what judges a step; keywords are its limits."""
_FOLLOWING = ("exploding", "stopped", "zeros", "update", "scale")
"""Those that look at what follows anyway from weights that are not finite."""
DEFAULT = ("nonfinite", "exploding", "stopped", "zeros", "update", "rate", "scale", "memory", "graph")


@dataclass
class Triggers:
    """The active triggers; each fires once in a run."""

    judges: dict[str, Judge]
    fired: set[str] = field(default_factory=set)

    def of(self, moment: Moment) -> list[tuple[str, str]]:
        """Return names and sentences of those that fire."""
        found = []
        over = "nonfinite" in self.fired and not np.isfinite(moment.figures[1]).all()
        for name, judge in self.judges.items():
            sentence = "" if over and name in _FOLLOWING else judge(moment)
            if sentence and name not in self.fired:
                self.fired.add(name)
                found.append((name, sentence))
        moment.usual.add(moment)
        return found


def armed(wanted: Iterable[str] | Mapping[str, object] | None) -> Triggers:
    """Return the requested triggers: names, names with limits, or functions of a ``Moment``.

    ``None`` means the default ones.  Raises ``ValueError`` for an unknown name.
    """
    chosen = dict.fromkeys(DEFAULT, True) if wanted is None else wanted
    items = chosen.items() if isinstance(chosen, Mapping) else ((one, True) for one in chosen)
    judges: dict[str, Judge] = {}
    for one, limit in items:
        if callable(one):
            judges[getattr(one, "__name__", "function")] = one
        elif one not in TRIGGERS:
            raise ValueError(f"there is no trigger {one!r}; there are {', '.join(TRIGGERS)}")
        elif limit is not False:
            judges[one] = _limited(TRIGGERS[one], limit)
    return Triggers(judges)


def _limited(judge: Callable[..., str | None], limit: object) -> Judge:
    """Return a trigger with the limit that was given in place of its own."""
    return judge if limit is True else lambda moment: judge(moment, limit)
