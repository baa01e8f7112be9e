"""Shapes that fit by accident, or do not fit backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import prod

from ...operators import Trait, canonical, is_a, traits_of
from ...program.syntax import parsed_expression
from ...snapshot import SourceLine
from ..base import Case, Check, Kind, Stage
from ..phrases import NOT_SCALAR
from ..recorded.ends_of_loops import few_of_each_line
from ..recorded.flow import Flow
from ..statements.spelling import argument, receiver
from ..words import at, listed, shape_text

KINDS = {
    "broadcast": Kind("operands broadcast to a larger shape than either", "warning", Stage.STATEMENT),
    "nonscalar-backward": Kind("backward on a vector", "error", Stage.STATEMENT),
    "duplicate-index": Kind("indexed write with repeated indices", "error", Stage.STATEMENT),
}
_GRAD = frozenset({"grad"})


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    yield from _broadcasts(flow)
    if NOT_SCALAR in flow.error_text or _given_up(flow):
        yield _not_scalar_case(flow)
    yield from _duplicates(flow)


CHECK = Check("shape", KINDS, find)


def _broadcasts(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss at which a column and a vector of equal length made a square."""
    reported = set()
    pairs = {row: pair for row, _ in flow.of_kind("operation") if (pair := _squared(flow, row)) is not None}
    own = {
        _entries_of(flow, one) for one, other in pairs.values() if _entries_of(flow, one) == _entries_of(flow, other)
    }
    for row in few_of_each_line(flow, pairs):
        source = flow.events[row].source
        if source in reported or not _in_a_loss(flow, row):
            continue
        if _by_accident(flow, row, pairs[row], own):
            reported.add(source)
            yield _broadcast_case(flow, row, *pairs[row])


def _by_accident(flow: Flow, row: int, pair: tuple[int, int], own: set[int]) -> bool:
    """Whether nothing shows that a call was to make a square of a column and a vector, or something that it was not.

    ``own``: what is compared with itself, all pairs, somewhere in the program.
    """
    if _is_a_target(flow, row) or _only_added_up(flow, row):
        return True
    if _meets_a_square(flow, row, *pair):
        return False
    return not _meant(flow, row, pair[0]) or _tells_no_pairs(flow, row, pair, own)


def _squared(flow: Flow, row: int) -> tuple[int, int] | None:
    """Return (column, vector) of which a call made a square: shapes (N, 1) and (N,) with the same N > 1."""
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
    """Return what a call itself had expanded to the shape of its operands, as losses do, or else the operand."""
    event = flow.events[row]
    for made in flow.made_in.get(tensor, ()):
        one, given = flow.events[made], flow.inputs(made)
        if made < row and (one.op, one.source) == (event.op, event.source) and len(given) == 1:
            return given[0]
    return tensor


def _meant(flow: Flow, row: int, column: int) -> bool:
    """Whether a column was made on purpose for this broadcast: by a view on the same line, or for a product."""
    made = next((one for one in flow.made_in.get(column, ()) if _makes_column(flow, one)), None)
    if made is None:
        return False
    event = flow.events[row]
    return not _subtracts(event.op) or flow.events[made].source == event.source


def _subtracts(op: str) -> bool:
    """Whether an operator compares its operands: by their difference, or as equal or not."""
    return is_a(op, Trait.DISTANCE, Trait.COMPARISON) or canonical(op) == "sub"


def _makes_column(flow: Flow, row: int) -> bool:
    """Whether a call is a view that gives its result the last dimension of one, which what it took had not."""
    given = flow.inputs(row)[:1]
    was_column = bool(given) and flow.facts(given[0]).shape[-1:] == (1,)
    return is_a(flow.events[row].op, Trait.ARRANGING) and not was_column


def _tells_no_pairs(flow: Flow, row: int, pair: tuple[int, int], own: set[int]) -> bool:
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
    """Whether what a call made of a column and a vector goes, entry by entry, into sums over all entries alone."""
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
    """Whether what a broadcast added up without history is compared with a vector of predictions, number by number.

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


def _meets_a_square(flow: Flow, row: int, *operands: int) -> bool:
    """Whether what a broadcast made meets, entry by entry, a square that was there without its operands.

    Distances or weights of pairs are one, and tell that pairs were meant.
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
    """Whether a tensor was computed from none of these, nor from what they were computed from."""
    mine = flow.behind([tensor], row, gradients=False).tensors
    theirs = flow.behind(operands, row, gradients=False).tensors
    return mine.isdisjoint(theirs)


def _in_a_loss(flow: Flow, row: int) -> bool:
    """Whether the values of a call came to a tensor that a backward run started from."""
    return row in flow.behind_losses.calls


