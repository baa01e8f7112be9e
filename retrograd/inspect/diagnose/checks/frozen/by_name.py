"""Parameters that were frozen because their name looks like that of what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....snapshot import SourceLine
from ...base import Case
from ...recorded.flow import Flow
from ...statements.fragments import Fragment
from ...statements.name_questions import ask_for_text, is_loop_over_names, spares_by_name, word_asked_for
from ...words import at, counted, listed

_NUMBERED = re.compile(r"(.*?)(\d+)\b")
"""A name up to its first number: ``encoder.layer.`` and ``10`` of ``encoder.layer.10.bias``."""
_ABOVE = 3
"""Statements above the one that freezes among which its condition is looked for."""


def caught_by_name(flow: Flow) -> Iterator[Case]:
    """Yield a case for each set of names that a filter caught by accident."""
    yield from _caught_by_prefix(flow)
    yield from _caught_by_word(flow)
    yield from _spared_none(flow)


def _caught_by_prefix(flow: Flow) -> Iterator[Case]:
    """Yield a case where ``layer.1`` was frozen and with it ``layer.10``, but none of those between."""
    for _, event in flow.of_kind("module"):
        by_stem: dict[str, dict[str, list[int]]] = {}
        for name, leaf in event.data.get("parameters", {}).items():
            if found := _NUMBERED.match(name):
                by_stem.setdefault(found[1], {}).setdefault(found[2], []).append(leaf)
        for stem, blocks in by_stem.items():
            off = {n for n, leaves in blocks.items() if all(flow.switched_off(leaf) is not None for leaf in leaves)}
            short = min(off, key=len, default="")
            caught = sorted(off - {short}, key=int)
            if not caught or len(off) == len(blocks) or not all(number.startswith(short) for number in caught):
                continue
            if _asks_for_text(flow, blocks[caught[0]][0]):
                names = [stem + number for number in caught]
                alike = "begin alike, while others of their kind still train"
                yield _case(flow, stem + short, names, blocks[caught[0]], alike)


def _asks_for_text(flow: Flow, leaf: int) -> bool:
    """Whether the statements that froze a leaf look for a text in names, as far as they are known."""
    known = _statements(flow, flow.frozen_at(leaf))
    return not known or ask_for_text(known)


def _statements(flow: Flow, source: SourceLine | None) -> list[Fragment]:
    """Return the statement that freezes and those above it, upwards to the loop over names; none where unknown."""
    found = flow.spelling.statements(source)[: -_ABOVE - 2 : -1]
    loop = next((place for place, one in enumerate(found) if is_loop_over_names(one.tree)), _ABOVE)
    return found[: loop + 1]


def _case(flow: Flow, meant: str, caught: list[str], leaves: list[int], alike: str) -> Case:
    """Return the case of one set of names."""
    source = flow.frozen_at(leaves[0])
    return Case(
        kind="frozen-parameter",
        message=f"requires_grad was switched off{at(source)} for {meant}, and for {listed(caught)} as well, whose "
        f"names only {alike}.",
        remedy=f'compare the name with its dot: name.startswith("{meant}.")',
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        evidence={"meant": meant, "caught": caught},
    )


def _caught_by_word(flow: Flow) -> Iterator[Case]:
    """Yield a case where ``encoder`` was frozen by name and ``image_encoder`` with it, which the optimizer has.

    Single layers, as all norms of a network, are frozen together on purpose; so this is about networks alone.  And so
    are several networks of one sort, or one with its moving average.
    """
    held = flow.optimized
    for _, event in flow.of_kind("module"):
        by_line: dict[SourceLine, dict[str, int]] = {}
        for name, leaf in event.data.get("parameters", {}).items():
            if (source := flow.frozen_at(leaf)) is not None:
                by_line.setdefault(source, {})[name] = leaf
        for source, frozen in by_line.items():
            word = word_asked_for(_statements(flow, source))
            meant, caught = _networks(frozen, word)
            caught = {path: own for path, own in caught.items() if not any(_follows(flow, leaf) for leaf in own)}
            leaves = [leaf for leaves in caught.values() for leaf in leaves]
            if meant and len(caught) == 1 and held.keys() >= set(leaves):
                yield _case(flow, meant, sorted(caught), leaves, "contain that word; the optimizer has them, too")


def _follows(flow: Flow, leaf: int) -> bool:
    """Whether a leaf is given the values of another tensor, as those of a network that follows one which is trained."""
    written = (flow.inputs(row) for row in flow.writes_into(leaf))
    return any(flow.facts(given).storage != flow.facts(leaf).storage for inputs in written for given in inputs)


def _networks(frozen: dict[str, int], word: str) -> tuple[str, dict[str, list[int]]]:
    """Return the path of the one network that a word names, and leaves of those beside it that only contain it."""
    networks: dict[str, list[int]] = {}
    for name, leaf in frozen.items():
        parts = name.split(".")
        place = next((place for place, part in enumerate(parts) if word and word in part), len(parts))
        if place + 2 < len(parts):  # a layer and its parameter follow
            networks.setdefault(".".join(parts[: place + 1]), []).append(leaf)
    exact = [path for path in networks if path.rpartition(".")[2] == word]
    if len(exact) != 1:
        return "", {}
    above = exact[0].removesuffix(word)
    joined = re.compile(rf"{re.escape(above)}(?:(\w+)_{word}|{word}_(\w+))")
    alike = {path: found for path in networks if (found := joined.fullmatch(path))}
    return exact[0], {path: networks[path] for path in alike}


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
        if source is not None and spares_by_name(_statements(flow, source)):
            yield _whole_case(flow, event.data.get("name", ""), leaves, source)


def _whole_case(flow: Flow, module: str, leaves: list[int], source: SourceLine) -> Case:
    """Return the case of one module."""
    names = listed(flow.name(leaf) for leaf in leaves)
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
