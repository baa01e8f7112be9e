"""Columns and vectors of one length of which a call of a loss makes a square: each row meets each other one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import prod

from ....operators import Trait, is_a, traits_of
from ...base import Case
from ...facts.flow import Flow
from ...facts.lines import few_of_each_line
from ...facts.row_table import last_before
from ...roles.compared import given_to
from ...text.words import at, shape_text
from .not_scalar import in_brackets


def broadcasts(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss at which a column and a vector of equal length made a square."""
    reported = set()
    pairs = {row: pair for row, _ in flow.of_kind("operation") if (pair := _squared(flow, row)) is not None}
    own = {
        _entries_of(flow, one) for one, other in pairs.values() if _entries_of(flow, one) == _entries_of(flow, other)
    }
    for row in few_of_each_line(flow, pairs):
        source = flow.events[row].source
        if source in reported or row not in flow.behind_losses.calls:
            continue
        if not _within_a_package(flow, row, pairs[row]) and _by_accident(flow, row, pairs[row], own):
            reported.add(source)
            yield _broadcast_case(flow, row, *pairs[row])


def picked_for_all(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss that takes of each row the entries that are meant for all rows.

    ``scores[:, labels]`` with a label for each row makes a square as well, of which only the diagonal was wanted.
    """
    rows = [row for row, _ in flow.of_kind("operation") if flow.has_node(row) and _picks_columns(flow, row)]
    reported = set()
    for row in few_of_each_line(flow, rows):
        table, index = flow.inputs(row)[:2]
        source = flow.events[row].source
        if source in reported or row not in flow.behind_losses.calls or not _only_totals(flow, row, (table, index)):
            continue
        reported.add(source)
        yield _picked_case(flow, row, table, index)


def _picks_columns(flow: Flow, row: int) -> bool:
    """Whether a call takes as many columns of a table as that has rows, more than it has columns."""
    if not {Trait.INDEXING, Trait.PART} <= traits_of(flow.events[row].op) or len(flow.inputs(row)) != 2:
        return False
    table, index = (flow.facts(one) for one in flow.inputs(row))
    made = flow.facts(flow.outputs(row)[0]).shape if flow.outputs(row) else ()
    square = len(table.shape) == 2 and index.shape == table.shape[:1] and made == (*index.shape, *index.shape)
    return square and index.dtype.startswith("int") and table.shape[1] < table.shape[0]


def _picked_case(flow: Flow, row: int, table: int, index: int) -> Case:
    """Return the case of one line that picks columns."""
    event = flow.events[row]
    of, by = (flow.operand_name(one, row) for one in (table, index))
    shape, result = flow.facts(table).shape, flow.facts(flow.outputs(row)[0]).shape
    return Case(
        kind="broadcast",
        message=f"{event.op}{at(event.source)} takes the columns {by} of every row of {of}, {shape_text(shape)}, and "
        f"makes {shape_text(result)} of it: every row gets the entries of all other rows as well, and they are only "
        "added up.",
        remedy=f"one entry of each row: {in_brackets(of)}[torch.arange(len({by})), {by}], or "
        f"{in_brackets(of)}.gather(1, {in_brackets(by)}.unsqueeze(1))",
        source=event.source,
        op=event.op,
        marks=flow.marks(flow.run_after(row), [row], f"picked to {shape_text(result)}"),
        evidence={"shapes": [list(shape), list(flow.facts(index).shape)], "result": list(result)},
    )


def _by_accident(flow: Flow, row: int, pair: tuple[int, int], own: set[int]) -> bool:
    """Whether nothing shows that a call was to make a square of a column and a vector, or something that it was not.

    ``own``: what is compared with itself, all pairs, somewhere in the program.  What meets a view of itself makes a
    table of its pairs, and a vector of parameters has no rows of a batch.
    """
    vectors = [one for one in pair if len(flow.facts(one).shape) == 1]
    own_pairs = _entries_of(flow, pair[0]) == _entries_of(flow, pair[1])
    if own_pairs or any(_of_parameters(flow, one, row) for one in vectors):
        return False
    if _is_a_target(flow, row) or _only_added_up(flow, row):
        return True
    if _joins_a_square(flow, row, *pair) or (flow.does(row, Trait.COMPARISON) and not _only_totals(flow, row, pair)):
        return False
    return not _meant(flow, row, pair[0]) or _shows_no_pairs(flow, row, pair, own)


def _of_parameters(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a tensor is a parameter, or made of such alone; data may require a gradient, too, that of its points."""
    origins = given_to(flow, flow.behind([tensor], row)) or {tensor}
    return all(one in flow.optimized or flow.facts(one).parameter for one in origins)


def _within_a_package(flow: Flow, row: int, pair: tuple[int, int]) -> bool:
    """Whether a package's line compares its own intermediate results, neither passed in unchanged."""
    made = [flow.facts(one).source for one in pair]
    return all(line is not None and line.inside for line in (flow.events[row].source, *made))


def _squared(flow: Flow, row: int) -> tuple[int, int] | None:
    """Return (column, vector) from which a call made a square: shapes (N, 1) and (N,) with the same N > 1."""
    op = flow.events[row].op
    if len(flow.inputs(row)) < 2 or not is_a(op, Trait.ELEMENTWISE, Trait.LOSS, Trait.DISTANCE):
        return None
    inputs = [_unexpanded(flow, one, row) for one in flow.inputs(row)[:3]]
    for column, vector in permutations(inputs, 2):
        tall, flat = flow.facts(column).shape, flow.facts(vector).shape
        if len(flat) and tall == (*flat, 1) and flat[-1] > 1 and prod(flat) * flat[-1] > max(prod(tall), prod(flat)):
            return column, vector
    return None


def _unexpanded(flow: Flow, tensor: int, row: int) -> int:
    """Return the operand before a call itself expanded it, as losses do."""
    event = flow.events[row]
    made = last_before(flow.made_in.get(tensor, ()), row)
    one, given = flow.events[made], flow.inputs(made)
    return given[0] if made >= 0 and (one.op, one.source) == (event.op, event.source) and len(given) == 1 else tensor


def _meant(flow: Flow, row: int, column: int) -> bool:
    """Whether a column was made on purpose for this broadcast: by a view on the same line, or for a product."""
    made = next((one for one in flow.made_in.get(column, ()) if _makes_column(flow, one)), None)
    if made is None:
        return False
    event = flow.events[row]
    return not _subtracts(event.op) or flow.events[made].source == event.source


def _subtracts(op: str) -> bool:
    """Whether an operator compares its operands: by their difference, or as equal or not."""
    return is_a(op, Trait.DISTANCE, Trait.COMPARISON) or is_a(op, Trait.DIFFERENCE)


def _makes_column(flow: Flow, row: int) -> bool:
    """Whether a call is a view that adds a last dimension of one."""
    given = flow.inputs(row)[:1]
    was_column = bool(given) and flow.facts(given[0]).shape[-1:] == (1,)
    return is_a(flow.events[row].op, Trait.ARRANGING) and not was_column


def _shows_no_pairs(flow: Flow, row: int, pair: tuple[int, int], own: set[int]) -> bool:
    """Whether differences of all pairs of two results are only added up, and nothing else is known of pairs.

    Who compares each with each picks among the pairs, weighs them, or takes also those within one of the two results,
    as distances between distributions do.
    """
    entries = [_entries_of(flow, one) for one in pair]
    if not _subtracts(flow.events[row].op) or entries[0] == entries[1] or own.intersection(entries):
        return False
    mine, other = (flow.behind([one], row, gradients=False).tensors for one in entries)
    return entries[0] not in other and entries[1] not in mine and _only_totals(flow, row, pair)


def _entries_of(flow: Flow, tensor: int) -> int:
    """Return the tensor whose entries one holds in another shape."""
    while True:
        made = flow.made_in.get(tensor, ())
        given = flow.inputs(made[0]) if made else ()
        if len(made) != 1 or len(given) != 1 or not is_a(flow.events[made[0]].op, Trait.ARRANGING):
            return tensor
        if prod(flow.facts(given[0]).shape) != prod(flow.facts(tensor).shape):
            return tensor
        tensor = given[0]


def _only_totals(flow: Flow, row: int, pair: tuple[int, int]) -> bool:
    """Whether the result for a column and a vector only goes, entry by entry, into sums over all entries."""
    flat = flow.facts(pair[1]).shape
    square, totals = (*flat, flat[-1]), 0
    todo, seen = [(row, out) for out in flow.events[row].data.get("outputs", ())], {row}
    while todo:
        since, tensor = todo.pop()
        if prod(flow.facts(tensor).shape) == 1:
            totals += 1
            continue
        if flow.facts(tensor).shape != square:
            return False
        for call in flow.used_in.get(tensor, ()):
            op = flow.events[call].op
            if call <= since or call in seen or flow.events[call].kind == "read":
                continue
            if not is_a(op, Trait.ELEMENTWISE, Trait.LOSS, Trait.DISTANCE, *_TOTALS) or is_a(op, Trait.EXTREME):
                return False
            seen.add(call)
            todo.extend((call, out) for out in flow.events[call].data.get("outputs", ()))
    return totals > 0


_TOTALS = (Trait.REDUCTION, Trait.VIEW)


def _only_added_up(flow: Flow, row: int) -> bool:
    """Whether nothing is done with the products or quotients of all pairs but to add them all up.

    That is the product of two sums, for which nobody makes a square.
    """
    if not is_a(flow.events[row].op, Trait.SCALING):
        return False
    used = [call for out in flow.outputs(row) for call in flow.used_in.get(out, ()) if call > row]
    return bool(used) and all(
        {Trait.REDUCTION, Trait.LINEAR} <= traits_of(flow.events[call].op)
        and all(not flow.facts(out).shape for out in flow.outputs(call))
        for call in used
    )


def _is_a_target(flow: Flow, row: int) -> bool:
    """Whether a summed broadcast without history is compared with a vector of predictions, element by element.

    Distances of pairs are differences themselves.
    """
    if flow.has_node(row) or _subtracts(flow.events[row].op):
        return False
    todo = [(out, row) for out in flow.outputs(row)]
    square, seen = flow.facts(todo[0][0]).shape if todo else (), {row}
    while todo:
        tensor, since = todo.pop()
        for call in flow.used_in.get(tensor, ()):
            if call <= since or call in seen:
                continue
            seen.add(call)
            if flow.has_node(call):
                others = [flow.facts(one).shape for one in flow.inputs(call) if one != tensor]
                if _subtracts(flow.events[call].op) and square[-1:] in others:
                    return True
            elif all(flow.facts(out).shape == square for out in flow.outputs(call)):
                todo.extend((out, call) for out in flow.outputs(call))
    return False


def _joins_a_square(flow: Flow, row: int, *operands: int) -> bool:
    """Whether the result is combined, entry by entry, with a square that was made without its operands.

    Distances or weights of pairs are such squares, and show that pairs were meant.
    """
    made = [out for out in flow.outputs(row) if flow.facts(out).shape]
    square = flow.facts(made[0]).shape if made else ()
    todo, seen = [(out, row) for out in made], {row}
    while todo:
        tensor, since = todo.pop()
        for call in flow.used_in.get(tensor, ()):
            outputs = flow.outputs(call)
            if call <= since or call in seen or not outputs or flow.facts(outputs[0]).shape != square:
                continue
            seen.add(call)
            for other in flow.inputs(call):
                if flow.facts(other).shape == square and other != tensor and _without(flow, other, call, operands):
                    return True
            todo.extend((out, call) for out in outputs)
    return False


def _without(flow: Flow, tensor: int, row: int, operands: tuple[int, ...]) -> bool:
    """Whether a tensor was computed without these tensors and their origins."""
    mine = flow.behind([tensor], row, gradients=False).tensors
    theirs = flow.behind(operands, row, gradients=False).tensors
    return mine.isdisjoint(theirs)


def _broadcast_case(flow: Flow, row: int, column: int, vector: int) -> Case:
    """Return the case of one line."""
    event = flow.events[row]
    given = {_unexpanded(flow, tensor, row): name for tensor, name in flow.written_names(row).items()}
    first, second = (
        given.get(one) or (flow.name(one, event.source) if flow.spelling.has_name(one) else "")
        for one in (column, vector)
    )
    ways = [_flattened(flow, column, first)] * bool(first) + [f"{in_brackets(second)}.unsqueeze(-1)"] * bool(second)
    ways = ways or ["squeeze(-1) on the first", "unsqueeze(-1) on the second"]
    tall, flat = flow.facts(column).shape, flow.facts(vector).shape
    result = (*flat, flat[-1])
    return Case(
        kind="broadcast",
        message=f"{event.op}{at(event.source)} broadcasts {first or 'a tensor'} of shape {shape_text(tall)} and "
        f"{second or 'one'} of shape {shape_text(flat)} to {shape_text(result)}, larger than either: every row is "
        "combined with every other row.",
        remedy=f"{', or '.join(ways)}, so that both have one shape",
        source=event.source,
        op=event.op,
        subjects=frozenset({column, vector}),
        marks=flow.marks(flow.run_after(row), [row], f"broadcast to {shape_text(result)}"),
        evidence={"shapes": [list(tall), list(flat)], "result": list(result)},
    )


def _flattened(flow: Flow, column: int, name: str) -> str:
    """Return the replacement of a column that should be a vector: its origin, if that was one."""
    made = next((row for row in flow.made_in.get(column, ()) if _makes_column(flow, row)), None)
    vector = flow.inputs(made)[0] if made is not None else column
    spelled = flow.events[made].data.get("names", [""])[0] if made is not None else ""
    if spelled and flow.facts(vector).shape == flow.facts(column).shape[:-1]:
        return spelled
    return f"{in_brackets(name)}.squeeze(-1)"
