"""The text of a node's card and of an edge, the same in every rendering."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..graphs.graph import IDLE, INPUT, Graph
from ..program.places import SourceLine, inside_words, short_place
from ..recording.saved_tensors import SavedTensor

_SUFFIX = re.compile(r"(?<=.)Backward\d*$")
# What XML 1.0 forbids, plus the invisible characters that reorder or break a line of text.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]+")
_TIMES = "×"
NAMED = ("leaf", INPUT, IDLE)
"""Kinds of nodes that are called by their own names, not by an operator's."""


@dataclass(frozen=True, slots=True)
class NodeText:
    """The text for a node in drawings, without control characters; an unknown part is ``""``."""

    title: str
    """The headline: ``weight`` for a named leaf, else what was called, or the short operator name ``Mul``."""
    op: str
    """Node name as the engine spells it: ``MulBackward0``."""
    name: str
    scope: str
    tensor: str
    """``32×64 float32``."""
    source: str
    """``train.py:12``."""

    def lines(self) -> list[str]:
        """Return the lines that are not empty: engine's name, variable name, scope, tensor, source."""
        return [text for text in (self.op, self.name, self.scope, self.tensor, self.source) if text]


def node_text(snapshot: Graph, node: int) -> NodeText:
    """Return the words for one node."""
    op = clean(snapshot.op[node])
    name = clean(snapshot.name[node] or "")
    leaf = snapshot.kind[node] in NAMED
    return NodeText(
        title=name if leaf and name else clean(snapshot.call[node]) or short_op(op),
        op=op,
        name=name,
        scope=clean(snapshot.scope[node]),
        tensor=tensor_text(snapshot.shape[node], snapshot.dtype[node]),
        source=source_text(snapshot.source[node]),
    )


def node_id(node: int) -> str:
    """Return a node's name in every output: ``n12``."""
    return f"n{node}"


@functools.lru_cache(maxsize=4096)
def short_op(op: str) -> str:
    """Return an operator's name without the ending that all share: ``MulBackward0`` -> ``Mul``."""
    return _SUFFIX.sub("", op)


@functools.lru_cache(maxsize=4096)
def shape_text(shape: tuple[int, ...] | None) -> str:
    """Return ``32×64``; ``scalar`` for no dimensions and ``""`` when unknown."""
    if shape is None:
        return ""
    return _TIMES.join(map(str, shape)) if shape else "scalar"


@functools.lru_cache(maxsize=4096)
def tensor_text(shape: tuple[int, ...] | None, dtype: str | None) -> str:
    """Return shape and dtype as on a card: ``32×64 float32``."""
    return f"{shape_text(shape)} {clean(dtype or '')}".strip()


def source_text(source: SourceLine | None) -> str:
    """Return ``train.py:12`` (the file's last part; the whole path belongs in tooltips), or ``""``."""
    return "" if source is None else _one_line(short_place(source.file, source.line) + inside_words(source.inside))


def lines_text(sources: Iterable[SourceLine | None]) -> str:
    """Return ``train.py:12–15`` for the lines of one file, or ``""`` for those of several."""
    known = {source[:2] for source in sources if source is not None}
    if not known or len({file for file, _ in known}) > 1:
        return ""
    (file, first), (_, last) = min(known), max(known)
    return _one_line(short_place(file, first) + f"–{last}" * (last > first))


def bytes_text(count: int | None) -> str:
    """Return a size for people: ``64 B``, ``1.5 kB``, ``2.0 MB`` (powers of 1,000); ``""`` when unknown."""
    if count is None:
        return ""
    if count < 1000:
        return f"{count} B"
    size, units = count / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}"


def range_text(saved: SavedTensor) -> str:
    """Return the range of a saved tensor's values: ``-0.31 to 2.1``, or ``""`` where it was not taken."""
    if saved.low is None or saved.high is None:
        return ""
    return "with NaN" if math.isnan(saved.low) or math.isnan(saved.high) else f"{saved.low:.3g} to {saved.high:.3g}"


def time_text(microseconds: float) -> str:
    """Return a time for people, three digits that count: ``12.3 µs``, ``4.56 ms``, ``1.2 s``."""
    size, units = microseconds, ["µs", "ms", "s"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.3g} {units[0]}" if size < 999.5 else f"{size:,.0f} {units[0]}"


def headline(snapshot: Graph, title: str = "") -> str:
    """Return the caption of a drawing: ``loss · backward 3 · 41 nodes · 47 edges · torch``."""
    names = ", ".join(clean(name) for name in snapshot.root_names if name)
    nodes, edges = len(snapshot), snapshot.edge_count
    counts = [f"{nodes:,} node{'s' * (nodes != 1)}", f"{edges:,} edge{'s' * (edges != 1)}"]
    return " · ".join(
        part for part in (clean(title), names, clean(snapshot.label), *counts, clean(snapshot.engine)) if part
    )


def edge_text(snapshot: Graph, edge: int, count: int = 1, *, together: bool = False) -> str:
    """Return an edge's label: which of several outputs it enters, the shape of the first, and how many it represents.

    For edges that are counted ``together`` and may enter different outputs, it is the shape of one of them.
    """
    name = "" if together and count > 1 else output_text(snapshot, edge)
    # The snapshot knows the shape of each node's first output only.
    shape = "" if snapshot.edge_output_nr[edge] else shape_text(snapshot.shape[snapshot.edge_target[edge]])
    return " ".join(part for part in (name, shape, f"(×{count})" if count > 1 else "") if part)


def output_text(snapshot: Graph, edge: int) -> str:
    """Return which of several outputs an edge enters, by the program's name for it or by number; "" for one alone."""
    target, number = snapshot.edge_target[edge], snapshot.edge_output_nr[edge]
    names = snapshot.name[target]
    known = clean(names).split(", ") if names and ", " in names and snapshot.kind[target] != "leaf" else []
    if number < len(known) and known[number] != "_":
        return known[number]
    return f"output {number}" if number or known else ""


@functools.lru_cache(maxsize=16384)
def clean(text: str) -> str:
    """Return ``text`` without control characters, so that it is one harmless line in any format."""
    return _CONTROL.sub(" ", text).strip()


_one_line = functools.lru_cache(maxsize=4096)(clean)
