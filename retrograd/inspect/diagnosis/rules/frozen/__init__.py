"""Parameters whose ``requires_grad`` was switched off although their gradient is wanted."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from ....program.places import SourceLine
from ....recording.events import Event
from ...base import Case, Check, Kind, Stage
from ...facts.failures import run_without_graph
from ...facts.flow import Flow
from ...facts.runs import Run
from ...roles.trained import frozen_before, made_since, trained_then_frozen
from ...text.phrases import NO_GRAPH, NOT_REQUIRED
from ...text.spelling import variables_in
from ...text.words import at, counted, in_code, listed, named
from .in_optimizers import held_for_nothing

_SWITCH = "requires_grad"
_PART = "its optimizer still trains others, and freezing part of a network is usual"


def ineffective_switches(flow: Flow) -> Iterator[Case]:
    """Yield a case for each module or parameter on which a switch of ``requires_grad`` has no effect.

    A module has no ``requires_grad``, and no tensor has one that is spelled otherwise; Python keeps both as they are.
    """
    reported: set[int] = set()
    for _, event in flow.of_kind("stray"):
        value = bool(event.data.get("value"))
        used = [leaf for leaf in event.data.get("inputs", ()) if flow.used_in.get(leaf)]
        leaves = [leaf for leaf in used if _trains(flow, leaf) is not value]
        if leaves and not reported.issuperset(leaves):
            reported.update(leaves)
            yield _stray_case(flow, event, leaves, value=value)


def _trains(flow: Flow, leaf: int) -> bool:
    """Whether a leaf requires a gradient in the end."""
    return flow.requires_grad(leaf) and flow.switched_off(leaf) is None


def _stray_case(flow: Flow, event: Event, leaves: list[int], *, value: bool) -> Case:
    """Return the case of one attribute."""
    path, one = event.data.get("path", ""), len(leaves) == 1
    frozen = flow.frozen_at(leaves[0])
    names = named(flow, leaves)
    stay = f"stay{'s' if one else ''} frozen (requires_grad switched off{at(frozen)})"
    stay = stay if value else f"{'is' if one else 'are'} trained on"
    if event.op == _SWITCH:
        why = "a module has no such switch, and its parameters do not hear of it"
        remedy = f"call requires_grad_({value}) on the module, which switches all its parameters"
    else:
        why = f"the switch is called {_SWITCH}, and an attribute of another name is only kept"
        remedy = f"set .{_SWITCH} = {value}"
    return Case(
        kind="frozen-parameter",
        message=f"{names} {stay}: {event.op} = {value}{at(event.source)} on {path.replace('/', '.')} switches nothing; "
        f"{why}.",
        remedy=remedy,
        source=event.source or frozen,
        op=event.op,
        severity=None if value else "warning",
        subjects=frozenset(leaves),
        evidence={"frozen" if value else "trained": [flow.name(leaf) for leaf in leaves]},
    )


_NUMBERED = re.compile(r"(.*?)(\d+)\b")
"""A name up to its first number: ``encoder.layer.`` and ``10`` of ``encoder.layer.10.bias``."""


def caught_by_name(flow: Flow) -> Iterator[Case]:
    """Yield a case for each set of parameters whose names a condition caught, or missed, by accident as it seems."""
    yield from _caught_by_prefix(flow)
    yield from _caught_by_word(flow)
    yield from _spared_none(flow)


def _is_chosen(flow: Flow, source: SourceLine | None) -> bool:
    """Whether a line freezes selectively: under a condition, or by a computed ``requires_grad``."""
    if source is None:
        return False
    loop = flow.spelling.loop_around(source)
    begin, variables = (source.line, set[str]()) if loop is None else (loop[0].line, loop[1])
    trees = [one.tree for one in flow.spelling.statements(source) if one.first >= begin]
    asked = (_question(part) for tree in trees for part in ast.walk(tree))
    return any(not variables.isdisjoint(variables_in(question)) for question in asked if question is not None)


def _question(part: ast.AST) -> ast.expr | None:
    """Return the condition of a statement, or the value it assigns to ``requires_grad``."""
    match part:
        case ast.If(test=test):
            return test
        case ast.Assign(targets=[ast.Attribute(attr=attribute)], value=value) if attribute == _SWITCH:
            return value
        case ast.Call(func=ast.Attribute(attr=method), args=[value, *_]) if method == f"{_SWITCH}_":
            return value
    return None


def _caught_by_prefix(flow: Flow) -> Iterator[Case]:
    """Yield a case where ``layer.1`` was frozen and with it every ``layer.1?``, but none of those between."""
    for _, event in flow.of_kind("module"):
        by_stem: dict[str, dict[str, list[int]]] = {}
        for name, leaf in event.data.get("parameters", {}).items():
            if found := _NUMBERED.match(name):
                by_stem.setdefault(found[1], {}).setdefault(found[2], []).append(leaf)
        for stem, blocks in by_stem.items():
            off = {n for n, leaves in blocks.items() if all(flow.switched_off(leaf) is not None for leaf in leaves)}
            short = min(off, key=len, default="")
            caught = sorted(off - {short}, key=int)
            if not caught or off != {number for number in blocks if number.startswith(short)} or off == set(blocks):
                continue
            leaves = blocks[caught[0]]
            if _is_chosen(flow, flow.frozen_at(leaves[0])):
                alike = "begin alike, while others of their kind still train"
                yield _named_case(flow, stem + short, [stem + number for number in caught], leaves, alike)


def _named_case(flow: Flow, meant: str, caught: list[str], leaves: list[int], alike: str) -> Case:
    """Return the case of one set of names; the choice may be intended, so it is only a note."""
    source = flow.frozen_at(leaves[0])
    return Case(
        kind="frozen-parameter",
        message=f"requires_grad was switched off{at(source)} for {meant}, and for {listed(caught)} as well, whose "
        f"names only {alike}.",
        remedy=f'compare the name with its dot: name.startswith("{meant}.")',
        source=source,
        op="requires_grad_",
        severity="note",
        subjects=frozenset(leaves),
        evidence={"meant": meant, "caught": caught},
    )


def _caught_by_word(flow: Flow) -> Iterator[Case]:
    """Yield a case where ``encoder`` was frozen and ``image_encoder`` with it, which the optimizer has.

    Single layers, as all norms of a network, are frozen together on purpose; so this is about networks alone.  And so
    are several networks of one sort, or one with its moving average.
    """
    held = flow.optimized
    for _, event in flow.of_kind("module"):
        by_line: dict[SourceLine, dict[str, list[int]]] = {}
        for name, leaf in event.data.get("parameters", {}).items():
            network = _network_of(name)
            if network and (source := flow.frozen_at(leaf)) is not None:
                by_line.setdefault(source, {}).setdefault(network, []).append(leaf)
        for source, networks in by_line.items():
            meant, caught = _one_within_another(sorted(networks, key=len))
            leaves = networks.get(caught, [])
            apart = bool(leaves) and held.keys() >= set(leaves) and not any(_follows(flow, leaf) for leaf in leaves)
            if apart and _is_chosen(flow, source):
                yield _named_case(flow, meant, [caught], leaves, "contain that word; the optimizer has them, too")


def _network_of(name: str) -> str:
    """Return the part of a model that a parameter belongs to, if it is one of several layers."""
    first, *rest = name.split(".")
    return first if len(rest) > 1 else ""


def _one_within_another(names: list[str]) -> tuple[str, str]:
    """Return of two names the shorter and the longer, if the longer has the shorter as a word."""
    if len(names) != 2:
        return "", ""
    short, long = names
    return (short, long) if long.startswith(f"{short}_") or long.endswith(f"_{short}") else ("", "")


def _follows(flow: Flow, leaf: int) -> bool:
    """Whether a leaf is given the values of another tensor, as those of a network that follows one which is trained."""
    written = (flow.inputs(row) for row in flow.writes_into(leaf))
    return any(flow.facts(given).storage != flow.facts(leaf).storage for inputs in written for given in inputs)


def _spared_none(flow: Flow) -> Iterator[Case]:
    """Yield a case for each module that one line froze whole, though its condition is to spare some names.

    An optimizer has all of it.
    """
    for _, event in flow.of_kind("module"):
        parameters = event.data.get("parameters", {})
        leaves = list(parameters.values())
        lines = {flow.frozen_at(leaf) for leaf in leaves}
        held = flow.optimized.keys() >= set(leaves) and any(flow.used_in.get(leaf) for leaf in leaves)
        source = lines.pop() if len(lines) == 1 and held and len(leaves) > 1 else None
        if source is not None and _is_chosen(flow, source):
            yield _whole_case(flow, event.data.get("name", ""), leaves, source)


def _whole_case(flow: Flow, module: str, leaves: list[int], source: SourceLine) -> Case:
    """Return the case of one module."""
    names = named(flow, leaves)
    return Case(
        kind="frozen-parameter",
        message=f"requires_grad was switched off{at(source)} for all {counted(len(leaves), 'parameter')} of {module} "
        f"({names}): no name is spared by the condition there, yet the optimizer has them.",
        remedy=f"compare with names that {module}.named_parameters() gives",
        source=source,
        op="requires_grad_",
        severity="warning",
        subjects=frozenset(leaves),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )


KINDS = {
    "frozen-parameter": Kind(
        "`requires_grad` was switched off, or never on, or only seems so", "error", Stage.STATEMENT
    )
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that froze what a program continues to train."""
    failed = run_without_graph(flow)
    frozen = _behind(flow, failed) if failed is not None else _frozen_amid_training(flow)
    by_line: dict[SourceLine | None, list[int]] = {}
    for leaf, row in frozen.items():
        by_line.setdefault(flow.events[row].source, []).append(leaf)
    for source, leaves in by_line.items():
        case = _case(flow, leaves, source, failed)
        yield replace(case, against=_PART) if failed is None and _others_go_on(flow, leaves) else case
    if failed is not None and not frozen and NO_GRAPH in flow.error_text:
        yield from _never_on(flow, failed)
    yield from _requested_but_frozen(flow)
    yield from held_for_nothing(flow)
    yield from caught_by_name(flow)
    yield from ineffective_switches(flow)


