"""Two equal runs within one program with different results: the first random number that differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ...program.random_functions import ELSEWHERE, FROM_ANY
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import draws_numbers
from ..facts.flow import Flow
from ..facts.lines import call_text, same_call, same_shapes
from ..facts.runs import Run
from ..text.words import at
from ..thresholds import DRAWN_ABOVE

KINDS = {
    "nondeterminism": Kind("two equal runs differ", "warning", Stage.STRUCTURE),
}
_SEEDING_OWN = re.compile(r"\b(default_rng|RandomState|Random|Generator)\((?=[^)\s])")
_SEED_ENGINE = (
    "torch.manual_seed(...) before each run, and the seed of each Generator that is used; model.eval() where "
    "no dropout is wanted"
)
_SEED_OTHERS = (
    "np.random.seed(...) or random.seed(...) before each run as well, or a generator with a seed of its own made in "
    "each run, or draw with torch"
)
_CALLS = ("operation", "inplace", "cut")


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of the first result that two equal stretches of the program do not share."""
    seeded = _reseeded(flow)
    pair = seeded or _compared(flow)
    equal = pair and (_wants_them_equal(flow) or _with_same_settings(flow, *pair))
    differing = pair and _first_difference(flow, *pair, FROM_ANY if equal else ELSEWHERE)
    if differing:  # seeds and assertions ask for equality; a mere comparison may expect a difference
        yield replace(_case(flow, *differing), severity=None if seeded or _asserts(flow) else "note")
    elif pair:
        yield from _numbers_drawn_elsewhere(flow, *pair)


CHECK = Check("divergence", KINDS, find)


def _calls(flow: Flow, begin: int, end: int) -> list[Event]:
    return [event for event in flow.events[begin:end] if event.kind in _CALLS and event.source]


def _equal_results(one: Event, other: Event) -> bool:
    """Whether two calls had the same results, by sums and ranges; an unrecorded range is ignored."""
    ranges = [event.data.get("range") or [] for event in (one, other)]
    measured = all(mine == theirs for mine, theirs in zip(*ranges, strict=False) if mine and theirs)
    return measured and one.data.get("checksum") == other.data.get("checksum")


def _reseeded(flow: Flow) -> tuple[list[Event], list[Event]] | None:
    """Return two stretches that begin with the same random numbers: the generator was seeded before both.

    Each must make what it trains by itself: a model that continues from one to the other makes them unequal.
    """
    first: dict[tuple[object, ...], int] = {}
    for row in sorted([*flow.rows.get("operation", ()), *flow.rows.get("inplace", ())]):
        event = flow.events[row]
        spread = (event.data.get("range") or [None])[0]
        if not draws_numbers(event) or not spread or not (spread[0] < spread[1] or spread[0] % 1):
            continue
        key = (event.op, event.source, str((event.data.get("checksum"), event.data.get("range"))))
        begin = first.setdefault(key, row)
        if begin != row:
            first_leaves, leaves = _trained(flow, begin, row), _trained(flow, row, len(flow.events))
            alone = first_leaves and leaves and first_leaves.isdisjoint(leaves)
            return (_calls(flow, begin, row), _calls(flow, row, len(flow.events))) if alone else None
    return None


def _trained(flow: Flow, begin: int, end: int) -> set[int]:
    """Return the leaves of the backward passes of a stretch."""
    runs = [run for run in flow.runs if begin < run.begin < end and not run.nested]
    return {leaf for run in runs for leaf in flow.leaves_behind(flow.reached_by(run))}


def _compared(flow: Flow) -> tuple[list[Event], list[Event]] | None:
    """Return the forward calls of a program's only two backward passes, if they are of one line and adjacent.

    Leaves that nothing ever changes, one step and the same step again on the same data, gradients cleared in between,
    and a line that demands equality, or one function called twice: that is somebody who wants to see them agree.
    """
    runs = [run for run in flow.runs if not run.nested]
    if len(runs) != 2 or any(run.error for run in runs) or runs[0].source != runs[1].source:
        return None
    leaves = [flow.leaves_behind(flow.reached_by(run)) for run in runs]
    shared = leaves[0] & leaves[1]
    asked_for = _made_for_each(flow, leaves[0] - shared, leaves[1] - shared, runs[0])
    if not shared or asked_for is None or _changed(flow, shared, runs):
        return None
    if not asked_for and _adds_to_kept(flow, runs[1]):  # else the gradients of new leaves are read
        return None
    pair = _behind(flow, runs[0], -1), _behind(flow, runs[1], runs[0].end)
    wanted = _wants_them_equal(flow) or (not asked_for and _in_a_function_of_its_own(flow, runs[0], shared))
    return pair if wanted and _same_data(flow, pair, runs[0], own_inputs=asked_for) else None


