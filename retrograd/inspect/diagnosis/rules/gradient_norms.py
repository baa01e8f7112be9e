"""Norms of parts of a gradient where a penalty wants that of the whole gradient of each example."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...operators import Trait
from ..base import Case, Check
from ..facts.flow import Flow
from ..facts.lines import few_of_each_line
from ..text.words import at, shape_text

_MEASURING = (Trait.EVEN, Trait.POWER, Trait.REDUCTION, Trait.ARRANGING)
"""Traits of operators that make a norm of a gradient."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that compares with a number more norms of a gradient than there are results it is of.

    As norms over channels alone: every pixel has one then.  A field has a result, and so a norm, at each point.
    """
    reported = set()
    rows = [row for row, event in flow.of_kind("operation") if flow.is_gradient(row) and event.data.get("outputs")]
    for row in few_of_each_line(flow, rows):
        results = _results(flow, row)
        found = None if results is None else _norms(flow, row, results)
        if found is not None and results is not None and flow.events[found].source not in reported:
            reported.add(flow.events[found].source)
            yield _case(flow, row, found, results)


CHECK = Check("contracts", {}, find)


def _results(flow: Flow, row: int) -> int | None:
    """Return the results of which a call took the gradient, before they were added up."""
    run = flow.last_begun(row)
    root = run.roots[0] if run is not None and len(run.roots) == 1 else None
    made = None if root is None or run is None else flow.last_producer(root, run.begin, gradients=True)
    if root is None or made is None or flow.facts(root).shape:
        return root
    total = flow.does(made, Trait.REDUCTION) and flow.does(made, Trait.LINEAR)
    return flow.inputs(made)[0] if total else None


def _norms(flow: Flow, row: int, results: int) -> int | None:
    """Return the call that reduced a gradient to norms, more of them than results, that are compared with a number."""
    for gradient in flow.outputs(row):
        shape, count = flow.facts(gradient).shape, prod(flow.facts(results).shape)
        if count < 2 or not shape or shape[0] != count or not flow.has_history(gradient):  # a result for each example
            continue
        after = flow.descendants([gradient], row, lambda call: flow.does(call, *_MEASURING)).calls
        after = after & flow.behind_losses.calls
        reduced = [call for call in sorted(after) if _is_norm(flow, call, row)]
        compared = [call for call in after if flow.does(call, Trait.ADDITION) and any(flow.numbers(call))]
        for norm in reduced:
            size = prod(flow.facts(flow.outputs(norm)[0]).shape)
            alike = any(prod(flow.facts(one).shape) == size for call in compared for one in flow.inputs(call))
            if size > count and alike:
                return norm
    return None


def _is_norm(flow: Flow, call: int, row: int) -> bool:
    """Whether a call adds up sizes of a gradient's entries: a norm, or the sum of squares."""
    if not flow.does(call, Trait.REDUCTION) or not flow.outputs(call):
        return False
    made = flow.last_producer(flow.inputs(call)[0], call)
    squared = made is not None and made > row and flow.does(made, Trait.EVEN, Trait.POWER, Trait.PRODUCT)
    return flow.does(call, Trait.EVEN) or (flow.does(call, Trait.LINEAR) and squared)


def _case(flow: Flow, row: int, norm: int, results: int) -> Case:
    """Return the case of one line."""
    event, taken = flow.events[norm], flow.events[row]
    gradient, made = flow.inputs(norm)[0], flow.outputs(norm)[0]
    shape, known = flow.facts(gradient).shape, flow.spelling.has_name(gradient)
    name = flow.name(gradient, event.source) if known else "gradient"
    count = prod(flow.facts(results).shape)
    return Case(
        kind="loss-contract",
        message=f"{event.op}{at(event.source)} makes {shape_text(flow.facts(made).shape)} of {name}, "
        f"{shape_text(shape)}: norms of parts of what is taken{at(taken.source)}, a gradient of {count} results, which "
        "has one norm for each of them, over all else.",
        remedy=f"{name}.flatten(1).norm(2, dim=1), which is one norm for each example",
        source=event.source,
        op=event.op,
        marks=flow.marks(flow.run_after(norm), [norm], "norms of parts"),
        evidence={"gradient": list(shape), "norms": list(flow.facts(made).shape), "results": count},
    )