CHECK = Check("chain", KINDS, find)


def _behind(flow: Flow, run: Run) -> dict[int, int]:
    """Return the frozen tensors behind a loss that has no graph, each with the row that froze it."""
    trained = trained_then_frozen(flow, run)
    if trained:
        return trained
    tensors = flow.values_behind(run).tensors
    if any(flow.requires_grad(tensor, run.begin) for tensor in tensors):
        return {}
    return frozen_before(flow, sorted(tensors), run.begin)


def _never_on(flow: Flow, run: Run) -> Iterator[Case]:
    """Yield the case of a loss of nothing but tensors that were made without ``requires_grad``."""
    behind = flow.values_behind(run)
    if any(flow.requires_grad(tensor, run.begin) for tensor in behind.tensors):
        return
    floating = (one for one in sorted(behind.tensors) if flow.facts(one).floating)
    leaves = [one for one in floating if not any(flow.inputs(row) for row in flow.made_in.get(one, ()))]
    trained = [one for one in leaves if one in flow.optimized]  # what an optimizer has is to be trained, data are not
    shown = trained or [one for one in leaves if flow.spelling.has_name(one)] or leaves
    if not shown:
        return
    names, root = named(flow, shown), flow.root_name(run)
    alone = len(shown) == 1 and flow.spelling.has_name(shown[0])
    remedy = f"{in_code(names)}.requires_grad_(True)" if alone else "requires_grad_(True) of what is to be trained,"
    yield Case(
        kind="frozen-parameter",
        message=f"nothing that {root} depends on requires grad: {names} {'was' if len(shown) == 1 else 'were'} made "
        f"without requires_grad=True{at(flow.facts(shown[0]).source)}, so backward(){at(run.source)} has no graph.",
        remedy=f"{remedy} before the forward pass",
        source=flow.facts(shown[0]).source,
        op="requires_grad_",
        subjects=frozenset(shown),
        explains_error=True,
        evidence={"frozen": [flow.name(one) for one in shown]},
    )


