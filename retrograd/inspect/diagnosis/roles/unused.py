"""Explanations for a leaf without gradient: a package made it, a line or a block skipped it, a name was copied."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from ...program.places import SourceLine
from ..facts.answers import answered_once
from ..facts.calls import held_by
from ..facts.flow import Flow
from ..facts.runs import Run
from ..text.spelling import drops, returns, statement, variables_in


def made_by_a_package(flow: Flow, leaves: Iterable[int]) -> bool:
    """Whether a package made all of these leaves, so that no line of the user's could use or leave out one of them."""
    lines = [flow.facts(leaf).source for leaf in leaves]
    return all(line is not None and line.inside for line in lines)


def left_out_by_a_package(flow: Flow, leaves: Sequence[int]) -> bool:
    """Whether a package made these leaves together with others that get gradients: it is its forward that has no use.

    What the user's lines had it make for itself, they were to use.
    """
    made = _way_to(flow, leaves[0])
    return made_by_a_package(flow, leaves) and any(_way_to(flow, leaf) == made for leaf in flow.got_gradient)


def _way_to(flow: Flow, leaf: int) -> list[tuple[str, int]]:
    """Return the places in the user's files that led to a leaf, whatever a package did then."""
    return [(line.file, line.line) for line in lines_to(flow, leaf)]


def calls_once(text: str) -> bool:
    """Whether what a line assigns is what one call gives, as it is: no part of it, and nothing made of it."""
    node = statement(text)
    value = node.value if isinstance(node, ast.Assign) else None
    return isinstance(value, ast.Call) and sum(isinstance(part, ast.Call) for part in ast.walk(value)) == 1


def dropped_at(flow: Flow, row: int) -> SourceLine | None:
    """Return the line that calls for the result of a call, handed up as it is, and does nothing with it."""
    lines = flow.lines(row)
    for line in lines[1:] if returns(flow.spelling.text(lines[0])) else ():
        text = flow.spelling.text(line)
        if not returns(text):
            return line if drops(text) else None
    return None


def goes_on(flow: Flow, row: int) -> bool:
    """Whether a call's result is written into another leaf, like a mean of weights."""
    given = {event.data.get("given") for _, event in flow.of_kind("leaf", change="written")} - {None}
    return bool(given) and not given.isdisjoint(flow.descendants(flow.outputs(row), row).tensors)


Stack = tuple[SourceLine, ...]
"""The user's lines that led to a call, innermost first."""


@dataclass(frozen=True, slots=True)
class Others:
    """Uses of the leaves that were made by the same lines as an unused one."""

    line: SourceLine
    """The head of the loop over them, or the statement that uses all of them."""
    loop: bool


@dataclass(frozen=True, slots=True)
class _Taken:
    """A call that takes one of the others."""

    leaf: int
    row: int
    stack: Stack


def others_of(flow: Flow, leaves: Sequence[int]) -> Others | None:
    """Return the uses of the other leaves, if the same line uses each of them."""
    made: dict[Stack, list[int]] = {}
    for one in sorted(flow.got_gradient):
        made.setdefault(_made_by(flow, one), []).append(one)
    found = [_taken(flow, made.get(stack, []) if (stack := _made_by(flow, leaf)) else []) for leaf in leaves]
    if not found or any(len(taken) < 2 for taken in found):
        return None
    shared = [line for line in found[0][0].stack if all(line in one.stack for taken in found for one in taken)]
    for line in shared:
        loop = _loop_over(flow, line, [one for taken in found for one in taken])
        if loop is not None:
            return Others(loop, loop=True)
    return Others(shared[0], loop=False) if shared else None


def _made_by(flow: Flow, leaf: int) -> Stack:
    """Return the lines on the stack when a leaf was initialised; none for other tensors."""
    rows = [row for made in flow.producing(leaf) for row in made[:1]]
    return tuple(flow.lines(min(rows))) if rows and flow.trainable([leaf]) else ()


def _taken(flow: Flow, others: list[int]) -> list[_Taken]:
    """Return one line's call for each of the leaves made by the same lines; none if no line uses them all."""
    calls = [
        {tuple(flow.lines(row)): row for row in reversed(flow.used_in.get(one, ())) if flow.has_node(row)}
        for one in others
    ]
    shared = set(calls[0]).intersection(*calls) if calls else set()
    if not shared:
        return []
    first = min(shared, key=lambda stack: calls[0][stack])
    return [_Taken(one, rows[first], first) for one, rows in zip(others, calls, strict=True)]


def _loop_over(flow: Flow, line: SourceLine, taken: list[_Taken]) -> SourceLine | None:
    """Return the head of the loop whose variable selects what a line uses, which may be the line itself."""
    tree = flow.spelling.statement(line)
    if tree is None:
        return None
    if any(isinstance(part, ast.comprehension) for part in ast.walk(tree)):
        return line
    called = {name for part in ast.walk(tree) if isinstance(part, ast.Call) for name in variables_in(part.func)}
    head = flow.spelling.loop_around(line)
    return head[0] if head is not None and head[1] & {*called, *_picking(flow, line, taken)} else None


def _picking(flow: Flow, line: SourceLine, taken: list[_Taken]) -> Iterator[str]:
    """Yield the variables by which a line spells the leaves that it takes: ``k`` of ``experts[k]``."""
    for one in taken:
        if flow.events[one.row].source == line:
            yield from variables_in(flow.written_names(one.row).get(one.leaf, ""))


