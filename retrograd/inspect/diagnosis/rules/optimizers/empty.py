"""Optimizers that hold nothing, empty groups, or parameters twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from ....program.places import SourceLine
from ...base import Case
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.ledger import Optimizer
from ...roles.trained import creation_row, without_use
from ...text.generators import is_generator, mentions, reads_to_end, value_given
from ...text.spelling import called, is_name
from ...text.words import at, counted, listed, named, place
from .forgotten_networks import feeds, loaded, used_as_they_are
from .misgiven import misgiven_case, take_turns

# Optimizers that were refused because they were given no parameters.


def empty_case(flow: Flow) -> Case:
    """Return the case of an optimizer that was given nothing: most often a generator that had been read to its end."""
    source = flow.error.source if flow.error else None
    kind, cause, why, remedy = _read_before(flow, source) or _all_frozen(flow) or _unknown(flow, source)
    return Case(
        kind=kind,
        message=f"the optimizer{at(source)} gets an empty parameter list: {why}.",
        remedy=remedy,
        source=cause,
        op="Optimizer",
        explains_error=True,
    )


_Cause = tuple[str, SourceLine | None, str, str]
"""Kind, line of the cause, what is wrong there, and the fix."""


def _given(flow: Flow, source: SourceLine | None) -> str:
    """Return a line's argument for an optimizer's parameters, if that is a name."""
    statement = flow.spelling.statement(source)
    for call in ast.walk(statement) if statement else ():
        if isinstance(call, ast.Call) and called(call)[:1].isupper():
            given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "params")]
            if given and is_name(text := ast.unparse(given[0])):
                return text
    return ""


def _read_before(flow: Flow, source: SourceLine | None) -> _Cause | None:
    """Return the cause if the argument is a generator that was exhausted before, as far as the lines show."""
    name = _given(flow, source)
    generator, made, used = _generator(flow, name, source)
    if generator is None:
        return None
    why = f"{name}{at(made)} is a generator, which can be read only once"
    why += f", and {place(used)} had read it to its end" if used is not None else ""
    return "optimizer-mismatch", used or source, why, f"{name} = list({ast.unparse(generator)})"


def _all_frozen(flow: Flow) -> _Cause | None:
    """Return the cause if leaves were frozen, so that a filter for ``requires_grad`` may have left none."""
    frozen = [leaf for leaf in range(len(flow.tensors)) if flow.switched_off(leaf) is not None]
    if not frozen:
        return None
    line = flow.frozen_at(frozen[0])
    why = f"requires_grad was switched off{at(line)} for {counted(len(frozen), 'parameter')}"
    return "frozen-parameter", line, why, "switch on what is to be trained: p.requires_grad_(True)"


def _unknown(flow: Flow, source: SourceLine | None) -> _Cause:
    """Return the most likely cause if nothing shows it."""
    given = _given(flow, source) or "what it is given"
    why = f"{given} yields nothing; a generator that was read before has nothing left"
    return "optimizer-mismatch", source, why, "give it list(model.parameters())"


def _generator(
    flow: Flow, name: str, source: SourceLine | None
) -> tuple[ast.expr | None, SourceLine | None, SourceLine | None]:
    """Return the generator assigned to a name above a line, where it is made, and what first exhausts it.

    As far as the text above that line was kept.
    """
    generator: ast.expr | None = None
    made: SourceLine | None = None
    used: SourceLine | None = None
    for one in flow.spelling.statements(source) if source and name else ():
        if source is None or one.last >= source.line:
            break
        here = SourceLine(source.file, one.first, source.function)
        value = value_given(one.tree, name)
        anew = value is not None and not mentions(value, name)
        if anew or (value is not None and used is None):  # else it is what the first reader left of the old value
            generator, made, used = (value, here, None) if is_generator(value) else (None, None, None)
        if generator is not None and (anew or value is None) and reads_to_end(one.tree, name):
            used = used or here
    return generator, made, used


# Groups of optimizers into which a condition let nothing, while something gets gradients that nobody uses.


def empty_groups(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer with an empty group that steps, while other leaves are trained by nothing."""
    left = None
    for optimizer in flow.ledger.optimizers.values():
        if optimizer.steps and (empty := _empty(optimizer)):
            left = without_use(flow) if left is None else left
            often = sorted(leaf for leaf in left if len(flow.accumulated[leaf]) > 1)
            if often:
                yield _case(flow, optimizer, empty, often)