def _broadcast_case(flow: Flow, row: int, column: int, vector: int) -> Case:
    """Return the case of one line."""
    event = flow.events[row]
    named = zip(event.data.get("inputs", ()), event.data.get("names", ()), strict=False)
    given = {_unexpanded(flow, tensor, row): name for tensor, name in named}
    first, second = (
        given.get(one) or (flow.name(one, event.source) if flow.spelling.has_name(one) else "")
        for one in (column, vector)
    )
    ways = [_flattened(flow, column, first)] * bool(first) + [f"{_whole(second)}.unsqueeze(-1)"] * bool(second)
    ways = ways or ["squeeze(-1) on the first", "unsqueeze(-1) on the second"]
    tall, flat = flow.facts(column).shape, flow.facts(vector).shape
    result = (*flat, flat[-1])
    return Case(
        kind="broadcast",
        message=f"{event.op}{at(event.source)} broadcasts {first or 'a tensor'} of shape {shape_text(tall)} and "
        f"{second or 'one'} of shape {shape_text(flat)} to {shape_text(result)}, larger than either: every row meets "
        "every other row.",
        remedy=f"{', or '.join(ways)}, so that both have one shape",
        source=event.source,
        op=event.op,
        subjects=frozenset({column, vector}),
        marks=flow.marks(flow.run_after(row), [row], f"broadcast to {shape_text(result)}"),
        evidence={"shapes": [list(tall), list(flat)], "result": list(result)},
    )


def _flattened(flow: Flow, column: int, name: str) -> str:
    """Return what to write in place of a column that is to be a vector: what it was made of, if that was one."""
    made = next((row for row in flow.made_in.get(column, ()) if _makes_column(flow, row)), None)
    vector = flow.inputs(made)[0] if made is not None else column
    spelled = flow.events[made].data.get("names", [""])[0] if made is not None else ""
    if spelled and flow.facts(vector).shape == flow.facts(column).shape[:-1]:
        return spelled
    return f"{_whole(name)}.squeeze(-1)"


def _whole(name: str) -> str:
    """Return an expression as it stands before a method."""
    return f"({name})" if _computes(name) else name


@dataclass(frozen=True, slots=True)
class _Refused:
    """A backward run that did not start because its root is no scalar."""

    line: SourceLine | None
    asked: bool
    """Whether ``autograd.grad`` asked for gradients, rather than ``backward`` being called."""
    spelled: str
    """The root as the line writes it, or nothing."""
    root: int | None

    def root_name(self, flow: Flow) -> str:
        """Return what to call the root: its name, or else how the line spells it."""
        if self.root is not None and flow.spelling.has_name(self.root):
            return flow.name(self.root, self.line)
        return self.spelled or ("outputs" if self.asked else "loss")


def _refused(flow: Flow) -> _Refused:
    """Return the run that was refused, as far as the recording or the line of the error tells."""
    failed = next((run for run in flow.runs if NOT_SCALAR in run.error), None)
    line = failed.source if failed else flow.error.source if flow.error else None
    text = flow.spelling.text(line)
    asked = not failed.accumulates if failed else bool(argument(text, _GRAD))
    spelled = argument(text, _GRAD) if asked else receiver(text, "backward")
    root = failed.roots[0] if failed and failed.roots else _named(flow, spelled)
    return _Refused(line, asked, spelled, _last_result(flow) if root is None else root)


def _given_up(flow: Flow) -> bool:
    """Whether a vector was refused, the program went on, and nothing ever got the gradients of what it was to train.

    Who has other gradients, and no optimizer, tried whether the vector is refused.
    """
    refused = {run.source for run in flow.runs if NOT_SCALAR in run.error}
    well = {run.source for run in flow.runs if not run.error}
    return bool(refused) and (not well or bool(flow.rows.get("optimizer") and refused - well))


def _computes(name: str) -> bool:
    """Whether what is to stand before a method is an operation, which needs brackets."""
    return isinstance(parsed_expression(name), ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp)


def _not_scalar_case(flow: Flow) -> Case:
    """Return the case of a loss that is no scalar."""
    refused = _refused(flow)
    line, root, asked, name = refused.line, refused.root, refused.asked, refused.root_name(flow)
    if root is not None and not asked and (number := _reduced(flow, root)) is not None:
        return _vector_in_place(flow, refused, root, number)
    row = _last_reduction(flow, root) if root is not None else None
    op, source = (flow.events[row].op, flow.events[row].source) if row is not None else ("", line)
    shape = f"shape {shape_text(flow.facts(root).shape)}" if root is not None else "more than one entry"
    whole = name if asked else _whole(name)
    call = f"autograd.grad({name}, ...)" if asked else f"{whole}.backward()"
    return Case(
        kind="nonscalar-backward",
        message=f"{call}{at(line)} needs a scalar, but {name} has {shape}{_what_left(op, source)}.",
        remedy=f"torch.autograd.grad({name}.sum(), ...), or grad_outputs=torch.ones_like({name})"
        if asked
        else f"{whole}.mean().backward(), or {whole}.sum().backward()",
        source=line if asked and not is_a(op, Trait.REDUCTION) else source,
        op=op or "backward",
        subjects=frozenset({root} if root is not None else ()),
        explains_error=True,
    )


