"""Learning rates by which steps go too far: the loss rises out of all bounds, or is not finite after one."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...base import Case
from ...facts.flow import Flow
from ...facts.runs import Run
from ...queries.overshoot import Overshoot, overshoots
from ...text.words import at, counted
from ...thresholds import GROWN
from .naming import line_of_rate, optimizer_name


def overshot(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that sets too large a rate."""
    return (_case(flow, run, found) for run, found in overshoots(flow))


def _case(flow: Flow, run: Run, found: Overshoot) -> Case:
    """Return the case of one loss."""
    leaf, call, root = flow.name(found.leaf), flow.events[found.call], flow.root_name(run)
    update = flow.events[found.row]
    what, rate, source, subjects = f"the update of {leaf}", "its rate", update.source, {found.leaf}
    if found.step is not None:
        optimizer = flow.ledger.optimizers[found.step.event.data.get("owner")]
        what = f"{optimizer_name(flow, optimizer)}.step()"
        rate = f"lr={found.step.setting(found.leaf, 'lr'):g}"
        source = line_of_rate(flow, optimizer, found.step, found.leaf)
        subjects = set(optimizer.leaves)
    first, last = found.losses[0], found.losses[-1]
    ends = f"from {first:.4g} to {last:.4g}" if math.isfinite(last) else f"from {first:.4g} until it is not finite"
    rises = "with it" if len(found.losses) == 2 else f"in each of {counted(len(found.losses) - 1, 'step')}"
    large = GROWN <= found.data < math.inf
    scale = f"scale the data, which reach up to {found.data:.4g}, to about 1, or choose " if large else ""
    return Case(
        kind="exploding",
        message=f"{what}{at(update.source)} goes too far by {rate}: what {call.op}{at(call.source)} makes with {leaf} "
        f"grows from {found.before:.3g} to {found.after:.3g}, and {root} rises {rises}, {ends}.",
        remedy=f"{scale}a smaller learning rate: one step must change a weight by no more than a small part of it",
        source=source,
        op=update.op,
        severity="error",
        subjects=frozenset(subjects),
        evidence={"leaf": leaf, "losses": list(found.losses)},
    )
