"""Shapes that fit by accident, or do not fit backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

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
_DIFFERENCES = frozenset({"sub", "rsub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "eq", "dist"})
_ELEMENTWISE = _DIFFERENCES | frozenset(
    {"add", "mul", "div", "true_divide", "pow", "maximum", "minimum", "lerp", "where"}
    | {"binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "poisson_nll_loss", "kl_div"}
)
_SEPARABLE = frozenset({"mul", "rmul", "div", "rdiv", "true_divide"})
_TOTALS = frozenset({"sum", "mean"})
_COLUMN_MAKERS = frozenset({"unsqueeze", "reshape", "view", "getitem", "expand", "expand_dims"})
_GRAD = frozenset({"grad"})
_REDUCTIONS = frozenset(
    {"sum", "mean", "amax", "amin", "max", "min", "norm", "logsumexp", "prod", "nansum", "std", "var"}
)


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
    for row in few_of_each_line(flow, pairs):
        source = flow.events[row].source
        if source in reported or not _in_a_loss(flow, row):
            continue
        if _by_accident(flow, row, *pairs[row]):
            reported.add(source)
            yield _broadcast_case(flow, row, *pairs[row])


def _by_accident(flow: Flow, row: int, column: int, vector: int) -> bool:
    """Whether nothing shows that a call was to make a square of a column and a vector, or something that it was not."""
    if _is_a_target(flow, row) or _only_added_up(flow, row):
        return True
    return not _meant(flow, row, column) and not _meets_a_square(flow, row, column, vector)


def _squared(flow: Flow, row: int) -> tuple[int, int] | None:
    """Return (column, vector) of which a call made a square: shapes (N, 1) and (N,) with the same N > 1."""
    inputs = [_unexpanded(flow, one, row) for one in flow.inputs(row)[:2]]
    if len(inputs) < 2 or flow.events[row].operator not in _ELEMENTWISE:
        return None
    for column, vector in (inputs, inputs[::-1]):
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
    return event.operator not in _DIFFERENCES or flow.events[made].source == event.source


def _makes_column(flow: Flow, row: int) -> bool:
    """Whether a call is a view that gives its result the last dimension of one, which what it took had not."""
    given = flow.inputs(row)[:1]
    was_column = bool(given) and flow.facts(given[0]).shape[-1:] == (1,)
    return flow.events[row].op in _COLUMN_MAKERS and not was_column


def _only_added_up(flow: Flow, row: int) -> bool:
    """Whether nothing is done with the products or quotients of all pairs but to add them all up.

    That is the product of two sums, for which nobody makes a square.
    """
    if flow.events[row].operator not in _SEPARABLE:
        return False
    used = [call for out in flow.outputs(row) for call in flow.used_in.get(out, ()) if call > row]
    return bool(used) and all(
        flow.events[call].operator in _TOTALS and all(not flow.facts(out).shape for out in flow.outputs(call))
        for call in used
    )


def _is_a_target(flow: Flow, row: int) -> bool:
    """Whether what a broadcast added up without history is compared with a vector of predictions, number by number.

    Distances of pairs are differences themselves.
    """
    if flow.has_node(row) or flow.events[row].operator in _DIFFERENCES:
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
                if flow.events[call].operator in _DIFFERENCES and square[-1:] in others:
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
    """Whether a backward run went through a call, or started from what constants of the call entered."""
    if flow.has_node(row):
        return any(row in flow.reached_by(run).calls for run in flow.runs if run.begin > row)
    return row in flow.behind_losses.calls


def _broadcast_case(flow: Flow, row: int, column: int, vector: int) -> Case:
    """Return the case of one line."""
    event = flow.events[row]
    named = zip(event.data.get("inputs", ()), event.data.get("names", ()), strict=False)
    given = {_unexpanded(flow, tensor, row): name for tensor, name in named}
    first, second = (
        flow.name(one, event.source) if flow.spelling.has_name(one) else given.get(one) or ""
        for one in (column, vector)
    )
    ways = [_flattened(first)] * bool(first) + [f"{second}.unsqueeze(-1)"] * bool(second)
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


def _flattened(column: str) -> str:
    """Return what to write in place of a column that is to be a vector."""
    made = next((tail for tail in (".unsqueeze(1)", ".unsqueeze(-1)", "[:, None]") if column.endswith(tail)), None)
    return f"{column}.squeeze(-1)" if made is None else column.removesuffix(made)


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
    whole = name if asked or not _computes(name) else f"({name})"
    call = f"autograd.grad({name}, ...)" if asked else f"{whole}.backward()"
    return Case(
        kind="nonscalar-backward",
        message=f"{call}{at(line)} needs a scalar, but {name} has {shape}{_what_left(op, source)}.",
        remedy=f"torch.autograd.grad({name}.sum(), ...), or grad_outputs=torch.ones_like({name})"
        if asked
        else f"{whole}.mean().backward(), or {whole}.sum().backward()",
        source=line if asked and op not in _REDUCTIONS else source,
        op=op or "backward",
        subjects=frozenset({root} if root is not None else ()),
        explains_error=True,
    )


def _reduced(flow: Flow, root: int) -> int | None:
    """Return the named number that the program made of a root, and whose backward was meant."""
    rows = [row for row in flow.used_in.get(root, ()) if flow.events[row].op in _REDUCTIONS and flow.has_node(row)]
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
    if op in _REDUCTIONS:
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
        if flow.events[row].op in _REDUCTIONS and outputs and flow.facts(outputs[0]).shape == shape:
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