def _in_a_function_of_its_own(flow: Flow, run: Run, shared: set[int]) -> bool:
    """Whether a pass is in a function that was called again for each, not in the loop around both."""
    made = {facts.source.function for facts in map(flow.facts, shared) if facts.source is not None}
    return run.source is not None and run.source.function not in made


def _adds_to_kept(flow: Flow, run: Run) -> bool:
    """Whether a pass adds to existing gradients."""
    return any(event.data.get("before") == "kept" for _, event in flow.of_kind("accumulate", run=run.number))


def _made_for_each(flow: Flow, one: set[int], other: set[int], first: Run) -> bool | None:
    """Return whether each of two steps makes its own input leaves, as saliency maps do; None if they differ."""
    shapes = [sorted(flow.facts(leaf).shape for leaf in leaves) for leaves in (one, other)]
    if shapes[0] != shapes[1] or any(min(flow.used_in.get(leaf, (-1,))) < first.end for leaf in other):
        return None
    return bool(one)


def _wants_them_equal(flow: Flow) -> bool:
    """Whether the program compared two equally computed results, or an assertion ended it."""
    calls = (row for kind in _CALLS for row in flow.rows.get(kind, ()) if flow.does(row, Trait.EQUALITY))
    return any(_compares_twins(flow, row) for row in calls) or _asserts(flow)


def _asserts(flow: Flow) -> bool:
    """Whether an assertion ended the program."""
    return flow.error is not None and flow.error.data.get("type") == AssertionError.__name__


def _compares_twins(flow: Flow, row: int) -> bool:
    """Whether the operands of a comparison came from one line, as the results of two calls of one function do."""
    operands = [flow.facts(one) for one in flow.inputs(row)]
    alike = {(one.shape, one.dtype, one.source) for one in operands}
    return len(operands) == 2 and len(alike) == 1


def _with_same_settings(flow: Flow, one: list[Event], other: list[Event]) -> bool:
    """Whether two stretches make the same calls with the same numbers, and optimizers with the same settings.

    Who compares two settings changes one; it may be the seed that each run gives to a generator of its own.
    """
    lines = (text for known in flow.recording.sources.values() for text in known.values())
    if any(map(_SEEDING_OWN.search, lines)):
        return False
    made = Counter(str((event.op, event.data.get("settings"))) for _, event in flow.of_kind("optimizer", action="made"))
    alike = (same_call(*pair) and _numbers(pair[0]) == _numbers(pair[1]) for pair in zip(one, other, strict=False))
    return min(made.values(), default=2) > 1 and all(alike)


def _numbers(event: Event) -> object:
    return event.data.get("arguments")


def _same_data(flow: Flow, pair: tuple[list[Event], list[Event]], first: Run, *, own_inputs: bool) -> bool:
    """Whether two steps use only tensors from before both, and only random results differ.

    Steps with inputs of their own take the same if they begin with equal results.
    """
    given = [{one for event in events for one in event.data.get("inputs", ())} for events in pair]
    data = {one for one in given[0] & given[1] if not flow.requires_grad(one)}
    steps = list(zip(*_aligned(*pair), strict=False))
    begun_alike = bool(steps) and steps[0][0].data.get("checksum") and _equal_results(*steps[0])
    if not (own_inputs and begun_alike) and not any(min(flow.used_in[one]) < first.begin for one in data):
        return False
    drawn: set[int] = set()
    for mine, theirs in steps:
        made = set(mine.data.get("outputs", ()))
        if _equal_results(mine, theirs):
            continue
        if not draws_numbers(mine) and drawn.isdisjoint(mine.data.get("inputs", ())):
            return False
        drawn |= made
    return bool(drawn)


def _changed(flow: Flow, leaves: set[int], runs: list[Run]) -> bool:
    """Whether anything updates leaves once they have gradients."""
    stepped = bool(flow.optimizer_steps)
    replaced = any((leaf, "written") in flow.leaf_events for leaf in leaves)
    return stepped or replaced or any(flow.written_after(leaf, runs[0].begin) for leaf in leaves)


def _behind(flow: Flow, run: Run, since: int) -> list[Event]:
    """Return the calls, after a row, that a run's values come from, with the random ones that they took."""
    rows = flow.values_behind(run).calls
    return [flow.events[row] for row in sorted(rows) if row > since and flow.events[row].source]