@dataclass(frozen=True, slots=True)
class Block:
    """A module within another, made by several lines."""

    name: str
    leaves: tuple[int, ...]
    source: SourceLine | None
    """The line that made it, or else its first parameter."""


def unused_blocks(flow: Flow, unused: Set[int]) -> Iterator[Block]:
    """Yield the outermost blocks that hold only leaves of ``unused``, if more than one line made these."""
    taken: set[int] = set()
    for _, event in flow.of_kind("module"):
        parameters = event.data.get("parameters", {})
        for path, leaves in _outermost(parameters, unused):
            if not taken.isdisjoint(leaves) or len({flow.facts(leaf).source for leaf in leaves}) == 1:
                continue
            taken.update(leaves)
            yield Block(_full_name(flow, path, parameters, leaves[0]), leaves, _made_at(flow, leaves, held_by(event)))


def _outermost(parameters: Mapping[str, int], unused: Set[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the shortest paths below which all leaves are in ``unused``."""
    below: dict[str, list[int]] = {}
    for name, leaf in parameters.items():
        parts = name.split(".")
        for depth in range(1, len(parts)):
            below.setdefault(".".join(parts[:depth]), []).append(leaf)
    whole = {path for path, leaves in below.items() if unused >= set(leaves)}
    for path in below:
        if path in whole and path.rpartition(".")[0] not in whole:
            yield path, tuple(below[path])


def _full_name(flow: Flow, path: str, parameters: Mapping[str, int], leaf: int) -> str:
    """Return a block's path, with the name of the module around it where its parameters are called so."""
    own = next(name for name, one in parameters.items() if one == leaf and name.startswith(f"{path}."))
    shown = flow.name(leaf)
    return shown.removesuffix(own) + path if shown.endswith(own) else path


def _made_at(flow: Flow, leaves: tuple[int, ...], held: Set[int]) -> SourceLine | None:
    """Return the innermost line on the path to every parameter of a block, but not to all that the module holds."""
    within = [lines_to(flow, leaf) for leaf in leaves]
    for line in within[0]:
        if all(line in lines for lines in within) and any(line not in lines_to(flow, leaf) for leaf in held):
            return line
    return flow.facts(leaves[0]).source


def lines_to(flow: Flow, leaf: int) -> list[SourceLine]:
    """Return the lines on the stack when a parameter got its first values, innermost first."""
    stacks = (flow.lines(row) for rows in flow.producing(leaf) for row in rows[:1])
    return max(stacks, key=len, default=[])


def used_in_a_case(flow: Flow, leaf: int) -> SourceLine | None:
    """Return the line that takes a leaf or its module in a case that did not occur, if the program has such a line."""
    made = flow.facts(leaf).source
    paths = [name.split(".") for name in (flow.name(leaf), *flow.spelling.names(leaf))]
    names = {part for path in paths for part in path[1:] if not part.isdigit()}
    for one in flow.spelling.kept_statements(made.file) if made is not None else ():
        line = SourceLine(made.file, one.first, made.function) if made is not None else None
        taken = [part for part in ast.walk(one.tree) if _takes_attribute(part, names)]
        if line is None or not taken or isinstance(one.tree, ast.If):
            continue
        choices = [part for part in ast.walk(one.tree) if isinstance(part, ast.IfExp)]
        chosen = {id(part) for choice in choices for way in (choice.body, choice.orelse) for part in ast.walk(way)}
        missed = (line.file, line.line) not in lines_that_ran(flow) and flow.spelling.in_a_case(line)
        if missed or any(id(part) in chosen for part in taken):
            return line
    return None


@answered_once
def lines_that_ran(flow: Flow) -> set[tuple[str, int]]:
    """Return file and line of all that is known to have run."""
    stacks = {tuple(flow.lines(row)) for row in range(len(flow.events))}
    return {(line.file, line.line) for stack in stacks for line in stack}


def _takes_attribute(part: ast.AST, names: Set[str]) -> bool:
    return isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load) and part.attr in names


class Again(NamedTuple):
    """What is used twice, and where."""

    leaf: int
    first: SourceLine
    line: SourceLine


def used_again(flow: Flow, leaf: int, run: Run | None) -> Again | None:
    """Return the one parameter like an unused one, of the same module, that a run's graph takes at two lines."""
    calls = flow.reached_by(run).calls if run is not None else set()
    found = []
    for one in _same_shape(flow, leaf):
        rows = sorted(calls.intersection(flow.used_in.get(one, ())))
        lines = list(dict.fromkeys(source for row in rows if (source := flow.events[row].source) is not None))
        if len(lines) > 1 and lines[0].function == lines[-1].function:
            found.append(Again(one, lines[0], lines[-1]))
    return found[0] if len(found) == 1 else None


def _same_shape(flow: Flow, leaf: int) -> list[int]:
    """Return other parameters with the shape of a leaf: of its module, or like ``fc1.weight``."""
    found: list[int] = []
    for _, event in flow.of_kind("module"):
        named = event.data.get("parameters", {})
        names = [name for name, one in named.items() if one == leaf]
        for name, one in named.items() if names else ():
            parts, own = name.split("."), names[0].split(".")
            beside = parts[:-2] == own[:-2] and parts[-1] == own[-1] and len(parts) == len(own)
            beside = beside or parts[:-1] == own[:-1]
            if one != leaf and beside and flow.facts(one).shape == flow.facts(leaf).shape:
                found.append(one)
    return found