def _frozen_amid_training(flow: Flow) -> dict[int, int]:
    """Return the tensors that were trained, then frozen, and whose optimizer went on without a gradient for them.

    Other networks train on while one is frozen, as a critic is for the generator's step: only its own steps count.
    """
    found: dict[int, int] = {}
    held = flow.optimized
    last_run = flow.runs[-1].begin if flow.runs else -1
    for leaf, arrivals in flow.accumulated.items():
        row = flow.switched_off(leaf)
        following = None if row is None else flow.run_after(row)
        if row is not None and following is not None and arrivals[0] < row and _goes_on(flow, leaf, following.begin):
            found[leaf] = row
    never = [leaf for leaf in held if leaf not in flow.accumulated]
    idle = bool(held) and len(never) == len(held) and last_run > 0  # the optimizer has nothing at all to do
    if idle and not made_since(flow, flow.accumulated.keys() - held.keys(), min(held.values())):
        found |= frozen_before(flow, never, last_run)
    return found


def _goes_on(flow: Flow, leaf: int, begin: int) -> bool:
    """Whether a leaf's optimizer, after a row, steps or clears twice without a gradient that arrived in between."""
    arrivals = flow.accumulated[leaf]
    for action in ("step", "zero_grad"):
        uses = flow.leaf_events.get((leaf, action), [])
        vain = (bisect_left(arrivals, last) == bisect_left(arrivals, use) for last, use in pairwise([-1, *uses]))
        if any(nothing and use > begin for use, nothing in zip(uses, vain, strict=True)):
            return True
    return False