def _aligned(one: list[Event], other: list[Event]) -> tuple[list[Event], list[Event]]:
    """Return two steps without what the first prepares for both."""
    begin = next((place for place, event in enumerate(one) if other and same_call(event, other[0])), 0)
    return one[begin:], other


def _first_difference(
    flow: Flow, one: list[Event], other: list[Event], drawing: re.Pattern[str]
) -> tuple[Event, Event] | None:
    """Return the first pair of calls that differ, if it is a matter of chance and of nothing that was meant.

    ``drawing``: how lines draw numbers that the engine's seed does not govern.
    """
    pairs = zip(*_aligned(one, other), strict=False)
    for mine, theirs in takewhile(lambda pair: same_call(*pair) and same_shapes(flow, *pair), pairs):
        if not _equal_results(mine, theirs) and not is_a(mine.op, Trait.ALLOCATING):
            drawn = draws_numbers(mine) or (_brought_in(flow, mine) and _draws_elsewhere(flow, mine, drawing))
            same = mine.data.get("arguments") == theirs.data.get("arguments")
            if drawn and (same or not draws_numbers(mine)):
                return mine, theirs
            before = _drawn_before(flow, mine, theirs) or _chosen_before(flow, mine, theirs, drawing)
            return before or _picked_before(flow, mine, theirs, zip(*_aligned(one, other), strict=False), drawing)
    return None


def _numbers_drawn_elsewhere(flow: Flow, one: list[Event], other: list[Event]) -> Iterator[Case]:
    """Yield the case of the first call with another plain number, if its file draws from an unseeded generator.

    As a weight, or where a list of numbers is gone through in another order, which no setting that is compared does.
    """
    pairs = zip(*_aligned(one, other), strict=False)
    alike = takewhile(lambda pair: same_call(*pair) and (_equal_results(*pair) or _other_numbers(*pair)), pairs)
    mine, theirs = next((pair for pair in alike if _other_numbers(*pair)), (None, None))
    drawn = None if mine is None else _drawing_line(flow, mine.source)
    if mine is None or theirs is None or drawn is None or draws_numbers(mine):
        return
    if _wants_them_equal(flow) or _in_another_order(_numbers_at(one, mine), _numbers_at(other, theirs)):
        yield _case_of_numbers(flow, mine, drawn)


def _other_numbers(one: Event, other: Event) -> bool:
    return _numbers(one) != _numbers(other)


def _numbers_at(stretch: list[Event], place: Event) -> list[str]:
    """Return the numbers that the calls of one place take in a stretch, in turn."""
    return [str(_numbers(event)) for event in stretch if same_call(event, place)]


def _in_another_order(one: list[str], other: list[str]) -> bool:
    """Whether two lists begin with the same entries, in another order in the second."""
    return sorted(one) == sorted(other[: len(one)])


def _drawing_line(flow: Flow, source: SourceLine | None) -> SourceLine | None:
    """Return the line that draws from a generator shared by everybody: in the file of a line, above it if one is.

    One outside of any function draws once, for both runs.
    """
    lines = flow.recording.sources.get(source.file, {}) if source else {}
    found = [number for number, text in sorted(lines.items()) if text[:1].isspace() and ELSEWHERE.search(text)]
    above = [number for number in found if source and number <= source.line]
    number = next(iter([*above[-1:], *found]), None)
    return None if number is None or source is None else SourceLine(source.file, number, "")


def _case_of_numbers(flow: Flow, event: Event, drawn: SourceLine) -> Case:
    """Return the case of a call that takes another number in the second of two equal runs."""
    return Case(
        kind="nondeterminism",
        message=f"two equal runs of this code differ, first in {call_text(event)}{at(event.source)}, which takes "
        f"another number in the second: {flow.spelling.text(drawn)}{at(drawn)} draws random numbers that nothing seeds "
        "alike before both.",
        remedy=_SEED_OTHERS,
        source=drawn,
        op=event.op,
        subjects=frozenset(event.data.get("outputs", ())),
    )


def _drawn_before(flow: Flow, mine: Event, theirs: Event) -> tuple[Event, Event] | None:
    """Return the calls that drew, before either stretch, the weights that two equal calls take."""
    for one, other in zip(mine.data.get("inputs", ()), theirs.data.get("inputs", ()), strict=False):
        pair = [_drew(flow, leaf) for leaf in (one, other)] if one != other and flow.is_leaf(one) else [None, None]
        if pair[0] and pair[1] and same_call(pair[0], pair[1]) and not _equal_results(pair[0], pair[1]):
            return pair[0], pair[1]
    return None


