"""Conditions that mean a step went wrong: ``TRIGGERS`` maps their names to functions that judge a step.

A trigger gets the statistics of the step and of earlier ones, and returns a sentence if something is wrong. Each fires
once in a run, so that a bad run does not write a black box at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..diagnosis.text.words import listed
from .moments import WARM, Moment

_STAYS = 3
"""Steps for which a gradient must be large to count as exploding,"""
_FAR = 10
"""unless it is this many times the greatest of the last steps."""
KEPT = 500
"""Number of steps whose losses may all stay with their graphs before that is reported."""


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
    steady = _steady_growth(moment)
    if steady:
        return steady
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


def _steady_growth(moment: Moment) -> str | None:
    """Losses, gradients and updates grow on and on, which the median of the last steps does not show."""
    usual = moment.usual
    gradient, _, update = moment.totals
    going = [growth for growth in usual.growth if growth.goes_on(moment.loss, gradient, update)]
    if not going or moment.left_out:
        return None
    growth = going[0]
    pairs = zip(("the loss", "the gradients", "the updates"), growth.medians[0], growth.medians[-1], strict=True)
    times = listed(f"{name} {now / was:.3g} times" for name, was, now in pairs)
    sentence = f"the training diverges: for {growth.span:,} steps what follows grows steadily: {times}"
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
        return _dying(moment)
    place = int(np.argmax(fewer))
    now, before = moment.figures[3][place], usual.share[place]
    return f"{now:.0%} of the gradient of {moment.names[place]} is zero, usually {before:.0%}"


def _dying(moment: Moment) -> str | None:
    """Units die slowly: many entries of a weight have had no gradient in any of many steps, and had one before.

    Entries that are zero themselves were pruned; where only some samples give a gradient, none is without for long.
    """
    usual = moment.usual
    with np.errstate(invalid="ignore"):
        so = usual.share > usual.least_share + _DEAD
    usual.alive = {place: known for place, known in usual.alive.items() if so[place]}
    for place in np.flatnonzero(so)[:_MOST_DYING]:
        found = moment.entries(place)
        if found is None:
            continue
        there, weights = found
        steps, alive = usual.alive.get(place, (0, there))
        usual.alive[place] = (steps + 1, alive | there)
        if steps + 1 < _DYING:
            continue
        del usual.alive[place]
        dead = float((weights & ~alive & ~there).mean())
        if dead > usual.least_share[place] + _DEAD:
            before = f"{usual.least_share[place]:.0%} at least in the steps before"
            return f"{dead:.0%} of {moment.names[place]} got no gradient in {_DYING} steps, {before}: units have died"
    return None


_DEAD = 0.3
"""Share of a weight's entries that must have died slowly,"""
_DYING = 200
"""steps in which they get no gradient,"""
_MOST_DYING = 4
"""and weights in which that is looked for at a time."""
_MORE_ZEROS = 0.5
"""Share of a gradient's entries that become zero at once where units have died."""


def large_update(moment: Moment, ratio: float = 1.0) -> str | None:
    """A step changes the parameters by more than their greatest norm so far: some are meant to become zero."""
    usual = moment.usual
    _, total, moved = moment.totals
    largest, usual.largest = usual.largest, max(usual.largest, total)
    if usual.seen < WARM or not moved > ratio * largest:
        return None
    sentence = f"the step changes the parameters by {moved:.3g}, more than their greatest norm before, {largest:.3g}"
    return sentence + usual.growth_of_rate(moment)


def no_rate(moment: Moment, steps: int = 5) -> str | None:
    """The learning rate is zero for several steps, although it was not before, or some decay while others do not."""
    usual = moment.usual
    usual.had_rate |= moment.rate > 0
    usual.idle_rate = 0 if moment.rate > 0 else usual.idle_rate + 1
    set_by = f"; it is set by {moment.set_by}" if moment.set_by else ""
    if usual.had_rate and usual.idle_rate == steps:
        return f"the learning rate has been 0 for {steps} steps{set_by}"
    rates = usual.rates
    if not (rates.changes > _DECAYED).any():
        return None
    gone = (moment.rates < _NOTHING * rates.greatest) & (rates.changes > _DECAYED) & moment.trained
    others = moment.rates > _STILL * rates.greatest
    if not gone.any() or not others.any():
        return None
    place = int(np.argmax(gone))
    return (
        f"the learning rate of {moment.named(gone)} has decayed to {moment.rates[place]:.3g}, it was "
        f"{rates.greatest[place]:.3g}; that of {moment.named(others)} is still {moment.rates[others][0]:.3g}{set_by}"
    )


_NOTHING, _STILL = 1e-6, 1e-2
"""Share of its greatest value below which a learning rate trains nothing, and above which one still trains."""
_DECAYED = 20
"""Changes of a rate that decays; one that is set to zero at once is meant to."""


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
        kept = f"the graphs of the losses of the last {KEPT} steps are all kept, by {moment.kept}"
        return f"{kept}: keep values without history, loss.item() or loss.detach()"
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