def _others_go_on(flow: Flow, leaves: list[int]) -> bool:
    """Whether a module with frozen leaves continues to train others: freezing part of a network is usual."""
    row = flow.switched_off(leaves[0]) or 0
    beside = {leaf for one in flow.ledger.optimizers.values() if leaves[0] in one.leaves for leaf in one.leaves}
    return any(flow.accumulated[leaf][-1] > row for leaf in (beside - set(leaves)) & flow.accumulated.keys())


def _case(flow: Flow, leaves: list[int], source: SourceLine | None, failed: Run | None) -> Case:
    """Return the case of one line that froze."""
    names = listed((flow.name(leaf) for leaf in leaves), most=8)
    root = flow.root_name(failed)
    freezing = f"requires_grad was switched off{at(source)} for {counted(len(leaves), 'parameter')}: {names}"
    if failed is not None:
        message = f"nothing that {root} depends on requires grad: {freezing}, which is every one behind {root}."
    else:
        message = f"{freezing}; the optimizer steps on, but they get no gradient."
    return Case(
        kind="frozen-parameter",
        message=message,
        remedy="freeze only what is meant (compare whole names or prefixes with their dot), or switch it on again: "
        "p.requires_grad_(True)",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        explains_error=failed is not None and bool(failed.error),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )


def _requested_but_frozen(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that left ``autograd.grad`` nothing to ask for: the tensor does not require grad.

    Only if that ended the program: who catches the refusal only tried.
    """
    failed = flow.runs[-1] if flow.runs and NOT_REQUIRED in flow.error_text else None
    if failed is None or NOT_REQUIRED not in failed.error:
        return
    by_line: dict[tuple[SourceLine | None, bool], list[int]] = {}
    for leaf in failed.inputs:
        if flow.is_leaf(leaf) and not flow.requires_grad(leaf, failed.begin):
            switched = flow.switched_off(leaf) is not None
            source = flow.frozen_at(leaf) if switched else flow.facts(leaf).source
            by_line.setdefault((source, switched), []).append(leaf)
    for (source, switched), leaves in by_line.items():
        yield _asked_case(flow, leaves, source, failed, switched=switched)


def _asked_case(flow: Flow, leaves: list[int], source: SourceLine | None, failed: Run, *, switched: bool) -> Case:
    """Return the case of one line that made leaves without ``requires_grad``, or switched it off."""
    names, one = named(flow, leaves), len(leaves) == 1
    done = "requires_grad was switched off" if switched else "made without requires_grad=True"
    return Case(
        kind="frozen-parameter",
        message=f"{names} {'does' if one else 'do'} not require grad ({done}{at(source)}), so autograd.grad"
        f"{at(failed.source)} cannot give {'its' if one else 'their'} gradient.",
        remedy=f"{in_code(flow.name(leaves[0]))}.requires_grad_(True) before the forward pass",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        explains_error=True,
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )
