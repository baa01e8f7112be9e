"""Terms of a loss that lost their gradients on the way, while other terms still train the same parameters."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case
from ...meaning.detached_values import leaving_words, term_cut
from ...meaning.expected_gradients import expected_gradients
from ...recorded.flow import Flow
from ...recorded.ledger import last_before
from ...recorded.runs import Run
from ...words import at, listed
from .cut_words import NO_DERIVATIVE, cause_of, remedy_of, what_cut

_SUMS = frozenset({"add", "sub", "radd", "rsub"})
_SCALING = frozenset({"mul", "rmul", "div", "neg"})
"""Of one tensor only: its factor is a number."""
_NUMBERS = ((), (1,))


def lost_terms(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that ends the chain of a whole term, which adds to a loss but not to gradients.

    A mask or a factor may be a constant; what is added to a loss and is one trains nothing.
    """
    reported = set()
    wanted = expected_gradients(flow).keys() | flow.accumulated.keys()
    for run in flow.runs:
        if run.nested or run.error or run.inputs:
            continue
        for term, beside, row in _constants(flow, run):
            since = last_before(flow.ends_of_losses, run.begin)
            if _is_made_of(flow, term, beside, row):
                continue
            cut = _cut_of(flow, term, row, since, wanted)
            back = term_cut(flow, term, row, since, wanted) if cut is None else None
            found = back if cut is None else cut
            if found is not None and flow.events[found].source not in reported:
                reported.add(flow.events[found].source)
                yield _case(flow, term, found, run) if back is None else _back_case(flow, term, back, run)


def _constants(flow: Flow, run: Run) -> Iterator[tuple[int, int, int]]:
    """Yield (term, the other term, row of the sum) for each number without history in the sum a run starts from."""
    todo = [(root, run.begin) for root in run.roots]
    while todo:
        tensor, before = todo.pop()
        row = flow.last_producer(tensor, before, gradients=True)
        op, given = (flow.events[row].operator, flow.inputs(row)) if row is not None else ("", [])
        if row is None or flow.facts(tensor).shape not in _NUMBERS:
            continue
        if (op in _SUMS and len(given) == 2) or (op in _SCALING and len(given) == 1):
            known = [one for one in given if flow.has_history(one, row)]
            todo += [(one, row) for one in known]
            constant = [one for one in given if one not in known and not flow.requires_grad(one, row)]
            yield from ((one, other, row) for one in constant for other in known)


def _is_made_of(flow: Flow, term: int, beside: int, row: int) -> bool:
    """Whether a term is made of the one beside it: it replaces a value and leaves the gradient as it is on purpose."""
    made = flow.last_producer(beside, row, gradients=True)
    return made is None or made in flow.behind([term], row, gradients=False).calls


def _cut_of(flow: Flow, term: int, row: int, since: int, wanted: set[int]) -> int | None:
    """Return the call without derivative through which a term was computed in this step from what is trained."""
    for call in sorted(flow.behind([term], row, gradients=False).calls):
        event = flow.events[call]
        cuts = call > since and event.data.get("grad") and event.data.get("reason") in NO_DERIVATIVE
        if cuts and wanted & flow.leaves_behind(flow.behind(flow.inputs(call), call)):
            return call
    return None


def _back_case(flow: Flow, term: int, cut: int, run: Run) -> Case:
    """Return the case of a term whose values were computed outside of the graph."""
    event, cause, root = flow.events[cut], cause_of(flow, cut), flow.root_name(run)
    made = flow.last_producer(term, run.begin)
    source = None if made is None else flow.events[made].source
    taken = listed(flow.name(one, cause.line) for one in flow.inputs(cut))
    name = flow.name(term, source) if flow.spelling.has_name(term) else "a term"
    way = leaving_words(flow, cut)
    return Case(
        kind="broken-chain",
        message=f"{name}, added to {root}{at(source)}, changes its value but no gradient: {taken} left the graph by "
        f"{way}{at(cause.line)}, and what was computed of the plain values came back as a constant.",
        remedy=f"compute it with the engine's own functions: no {way} between {taken} and {root}",
        source=cause.line,
        op=event.op,
        severity="warning",
        evidence={"term": name, "reason": event.data.get("reason", "")},
    )


def _case(flow: Flow, term: int, cut: int, run: Run) -> Case:
    """Return the case of one term."""
    event, cause, root = flow.events[cut], cause_of(flow, cut), flow.root_name(run)
    made = flow.last_producer(term, run.begin)
    source = None if made is None else flow.events[made].source
    reason = event.data["reason"]
    return Case(
        kind="nondifferentiable",
        message=f"{flow.name(term, source)}, computed{at(source)} and added to {root}, changes its value but no "
        f"gradient: {what_cut(flow, cut, cause, root, reason)}.",
        remedy=remedy_of(flow, cut, reason, cause),
        source=cause.line,
        op=event.op,
        severity="warning",
        evidence={"term": flow.name(term, source), "reason": reason},
    )
