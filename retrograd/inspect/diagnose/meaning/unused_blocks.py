"""Blocks of modules of which no parameter is used: a block is named once, not by each line that made a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from ...snapshot import SourceLine
from ..recorded.calls import held_by
from ..recorded.flow import Flow


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
    """Yield the shortest paths below which there is nothing but leaves of ``unused``."""
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
    """Return the innermost line on the way to every parameter of a block, but not to all that the module holds."""
    within = [_lines_to(flow, leaf) for leaf in leaves]
    for line in within[0]:
        if all(line in lines for lines in within) and any(line not in _lines_to(flow, leaf) for leaf in held):
            return line
    return flow.facts(leaves[0]).source


def _lines_to(flow: Flow, leaf: int) -> list[SourceLine]:
    """Return the lines on the stack when a parameter got its first values, innermost first."""
    stacks = (flow.lines(row) for rows in flow.producing(leaf) for row in rows[:1])
    return max(stacks, key=len, default=[])
