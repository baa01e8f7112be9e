"""Results of a parameter that are kept and used as if they were it: ``Parameter(...).clone()``, ``* 0.1``."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ...base import Case
from ...facts.flow import Flow
from ...roles.trained import kept_results
from ...text.words import at
from ...thresholds import HABIT


def derived(flow: Flow) -> Iterator[Case]:
    """Yield a case for each parameter of which a result, made once and before the training, is used in its place."""
    begins = [run.begin for run in flow.runs]
    for result, (leaf, row) in kept_results(flow).items():
        stretches = {bisect_left(begins, use) for use in flow.used_in.get(result, ()) if use > row}
        if len(stretches - {len(begins)}) >= HABIT:
            yield _case(flow, leaf, row, result, len(stretches))


def _case(flow: Flow, leaf: int, row: int, result: int, passes: int) -> Case:
    """Return the case of one parameter."""
    event, name = flow.events[row], flow.name(result)
    return Case(
        kind="optimizer-mismatch",
        message=f"{name} is not a leaf: {event.op} computed it from a parameter{at(event.source)}, only once, and "
        f"{passes} passes use it. The gradient goes to the tensor before {event.op}, which no optimizer has, so {name} "
        "never changes.",
        remedy=f"make {name} itself the parameter: torch.nn.Parameter(...) around the finished value",
        source=event.source,
        op=event.op,
        subjects=frozenset([leaf, result]),
        evidence={"leaf": flow.name(leaf), "result": name},
    )
