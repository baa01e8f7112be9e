"""One network under two names where a copy was meant: what should follow it slowly changes at once.

And parameters that are put away to come back to, but not copied: steps change what was put away as well.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ...program.syntax import parsed_expression
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..text.spelling import called
from ..text.words import at, counted, named, place

KINDS = {"missing-copy": Kind("a network and what is to be its copy are one", "error", Stage.STATEMENT)}


class _Pair(NamedTuple):
    """What a statement takes for two networks, by their names in the program."""

    copy: str
    original: str


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that updates what an optimizer trains by what it takes for another network.

    Both are the same tensors: it copies them onto themselves, or mixes them with themselves.
    """
    trained = {flow.facts(leaf).storage: leaf for leaf in flow.optimized if leaf in flow.accumulated}
    lines: dict[SourceLine, dict[int, int]] = {}
    for row, event in flow.of_kind("inplace"):
        target = flow.target(row)
        storage = None if target is None else flow.facts(target).storage
        if event.source is not None and storage is not None:
            lines.setdefault(event.source, {})[row] = trained.get(storage, -1)
    yield from _given_memory(flow, trained)
    for line, writes in lines.items():
        pair = None if -1 in writes.values() else _pair(flow, line, writes)
        if pair is not None:
            yield _case(flow, line, pair, sorted(set(writes.values())))
        elif (kept := _kept_alive(flow, [row for row, leaf in writes.items() if leaf >= 0])) is not None:
            yield _restored_case(flow, line, *kept, sorted(set(writes.values()) - {-1}))


CHECK = Check("unused", KINDS, find)


def _pair(flow: Flow, line: SourceLine, writes: dict[int, int]) -> _Pair | None:
    """Return the two networks that a line has names for if each of its writes finds them to be one."""
    statement = flow.spelling.statement(line)
    if statement is None:
        return None
    loaded = _loaded(statement)
    if loaded is not None:
        return loaded if all(_copies_itself(flow, row) for row in writes) else None
    names = [_names(flow, line, leaf) for leaf in dict.fromkeys(writes.values())]
    return _walked(flow, line, set.intersection(*names))


def _copies_itself(flow: Flow, row: int) -> bool:
    """Whether a call copies memory onto itself."""
    given = flow.inputs(row)
    return flow.does(row, Trait.WRITING) and len({flow.facts(one).storage for one in given}) == 1 < len(given)


def _kept_alive(flow: Flow, rows: list[int]) -> tuple[SourceLine, int] | None:
    """Return the line that stored what these calls copy onto itself, and how many steps changed it since."""
    lines, steps = set[SourceLine](), list[int]()
    for row in rows:
        target = flow.target(row)
        given = next((one for one in flow.inputs(row) if one != target), None)
        if target is None or given is None or not _copies_itself(flow, row):
            return None
        facts = flow.facts(given)
        if facts.made_by is None or facts.source is None or facts.source == flow.events[row].source:
            return None
        lines.add(facts.source)
        stepped = flow.leaf_events.get((flow.leaf_itself(target), "step"), [])
        steps.append(bisect_left(stepped, row) - bisect_left(stepped, facts.made_by))
    return (lines.pop(), max(steps)) if len(lines) == 1 and min(steps) > 0 else None


def _restored_case(flow: Flow, line: SourceLine, kept: SourceLine, steps: int, leaves: list[int]) -> Case:
    """Return the case of parameters that come back as they are."""
    names = named(flow, leaves)
    copied = "is copied onto itself" if len(leaves) == 1 else "are copied onto themselves"
    return Case(
        kind="missing-copy",
        message=f"{names} {copied}{at(line)}, which restores nothing: what was stored{at(kept)} is not a copy, it "
        f"shares their memory, and {counted(steps, 'step')} of the optimizer changed it as well since then.",
        remedy="store copies: copy.deepcopy(...) of the state, or .detach().clone() of each tensor",
        source=kept,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "steps": steps},
    )


def _given_memory(flow: Flow, trained: dict[int | None, int]) -> Iterator[Case]:
    """Yield a case for each line that gives leaves the memory of trained ones, into which the program writes then."""
    steps = {flow.events[row].source for row in flow.optimizer_steps}
    lines: dict[SourceLine | None, dict[int, tuple[int, SourceLine | None]]] = {}
    for row, event in flow.of_kind("leaf", change="written"):
        leaf, given = event.data.get("tensor", -1), event.data.get("given", -1)
        own = trained.get(flow.facts(given).storage) if given >= 0 else None
        if own is None or own == leaf or leaf in flow.optimized or leaf in flow.accumulated:
            continue
        rows = [*flow.writes_into(own), *flow.writes_into(leaf)]  # by the memory that it was made with
        writes = [flow.events[write].source for write in rows if write > row]
        if (written := next((line for line in writes if line not in steps), None)) is not None:
            lines.setdefault(event.source, {})[leaf] = own, written
    for line, found in lines.items():
        yield _given_memory_case(flow, line, found)