def _empty(optimizer: Optimizer) -> list[int]:
    """Return the numbers of the groups that had nothing when the optimizer last stepped."""
    event = optimizer.steps[-1].event
    held = {int(place.partition(".")[0]) for place in event.data.get("parameters", {})}
    return [group for group in range(len(event.data.get("settings", ()))) if group not in held]


def _case(flow: Flow, optimizer: Optimizer, empty: list[int], leaves: list[int]) -> Case:
    """Return the case of one optimizer."""
    names, groups = named(flow, leaves), len(optimizer.steps[-1].event.data["settings"])
    which = "all" if len(empty) == groups else listed(f"number {group}" for group in empty)
    return Case(
        kind="optimizer-mismatch",
        message=f"of the {counted(groups, 'group')} of the optimizer made{at(optimizer.event.source)}, {which} "
        f"{'are' if len(empty) > 1 else 'is'} empty: no parameter fits the condition that fills them, and {names} get "
        "gradients that no optimizer uses.",
        remedy="compare the condition with the names that named_parameters() gives for this very model: wrappers put a "
        "prefix before them",
        source=optimizer.event.source,
        op=optimizer.event.data.get("type", ""),
        subjects=frozenset(leaves),
        evidence={"empty": empty, "missing": [flow.name(leaf) for leaf in leaves]},
    )


# Two optimizers that move the same tensors in turn, beside tensors that get gradients of their own and have none.


def twin_optimizers(flow: Flow, untrained: set[int]) -> Case | None:
    """Return the case of an optimizer that got another one's parameters instead of untrained ones.

    These are leaves that were not loaded, gets gradients in every step, and does not only judge what the held
    tensors give, or feed them.
    """
    often = {leaf for leaf in untrained - used_as_they_are(flow) if len(flow.accumulated[leaf]) > 1}
    often = {leaf for leaf in often if not loaded(flow, leaf)}
    pair = _pair(flow) if often else None
    held = set() if pair is None else held_by(flow.events[pair[0]])
    if pair is None or not _has_a_loss(flow, often, held):
        return None
    came_first = creation_row(flow, min(often)) < creation_row(flow, min(held))  # optimizers are made in that order
    return _twins_case(flow, sorted(often), *(pair if came_first else pair[::-1]))


def _pair(flow: Flow) -> tuple[int, int] | None:
    """Return the events that made two optimizers with the same tensors which step in turn."""
    turns = [flow.events[row].data.get("owner") for row in flow.optimizer_steps]
    for (row, one), (twin, other) in combinations(flow.of_kind("optimizer", action="made"), 2):
        same = held_by(one) and held_by(one) == held_by(other)
        if same and take_turns(turns, one.data.get("owner"), other.data.get("owner")):
            return row, twin
    return None


def _has_a_loss(flow: Flow, leaves: set[int], held: set[int]) -> bool:
    """Whether gradients for leaves come from a separate loss: of passes for them alone, or not through what is held."""
    reached = (flow.arrivals_in(run).keys() for run in flow.runs if run.accumulates)
    alone = sum(bool(got) and got <= leaves for got in reached) > 1
    return alone or not (feeds(flow, held, leaves) or feeds(flow, leaves, held))


def _twins_case(flow: Flow, missing: list[int], made: int, twin: int) -> Case:
    """Return the case of an optimizer that steps, besides another one, on that one's parameters."""
    optimizer, names = flow.events[made], named(flow, missing)
    held = named(flow, sorted(held_by(optimizer)))
    them = "it" if len(missing) == 1 else "them"
    message = (
        f"the optimizer made{at(optimizer.source)} was given the tensors that the one made"
        f"{at(flow.events[twin].source)} has ({held}), and both step; {names} get gradients in every step, and no "
        f"optimizer has {them}."
    )
    return misgiven_case(
        flow, missing, optimizer, message, f"give the optimizer the parameters that nothing trains: {names}"
    )