def _chosen_before(flow: Flow, mine: Event, theirs: Event, drawing: re.Pattern[str]) -> tuple[Event, Event] | None:
    """Return the calls that made, of numbers drawn elsewhere, the indices that two equal calls take."""
    for one, other in zip(mine.data.get("inputs", ()), theirs.data.get("inputs", ()), strict=False):
        rows = [next(iter(flow.made_in.get(tensor, ())), None) for tensor in (one, other)]
        if one == other or rows[0] is None or rows[1] is None:
            continue
        pair = flow.events[rows[0]], flow.events[rows[1]]
        if same_call(*pair) and _brought_in(flow, pair[0]) and _draws_elsewhere(flow, pair[0], drawing):
            return pair
    return None


def _picked_before(
    flow: Flow, mine: Event, theirs: Event, pairs: Iterable[tuple[Event, Event]], drawing: re.Pattern[str]
) -> tuple[Event, Event] | None:
    """Return the calls that selected, by a list drawn elsewhere, the operands or results of two equal calls.

    They may have picked the same in another order, which no sum shows.
    """
    known = set(mine.data.get("outputs", ()))
    earlier = list(takewhile(lambda pair: pair[0] is not mine, pairs))
    for one, other in reversed([*earlier, (mine, theirs)]):
        if known.isdisjoint(one.data.get("outputs", ())):
            continue
        if _picks(flow, one) and _draws_elsewhere(flow, one, drawing):
            return one, other
        known.update(one.data.get("inputs", ()))
    return None


def _picks(flow: Flow, event: Event) -> bool:
    """Whether a call selects entries by a list, which is not a tensor; a slice is a view."""
    views = (flow.facts(out).view_of for out in event.data.get("outputs", ()))
    return is_a(event.op, Trait.INDEXING) and len(event.data["inputs"]) == 1 and all(base is None for base in views)


def _drew(flow: Flow, leaf: int) -> Event | None:
    """Return the call that last filled a leaf with random numbers before it was used in a graph."""
    first = next((row for row in flow.used_in.get(leaf, ()) if flow.has_node(row)), len(flow.events))
    drawn = flow.last_producer(leaf, first, lambda row: draws_numbers(flow.events[row]))
    return None if drawn is None else flow.events[drawn]


def _brought_in(flow: Flow, event: Event) -> bool:
    """Whether a call takes, or makes a tensor of, values that no recorded call computed."""
    given = event.data.get("inputs", ())
    return not given or any(not flow.made_in.get(one) and not flow.requires_grad(one) for one in given)


def _draws_elsewhere(flow: Flow, event: Event, drawing: re.Pattern[str]) -> bool:
    """Whether the line of a call, or one just above it, draws numbers that a seed of the engine's does not govern."""
    return _line_that_draws(flow, event.source, drawing) is not None


def _line_that_draws(flow: Flow, source: SourceLine | None, drawing: re.Pattern[str]) -> SourceLine | None:
    """Return the nearest of these lines that does."""
    if source is None:
        return None
    lines = flow.recording.sources.get(source.file, {})
    for number in range(source.line, source.line - DRAWN_ABOVE, -1):
        if drawing.search(lines.get(number, "")):
            return SourceLine(source.file, number, source.function)
    return None


def _case(flow: Flow, one: Event, other: Event) -> Case:
    """Return the case of one call."""
    random = draws_numbers(one)
    drawn = None if random else _line_that_draws(flow, one.source, FROM_ANY)
    how = "it draws" if random else "it takes"
    return Case(
        kind="nondeterminism",
        message=f"two equal runs of this code differ, first in {call_text(one)}{at(one.source)}: "
        f"{_how_they_differ(one, other)}, because {how} random numbers"
        f"{'' if drawn in (None, one.source) else at(drawn)} that nothing seeds equally before both.",
        remedy=_SEED_ENGINE if random else _SEED_OTHERS,
        source=drawn or one.source,
        op=one.op,
        subjects=frozenset(one.data.get("outputs", ())),
    )


def _how_they_differ(one: Event, other: Event) -> str:
    """Say how the results of two calls differ."""
    sums = [
        next((f"{sum_:.6g}" for sum_ in event.data.get("checksum") or () if sum_ is not None), "?")
        for event in (one, other)
    ]
    if sums == ["?", "?"]:
        return "its values are other ones in the second"
    if _equal_results(one, other):
        return "the order of its entries is another one in the second"
    return f"its sum is {sums[0]} in the first and {sums[1]} in the second"
