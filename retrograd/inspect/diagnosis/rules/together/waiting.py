"""Ranks that wait for each other forever: which one does not arrive, where it is, and what the others wait in."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ....lineup.collective_order import UnmatchedCollective, sizes_text
from ....lineup.endings import is_lost
from ....lineup.lineup import Lineup, ranges
from ....lineup.run import Run
from ....program.places import SourceLine
from ....program.syntax import parsed
from ....program.texts import plain_lines
from ....recording.events import Event
from ...base import Case
from ...text.words import at, counted, listed, place

_NOT_ALIKE = {
    "operation": "is not the same operation on all ranks",
    "tensors": "gets tensors of different sizes",
    "root": "names different ranks as the one that sends or gets",
}
_STOPPED = re.compile(r"(?:SIG[A-Z]+|Unfinished)$")
"""Matches the type of an exception event for a process that was stopped, or saved while it waited."""


def waiting(found: Lineup) -> Iterator[Case]:
    """Yield the case of the rank that the others wait for, or of a collective to which ranks bring other things."""
    unmet = found.unmatched
    if unmet is not None and unmet.what != "missing":
        yield _mismatched(found, unmet)
        return
    if found.ended_well:
        return
    if found.missing:
        yield from _without_recording(found)
        return
    failed = [number for number, run in enumerate(found.runs) if _own_error(run)]
    if failed:
        if len(failed) < len(found.runs) and not found.partial:
            yield _failed(found, failed)
        return
    parted = found.divergence
    steps = parted is not None and any(one.what == "steps" for one in parted.differences)
    if unmet is not None and not (steps and _left_loop(found, unmet)):
        yield _missing(found, unmet)
    elif steps and parted is not None:
        yield _fewer_steps(found, parted.step)
    else:
        yield from _alone_there(found)


def _without_recording(found: Lineup) -> Iterator[Case]:
    """Yield the case of ranks that failed in a collective with others that left no recording."""
    calls = [(number, pending(run) or _lost(run)) for number, run in enumerate(found.runs)]
    call = next((call for _, call in calls if call is not None), None)
    if call is not None:
        gone = listed(ranges(found.missing))
        having = listed(found.words(one for one, other in calls if other is not None and other.source == call.source))
        error = str(call.data.get("error", call.data.get("message", ""))).partition("\n")[0][:160]
        how = f"failed ({error})" if error else "waited"
        place = f" in {call.op}{_of_tensors(call)}" * (call.kind == "collective") + at(call.source)
        yield Case(
            kind="rank-divergence",
            message=f"{having} {how}{place}, and of {gone} there is no recording: killed, or ended inside a library.",
            remedy="see what ended the missing ranks; a collective takes the same operation, shape and dtype on all "
            "ranks. With --flush-every 1 a recording is kept of every step",
            source=call.source,
            op=call.op,
        )


def _lost(run: Run) -> Event | None:
    """Return the error that ended a run, if it says that another process is gone."""
    return run.error if is_lost(run.error) else None


def _of_tensors(call: Event) -> str:
    return f" of {sizes_text(call)}" if sizes_text(call) else ""


def _own_error(run: Run) -> bool:
    """Whether a rank ended by an exception of its own, not by a signal or because another one is gone."""
    if run.error is None or _STOPPED.match(str(run.error.data.get("type", ""))):
        return False
    text = f"{run.error.data.get('type')}: {run.error.data.get('message')}"
    raised = (event.data.get("error") for event in run.recording.events if event.kind == "collective")
    return not is_lost(run.error) and text not in raised


def _failed(found: Lineup, failed: Sequence[int]) -> Case:
    """Ranks ended by an exception, and the others had to end for it."""
    error = found.runs[failed[0]].error
    assert error is not None
    rest = [number for number in range(len(found.runs)) if number not in failed]
    first = str(error.data.get("message", "")).partition("\n")[0]
    what = f"{error.data.get('type', 'an exception')}: {first[:200]}"
    return Case(
        kind="rank-divergence",
        message=f"{listed(found.words(failed))} ended by {what}{at(error.source)}; {_doing(found, rest)}.",
        remedy="fix what was raised there: what the other ranks say follows from it",
        source=error.source,
        evidence={"ranks": [found.names[number] for number in failed]},
    )


def _mismatched(found: Lineup, unmet: UnmatchedCollective) -> Case:
    """Ranks meet in one collective with different operations, or with tensors of different sizes."""
    sides = unmet.by_call()
    calls = dict(zip(unmet.runs, unmet.calls, strict=True))
    own = {side: _only_there(found, runs, calls[runs[0]]) for side, runs in sides.items()}
    alone = next((side for side in sides if own[side] is not None), next(iter(sides)))
    said = "; ".join(
        f"{side[0]}{f' of {side[1]}' * bool(side[1])}{at(side[2])}{_called(side[2], own[side])} on "
        f"{listed(found.words(runs))}"
        for side, runs in sides.items()
    )
    what = _NOT_ALIKE[unmet.what]
    number = unmet.first.data.get("sequence", 0)
    return Case(
        kind="rank-divergence",
        message=f"collective {number} of the group {what}: {said}. Ranks match collectives by their order alone, so "
        "they hang, fail, or add up what does not belong together.",
        remedy="let every rank call the same collectives in the same order, with tensors of one shape and dtype (pad, "
        "or gather the sizes first) and one root; none under a condition that depends on the rank or its data",
        source=own[alone] or alone[2],
        op=alone[0],
        evidence=unmet.to_plain(),
    )


def _only_there(found: Lineup, runs: Iterable[int], call: Event | None) -> SourceLine | None:
    """Return the outermost line around a collective that no other rank reaches: paths diverge there."""
    inside = set(runs)
    others = {
        line
        for number, run in enumerate(found.runs)
        for event in (() if number in inside else run.recording.events)
        if event.kind in ("collective", "backward", "error")
        for line in _frames(event)
    }
    return next((line for line in reversed(_frames(call)) if line not in others), None) if call is not None else None


def _called(line: SourceLine | None, outer: SourceLine | None) -> str:
    """Return in words the line of a call around another one."""
    return "" if outer is None or outer == line else f", called{at(outer)},"


def _missing(found: Lineup, unmet: UnmatchedCollective) -> Case:
    """Some ranks wait in a collective that others never call."""
    call = unmet.first
    own = _only_there(found, unmet.having, call)
    inside = _called(call.source, own if own is not None else next(iter(_frames(call)[1:]), None))
    waits = f"{listed(found.words(unmet.having))} wait{'s' * (len(unmet.having) == 1)}"
    skip = next(filter(None, (_skipped(found.runs[number], call) for number in unmet.lacking)), None)
    lacking = f"{listed(found.words(unmet.lacking))}, which never call{'s' * (len(unmet.lacking) == 1)} it"
    where = _doing(found, unmet.lacking)
    less = f": {where}" if skip is None else f" so often: {skip.words()}; {where}"
    return Case(
        kind="rank-divergence",
        message=f"{waits} in {call.op}{_of_tensors(call)}{at(call.source)}{inside} for {lacking}{less}.",
        remedy=f"call {call.op} on every rank of the group, outside of conditions that depend on the rank or its data",
        source=own or call.source if skip is None else skip.leaving or skip.line,
        op=call.op,
        evidence=unmet.to_plain(),
    )


class _Skipped(NamedTuple):
    """A collective in a loop that a rank left out in one round."""

    rank: str
    number: int
    """How often it had called the collective before."""
    line: SourceLine
    """A line of the loop that ran twice before the next call."""
    leaving: SourceLine | None
    """The one ``continue`` or ``break`` of the loop."""

    def words(self) -> str:
        """Say it: ``rank 1 left it out once after 7 calls, when train.py:21 ran twice (train.py:24 may skip it)``."""
        way = f" ({place(self.leaving)} may skip it)" if self.leaving else ""
        after = f"{self.rank} left it out once after {counted(self.number, 'call')}"
        return f"{after}, when {place(self.line)} ran twice{way}"


def _skipped(run: Run, call: Event) -> _Skipped | None:
    """Return the round of a loop in which a rank left out a collective: between two calls lines ran twice, not once."""
    events = run.recording.events
    rows = [row for row, event in enumerate(events) if (event.op, event.source) == (call.op, call.source)]
    rounds = [Counter(filter(None, (one.source for one in events[low:high]))) for low, high in pairwise(rows)]
    if len(rounds) < 3:  # what is usual is seen in two others
        return None
    usual = {line: min(one[line] for one in rounds) for line in set.intersection(*map(set, rounds))}
    twice = [{line for line, count in usual.items() if one[line] >= 2 * count} for one in rounds]
    odd = [number for number, lines in enumerate(twice) if lines]
    if len(odd) != 1:
        return None
    lines = [event.source for event in events[rows[odd[0]] :] if event.source in twice[odd[0]]]
    beside = (line for line in lines if line and call.source and line.function == call.source.function)
    line = next(beside, None) or next(filter(None, lines))
    return _Skipped(run.name, odd[0] + 1, line, _leaving_around(call.source)[0])


def _fewer_steps(found: Lineup, step: int) -> Case:
    """Return the case of ranks that began a backward pass which others never begin."""
    begun = [number for number, run in enumerate(found.runs) if step < len(run.steps)]
    rest = [number for number in range(len(found.runs)) if number not in begun]
    event = found.runs[begun[0]].steps[step].event
    inside = next((place for number in rest if (place := _within_loop(found.runs[number], event))), None)
    leaving, word = (inside, "") if inside else _leaving_around(event.source)
    left = f"; {word}{at(leaving)}" if leaving and word else ""
    ended = f"{listed(found.words(rest))}, which ended after {step} of these steps{left}"
    waits = f"wait{'s' * (len(begun) == 1)} in backward pass {step}{at(event.source)}"
    return Case(
        kind="rank-divergence",
        message=f"{listed(found.words(begun))} {waits} for {ended}: {_doing(found, rest)}.",
        remedy="give every rank the same number of batches (DistributedSampler, drop_last), or join() the model "
        "around the loop; let ranks decide together when to stop, by a value that was all-reduced first",
        source=leaving or event.source,
        op="backward",
        evidence={"step": step, "ranks": [found.names[number] for number in rest]},
    )


def _alone_there(found: Lineup) -> Iterator[Case]:
    """Yield the case of ranks that lost another one in a call to which that one had never come."""
    lost = [number for number, run in enumerate(found.runs) if is_lost(run.error)]
    rest = [number for number in range(len(found.runs)) if number not in lost]
    error = found.runs[lost[0]].error if lost and rest else None
    if error is None or any(found.runs[number].error for number in rest):
        return
    raised = str(error.data.get("raised_in") or "")
    yield Case(
        kind="rank-divergence",
        message=f"{listed(found.words(lost))} waited{at(error.source)} for {listed(found.words(rest))}, which never "
        f"came there: {_doing(found, rest)}."
        + (f" What waited is in {raised}, which meets other ranks." if raised else ""),
        remedy="let every rank come there, or none: outside of conditions that depend on the rank or its data; on one "
        "rank alone call model.module, which sends nothing",
        source=error.source,
        evidence={"ranks": [found.names[number] for number in lost]},
    )


def _within_loop(run: Run, event: Event) -> SourceLine | None:
    """Return where a rank was stopped, in the function of an event of another rank and in its innermost loop."""
    stopped = pending(run) or run.error
    here, there = (_by_function(one) if one is not None else {} for one in (stopped, event))
    for (file, function), line in here.items():
        if (file, function) in there:
            around = [loop for loop in _loops(file) if loop[0] <= there[file, function] <= loop[1]]
            low, high, _ = max(around, key=lambda loop: loop[0], default=(1, 0, None))
            return SourceLine(file, line, function) if low <= line <= high else None
    return None


def _doing(found: Lineup, numbers: Sequence[int]) -> str:
    """Return where ranks are: ``rank 1 waits in barrier at train.py:30``."""
    said: dict[str, list[int]] = {}
    for number in numbers:
        said.setdefault(_place_of(found.runs[number], found.endings[number].state), []).append(number)
    return "; ".join(f"{listed(found.words(of))} {words}" for words, of in said.items())


def _place_of(run: Run, state: str) -> str:
    """Return in words where a rank was last."""
    call = pending(run)
    if call is not None:
        return f"waited in {call.op}{at(call.source)}"
    if state == "in backward":
        return f"waited in backward pass {len(run.steps) - 1}{at(run.steps[-1].event.source)}"
    if run.error is not None and is_lost(run.error):
        return f"lost another rank{at(run.error.source)}"
    if run.error is not None:
        return f"was{at(run.error.source)}" if run.error.source else "was in a call of a library"
    if state == "finished":
        return "was at its end"
    last = next((one for one in reversed(run.recording.events) if one.kind == "collective" and one.source), None)
    return "was cut off" if last is None else f"is known up to {last.op}{at(last.source)}"


def pending(run: Run) -> Event | None:
    """Return the collective from which a run never returned, if there is one."""
    calls = (event for event in reversed(run.recording.events) if event.kind == "collective")
    return next((event for event in calls if event.data.get("pending") or event.data.get("error")), None)


def _frames(event: Event) -> list[SourceLine]:
    """Return the lines around an event, innermost first."""
    frames = [SourceLine(one["file"], one["line"], one["function"]) for one in event.data.get("stack", ())]
    return frames or [line for line in [event.source] if line is not None]


def _left_loop(found: Lineup, unmet: UnmatchedCollective) -> bool:
    """Whether a collective comes after the loop in which the others still run backward: its ranks left it early."""
    others = [run.steps[-1].event for run in (found.runs[number] for number in unmet.lacking) if run.steps]
    call = unmet.first
    for other in others:
        here, there = (_by_function(event) for event in (call, other))
        common = next((name for name in there if name in here), None)
        if common is not None:
            loops = _loops(common[0])
            return any(low <= there[common] <= high and not low <= here[common] <= high for low, high, _ in loops)
    return False


def _by_function(event: Event) -> dict[tuple[str, str], int]:
    """Return file and function of each frame around an event -> its line, innermost first."""
    return {(one.file, one.function): one.line for one in reversed(_frames(event))}


@lru_cache(maxsize=64)
def _loops(file: str) -> tuple[tuple[int, int, ast.stmt | None], ...]:
    """Return first and last line of each loop of a file, and the one ``break`` or ``continue`` in it."""
    tree = parsed("\n".join(plain_lines(file)))
    found = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.For, ast.While)):
            ways = [one for one in ast.walk(node) if isinstance(one, (ast.Break, ast.Continue))]
            found.append((node.lineno, node.end_lineno or node.lineno, ways[0] if len(ways) == 1 else None))
    return tuple(found)


def _leaving_around(line: SourceLine | None) -> tuple[SourceLine | None, str]:
    """Return where the innermost loop around a line may be left, or a round of it, if in one place, and which it is."""
    around = [loop for loop in _loops(line.file) if loop[0] <= line.line <= loop[1]] if line is not None else []
    way = max(around, key=lambda loop: loop[0])[2] if around else None
    if line is None or way is None:
        return None, ""
    word = "the loop may be left" if isinstance(way, ast.Break) else "a step may be skipped"
    return line._replace(line=way.lineno), word
