"""Networks and single parameters that feed what an optimizer trains, begin at random, and are in no optimizer.

A network between what is trained and the loss may judge it, as a critic does, and is never to be trained then.  One
that comes before has gradients computed in every step for nothing, unless it was forgotten; what was loaded, or is
in ``eval()``, is used as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....operators import Trait, is_a
from ....recording.events import Event
from ...base import Case
from ...facts.call_inputs import draws_numbers
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.steps import optimizers_served
from ...roles.trained import is_born_parameter
from ...text.words import at, named


def forgotten(flow: Flow, missing: list[int], held: set[int]) -> Case | None:
    """Return the case of leaves with gradients in step after step that nothing trains, loads or freezes."""
    often = {leaf for leaf in missing if len(flow.accumulated[leaf]) > 1}
    networks = (*_networks(flow, often, held), _lone(flow, often, held), _begun_equal(flow, often, held))
    leaves = {leaf for one in networks for leaf in one}
    return _case(flow, sorted(leaves)) if leaves else None


def used_as_they_are(flow: Flow) -> set[int]:
    """Return the parameters of networks that were in ``eval()`` at their first call, or that something filled."""
    found: set[int] = set()
    for _, event in flow.of_kind("module"):
        own = held_by(event)
        if not event.data.get("training", True) or any(loaded(flow, leaf) for leaf in own):
            found |= own
    return found


def _networks(flow: Flow, leaves: set[int], held: set[int]) -> list[list[int]]:
    """Return the leaves of each network that is in training mode, began at random, and feeds what is held."""
    found, settled = [], used_as_they_are(flow)
    for _, event in flow.of_kind("module"):
        own = held_by(event)
        if not own & leaves or own & (held | settled) or not any(_drawn(flow, leaf) for leaf in own):
            continue
        if feeds(flow, own & leaves, held) and not feeds(flow, held, own & leaves):
            found.append(sorted(own & leaves))
    return found


def _lone(flow: Flow, leaves: set[int], held: set[int]) -> list[int]:
    """Return parameters outside any module that occur in one network with trained ones."""
    own = set().union(*(held_by(event) for _, event in flow.of_kind("module")))
    beside = held - own
    lone = [leaf for leaf in leaves - own if not loaded(flow, leaf)]
    return [leaf for leaf in lone if flow.facts(leaf).parameter or _is_switched_on(flow, leaf, beside)]


def _begun_equal(flow: Flow, leaves: set[int], held: set[int]) -> list[int]:
    """Return the program's own parameters that began as constants, in modules that have no others.

    As the weights of a loss.  A judge has weights that were drawn or loaded; what only a constant fills has nothing
    to say until it is trained.
    """
    others, settled = set[int](), used_as_they_are(flow)
    for _, event in flow.of_kind("module"):
        own = held_by(event)
        if own & (held | settled) or any(_drawn(flow, leaf) for leaf in own):
            others |= own
    named = set().union(*(held_by(event) for _, event in flow.of_kind("module")))
    lines = {leaf: flow.facts(leaf).source for leaf in leaves & named - others}
    return [leaf for leaf, line in lines.items() if line is not None and not line.inside and flow.facts(leaf).parameter]


def _is_switched_on(flow: Flow, leaf: int, beside: set[int]) -> bool:
    """Whether the program made a leaf require gradients that is used before or after what is trained."""
    switched = (leaf, "requires_grad") in flow.leaf_events or is_born_parameter(flow, leaf)
    return bool(beside) and switched and (feeds(flow, {leaf}, beside) or feeds(flow, beside, {leaf}))


def _filled(flow: Flow, leaf: int) -> list[Event]:
    """Return the calls that made a leaf or wrote into it."""
    return [flow.events[row] for rows in flow.producing(leaf) for row in rows]


def _drawn(flow: Flow, leaf: int) -> bool:
    """Whether a leaf was filled with random numbers."""
    return any(draws_numbers(event) for event in _filled(flow, leaf))


def loaded(flow: Flow, leaf: int) -> bool:
    """Whether the values of a leaf came from elsewhere: a state that was loaded, another network, a file."""
    copied = any(event.kind == "inplace" and is_a(event.op, Trait.COPY) for event in _filled(flow, leaf))
    return copied or ((leaf, "written") in flow.leaf_events and not _drawn(flow, leaf))


def feeds(flow: Flow, leaves: set[int], held: set[int]) -> bool:
    """Whether results computed with the first leaves are used in calls of a graph that use the others."""
    calls = flow.descendants(leaves, follow=flow.has_node).calls
    return any(row in calls for leaf in held for row in _uses(flow, leaf))


def _uses(flow: Flow, leaf: int) -> Iterator[int]:
    """Yield the calls of a graph that take a leaf, or the leaf transposed."""
    for row in flow.used_in.get(leaf, ()):
        if flow.has_node(row):
            yield row
            if set(flow.inputs(row)) == {leaf}:
                yield from (later for made in flow.outputs(row) for later in flow.used_in.get(made, ()))


def _case(flow: Flow, leaves: list[int]) -> Case:
    """Return the case of parameters missing from an optimizer."""
    names, them = named(flow, leaves), "it" if len(leaves) == 1 else "them"
    verb = "gets a gradient" if len(leaves) == 1 else "get gradients"
    made = next(iter(sorted(row for leaf, row in optimizers_served(flow).items() if leaf in leaves)), None)
    source = None if made is None else flow.events[made].source
    return Case(
        kind="optimizer-mismatch",
        severity="warning",
        message=f"{names} {verb} in every step, but no optimizer has {them}, and nothing loads or freezes {them}: the "
        f"optimizer made{at(source)}, whose steps these gradients are for, was not given {them}.",
        remedy=f"give {them} to the optimizer as well; what is to stay as it is: .requires_grad_(False)",
        source=source,
        op="Optimizer" if made is None else flow.events[made].data.get("type", ""),
        subjects=frozenset(leaves),
        evidence={"missing": [flow.name(leaf) for leaf in leaves], "stale": []},
    )