def _given_memory_case(flow: Flow, line: SourceLine | None, found: dict[int, tuple[int, SourceLine | None]]) -> Case:
    """Return the case of one line."""
    originals, written = [own for own, _ in found.values()], next(iter(found.values()))[1]
    return Case(
        kind="missing-copy",
        message=f"{named(flow, found)} {'has' if len(found) == 1 else 'have'} the memory of {named(flow, originals)} "
        f"since{at(line)}, and not a copy: every step of the optimizer changes both, and so does what is written"
        f"{at(written)}.",
        remedy="give a copy: p.data = q.data.clone(), or p.data.copy_(q.data)",
        source=line,
        subjects=frozenset(found),
        evidence={"leaves": [flow.name(leaf) for leaf in found]},
    )


def _names(flow: Flow, line: SourceLine, leaf: int) -> set[str]:
    """Return the names that calls from a line have for a leaf, or for what shares its memory."""
    storage, found = flow.facts(leaf).storage, set()
    for tensor in flow.sharing[storage] if storage is not None else ():
        for row in flow.used_in.get(tensor, ()):
            if flow.events[row].source == line and (name := flow.written_names(row).get(tensor)):
                found.add(_base(parsed_expression(name)))
    return found - {""}


def _base(tree: ast.expr | None) -> str:
    """Return the variable behind methods and aliases: ``t`` for ``t.data.mul_(0.9)``; "" for computations."""
    while isinstance(tree, ast.Call | ast.Attribute):
        if isinstance(tree, ast.Attribute):
            if not is_a(tree.attr, Trait.VIEW):
                break
            tree = tree.value
        elif isinstance(tree.func, ast.Attribute):
            tree = tree.func.value
        else:
            return ""
    return ast.unparse(tree) if isinstance(tree, ast.Name | ast.Attribute | ast.Subscript) else ""


def _loaded(statement: ast.stmt) -> _Pair | None:
    """Return the two of ``target.load_state_dict(online.state_dict())``."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=target, attr="load_state_dict"),
                args=[ast.Call(func=ast.Attribute(value=online, attr="state_dict")), *_],
            )
        ):
            pair = _Pair(ast.unparse(target), ast.unparse(online))
            return pair if pair.copy != pair.original else None
    return None


def _walked(flow: Flow, line: SourceLine, names: set[str]) -> _Pair | None:
    """Return what a loop iterates over side by side to get two names."""
    for one in reversed(flow.spelling.statements(line)):
        if isinstance(one.tree, ast.For) and isinstance(one.tree.iter, ast.Call):
            variables = [part.id for part in ast.walk(one.tree.target) if isinstance(part, ast.Name)]
            if not names.isdisjoint(variables):
                return _side_by_side(one.tree.iter, variables, names)
    return None


def _side_by_side(walked: ast.Call, variables: list[str], names: set[str]) -> _Pair | None:
    """Return the collections of ``zip``, or the one that a loop walks and the one whose entries have its keys."""
    if called(walked) == "zip" and len(walked.args) == len(variables) == 2 and names.issuperset(variables):
        pair = _Pair(*map(_base, walked.args))
    else:
        entries = [tree for name in names if isinstance(tree := parsed_expression(name), ast.Subscript)]
        keyed = [one for one in entries if isinstance(one.slice, ast.Name) and one.slice.id in variables]
        pair = _Pair(_base(walked), ast.unparse(keyed[0].value)) if len(keyed) == 1 else _Pair("", "")
    return pair if pair.copy and pair.original and pair.copy != pair.original else None


def _case(flow: Flow, line: SourceLine, pair: _Pair, leaves: list[int]) -> Case:
    """Return the case of one line."""
    source = _alias(flow, line, pair) or line
    names = named(flow, leaves)
    return Case(
        kind="missing-copy",
        message=f"{pair.copy} and {pair.original} share their parameters, neither has copies: {place(line)} copies "
        f"{counted(len(leaves), 'tensor')} ({names}) onto {'itself' if len(leaves) == 1 else 'themselves'}, and "
        f"{pair.copy} moves with every step of the optimizer.",
        remedy=f"{pair.copy} = copy.deepcopy({pair.original})",
        source=source,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves]},
    )


def _alias(flow: Flow, line: SourceLine, pair: _Pair) -> SourceLine | None:
    """Return the line of the same file that assigns one of the two names to the other, perhaps by a shallow copy."""
    for one in flow.spelling.kept_statements(line.file):
        if isinstance(one.tree, ast.Assign):
            value = one.tree.value
            if isinstance(value, ast.Call) and called(value) == "copy" and value.args:
                value = value.args[0]
            both = [ast.unparse(part).rpartition(".")[2] for part in (*one.tree.targets, value)]
            if sorted(both) == sorted(name.rpartition(".")[2] for name in pair):
                return SourceLine(line.file, one.first, line.function)
    return None