def _reduced(flow: Flow, root: int) -> int | None:
    """Return the named number that the program made of a root, and whose backward was meant."""
    rows = [
        row for row in flow.used_in.get(root, ()) if is_a(flow.events[row].op, Trait.REDUCTION) and flow.has_node(row)
    ]
    numbers = [out for row in rows for out in flow.outputs(row) if prod(flow.facts(out).shape) == 1]
    return next((one for one in numbers if flow.spelling.has_name(one)), None)


def _vector_in_place(flow: Flow, refused: _Refused, root: int, number: int) -> Case:
    """Return the case of a vector that was run backward in place of the number that was made of it."""
    name, meant, made = refused.root_name(flow), flow.name(number, refused.line), flow.made_in[number][-1]
    return Case(
        kind="nonscalar-backward",
        message=f"{name}.backward(){at(refused.line)} needs a scalar, but {name} has shape "
        f"{shape_text(flow.facts(root).shape)}; {meant} is the scalar that {flow.events[made].op}"
        f"{at(flow.events[made].source)} made of it.",
        remedy=f"{meant}.backward()",
        source=refused.line,
        op="backward",
        subjects=frozenset({root}),
        explains_error=True,
    )


def _what_left(op: str, source: SourceLine | None) -> str:
    """Return the words for the call that gave the root its shape."""
    if is_a(op, Trait.REDUCTION):
        return f": {op}{at(source)} left one number a row, and no reduction follows"
    return f": {op}{at(source)} made it, and no reduction follows" if op else ""


def _named(flow: Flow, name: str) -> int | None:
    """Return the last tensor that goes by a name."""
    found = [tensor for tensor in range(len(flow.tensors)) if name and name in flow.spelling.names(tensor)]
    return found[-1] if found else None


def _last_result(flow: Flow) -> int | None:
    """Return what the last recorded call made, if it has several entries and nothing took it."""
    rows = [row for kind in ("operation", "inplace") for row in flow.rows.get(kind, ()) if flow.has_node(row)]
    made = flow.events[max(rows)].data.get("outputs", []) if rows else []
    return next((out for out in made if prod(flow.facts(out).shape) != 1 and not flow.used_in.get(out)), None)


def _last_reduction(flow: Flow, root: int) -> int | None:
    """Return the call that gave the root its shape: the nearest reduction behind it, or else its own."""
    shape, rows = flow.facts(root).shape, flow.behind([root], len(flow.events)).calls
    for row in sorted(rows, reverse=True):
        outputs = flow.events[row].data.get("outputs", ())
        if is_a(flow.events[row].op, Trait.REDUCTION) and outputs and flow.facts(outputs[0]).shape == shape:
            return row
    return max(flow.made_in.get(root, ()), default=None)


def _duplicates(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss that wrote several values to one place."""
    reported = set()
    for kind in ("inplace", "operation"):
        for row, event in flow.of_kind(kind):
            count = event.data.get("duplicates", 0)
            if not count or event.source in reported or not flow.has_node(row) or not _in_a_loss(flow, row):
                continue
            reported.add(event.source)
            yield _duplicate_case(flow, row, count)


def _duplicate_case(flow: Flow, row: int, count: int) -> Case:
    """Return the case of one indexed write."""
    event = flow.events[row]
    target = flow.target(row)
    name = flow.name(flow.inputs(row)[0] if target is None else target, event.source)
    index = [t for t in flow.inputs(row) if flow.facts(t).dtype.startswith(("int", "uint", "long"))]
    names = [flow.name(t, event.source) for t in index if flow.spelling.has_name(t)]
    spelled = listed(names) or "index"
    which, comma = (f"{spelled}, the index", ",") if names else ("the index", "")
    line = flow.spelling.text(event.source)
    added = "+=" in line or "-=" in line
    return Case(
        kind="duplicate-index",
        message=f"{which} of the write into {name}{at(event.source)}{comma} has {count} repeated (duplicate) "
        "entries: only the last write to each place counts, yet backward sends gradient to all of them.",
        remedy=_adding(name, spelled, event.op, several=len(names) > 1, added=added),
        source=event.source,
        op=event.op,
        subjects=frozenset({target} if target is not None else ()),
        marks=flow.marks(flow.run_after(row), [row], "repeated indices"),
    )


def _adding(name: str, index: str, op: str, *, several: bool, added: bool) -> str:
    """Return what adds up the values that repeated indices send to one place."""
    if several or op.startswith("index_put"):
        given = index.replace(" and ", ", ") if several else f"{index},"
        return f"index_put(({given}), values, accumulate=True), which adds them up, or make the indices unique"
    return f"{name}.index_add_(0, {index}, values)" if added else "make the indices unique, or use index_add_"
