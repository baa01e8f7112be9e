"""Why copies of parameters part: what ranks did between two steps, held against what would have kept them alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ..snapshot import SourceLine
from .copies import Copies
from .parted_by_hand import by_hand, copied, losses_only, silent
from .parted_wrapped import hooks_lost, outside, past, thawed, unsynced
from .parting import Cause, Parting, kept_alike


def cause_of(parting: Parting) -> Cause | None:
    """Return why copies part, None where nothing shows that they were to stay alike."""
    found = (why(parting) for why in ((_written,) if parting.written else _BY_STEP))
    return next((cause for cause in found if cause is not None), None)


# -- written between two steps
def _written(parting: Parting) -> Cause | None:
    """Something wrote into a parameter on some ranks, or something else on each."""
    names = [name for name in parting.names if kept_alike(parting.told, name)]
    if not names:
        return None
    writes = [dict(_writes(one, window, one.numbers[names[0]])) for one, window in parting.windows(names[0])]
    for line, op in {line: op for one in writes for line, op in one.items()}.items():
        ranks = tuple(number for number, one in enumerate(writes) if line in one)
        if len(ranks) < len(writes):
            return parting.cause("written alone", line, names, detail=op, ranks=ranks)
    last = [list(one.items())[-1] for one in writes if one]
    if len(last) < len(writes):
        return None  # by a library, or by other processes
    return parting.cause("written unlike", last[0][0], names, detail=last[0][1])


def _writes(one: Copies, window: range, number: int) -> Iterator[tuple[SourceLine, str]]:
    """Yield the lines that write into a parameter, and by what."""
    begin = max(
        window.start, max((wrapper.row for wrapper in one.wrapped.values()), default=0) if not window.start else 0
    )
    for _, event in one.of_kind(range(begin, window.stop), "inplace", "leaf", "load", "collective"):
        data = event.data
        hit = {data.get("target"), data.get("tensor") if data.get("change") == "written" else None}
        if event.kind == "load" or (event.kind == "collective" and event.op in ("broadcast", "all_reduce")):
            hit.update(data.get("inputs", ()))
        if event.source is not None and number in hit:
            yield event.source, event.op if event.kind != "load" else "load_state_dict"


# -- made unlike by a step
def _settings(parting: Parting) -> Cause | None:
    """The optimizers of ranks have different settings."""
    steps = [one.events[one.held[parting.names[0]][parting.step].row] for one in parting.told]
    for of_ranks in zip(*(step.data.get("settings", ()) for step in steps), strict=False):
        for key in of_ranks[0]:
            values = [one.get(key) for one in of_ranks]
            if any(value != values[0] for value in values):
                lines = [step.data.get("set_at") for step in steps]
                source = next((SourceLine(*line) for line in reversed(lines) if line), steps[0].source)
                said = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values[:8])
                return parting.cause("settings", source, detail=f"{key} is {said}")
    return None


def _changed(parting: Parting) -> Cause | None:
    """Gradients were alike on all ranks, and were changed on each by another factor, or other numbers."""
    names = [name for name in parting.names if _equal_gradients(parting, name)]
    if not names:
        return None
    one, window = next(parting.windows(names[0]))
    arrived = max((row for row, _ in one.of_kind(window, "backward-end")), default=window.start)
    number = one.numbers[names[0]]
    for _, event in one.of_kind(range(arrived, window.stop), "clip"):
        if number in event.data.get("inputs", ()):
            return parting.cause("clipped", event.source, names, detail=event.op)
    for _, event in one.of_kind(range(arrived, window.stop), "inplace"):
        if event.data.get("gradient_of") == number:
            return parting.cause("changed", event.source, names, detail=event.op)
    return None


def _equal_gradients(parting: Parting, name: str) -> bool:
    """Whether the gradient of a parameter had one norm on all ranks when the last backward pass was over."""
    norms = []
    for one, window in parting.windows(name):
        ends = [event.data.get("kept_norms", {}) for _, event in one.of_kind(window, "backward-end")]
        norm = ends[-1].get(str(one.numbers[name])) if ends else None
        if not isinstance(norm, (int, float)) or not norm:
            return False
        norms.append(float(norm))
    return all(math.isclose(norm, norms[0], rel_tol=1e-6) for norm in norms)


def _remembered(parting: Parting) -> Cause | None:
    """Gradients and settings were the same, so what the optimizers remember is not."""
    names = [name for name in parting.names if kept_alike(parting.told, name) and _equal_gradients(parting, name)]
    if len(names) < len(parting.names):
        return None
    one = parting.told[0]
    return parting.cause("remembered", one.events[one.held[names[0]][parting.step].row].source, names)


_BY_STEP: tuple[Callable[[Parting], Cause | None], ...] = (
    *(_settings, _changed, thawed, hooks_lost, past, unsynced, outside),
    *(by_hand, copied, losses_only, silent, _remembered),
)
"""What may be the reason, the most certain first."""
