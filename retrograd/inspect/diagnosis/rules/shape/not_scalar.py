"""Backward passes that failed because their root is not a scalar."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import prod

from ....operators import Trait, is_a
from ....program.places import SourceLine
from ....program.syntax import parsed_expression
from ...base import Case
from ...facts.flow import Flow
from ...text.phrases import NOT_SCALAR
from ...text.spelling import argument, receiver
from ...text.words import at, shape_text


def in_brackets(name: str) -> str:
    """Return an expression with brackets around it, if it needs them before a method."""
    computes = isinstance(parsed_expression(name), ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp)
    return f"({name})" if computes else name


@dataclass(frozen=True, slots=True)
class _Refused:
    """A backward pass that did not start because its root is not a scalar."""

    line: SourceLine | None
    asked: bool
    """Whether ``autograd.grad`` asked for gradients, rather than ``backward`` being called."""
    spelled: str
    """The root as the line writes it, or nothing."""
    root: int | None

    def root_name(self, flow: Flow) -> str:
        """Return the name of the root, or else its spelling in the line."""
        if self.root is not None and flow.spelling.has_name(self.root):
            return flow.name(self.root, self.line)
        return self.spelled or ("outputs" if self.asked else "loss")


def _refused(flow: Flow) -> _Refused:
    """Return the failed pass, as far as the recording or the line of the error shows it."""
    failed = next((run for run in flow.runs if NOT_SCALAR in run.error), None)
    line = failed.source if failed else flow.error.source if flow.error else None
    text = flow.spelling.text(line)
    asked = not failed.accumulates if failed else bool(argument(text, "grad".__eq__))
    spelled = argument(text, "grad".__eq__) if asked else receiver(text, "backward")
    root = failed.roots[0] if failed and failed.roots else _named(flow, spelled)
    return _Refused(line, asked, spelled, _last_result(flow) if root is None else root)


def given_up(flow: Flow) -> bool:
    """Whether a vector was rejected, the program continued, and nothing got the gradients of what was to be trained.

    Who has other gradients, and no optimizer, tried whether the vector is refused.
    """
    refused = {run.source for run in flow.runs if NOT_SCALAR in run.error}
    well = {run.source for run in flow.runs if not run.error}
    return bool(refused) and (not well or bool(flow.rows.get("optimizer") and refused - well))


def not_scalar_case(flow: Flow) -> Case:
    """Return the case of a loss that is not a scalar."""
    refused = _refused(flow)
    line, root, asked, name = refused.line, refused.root, refused.asked, refused.root_name(flow)
    if root is not None and not asked and (number := _reduced(flow, root)) is not None:
        return _vector_in_place(flow, refused, root, number)
    row = _last_reduction(flow, root) if root is not None else None
    op, source = (flow.events[row].op, flow.events[row].source) if row is not None else ("", line)
    shape = f"shape {shape_text(flow.facts(root).shape)}" if root is not None else "more than one entry"
    whole = name if asked else in_brackets(name)
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
    """Return the result of the last recorded call, if it has several entries and nothing used it."""
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
