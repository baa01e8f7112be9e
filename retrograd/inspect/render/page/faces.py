"""Sizes of the page's cards, large enough for the text that the page writes on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ...fold import Folded
from ...layout import Size
from ...layout.text_size import text_width
from ...progress import followed
from .. import labels
from ..titles import writes_in_place
from .groups import Groups

_TITLE, _LINE = 13.0, 11.0
_PAD = 22.0
_GAP = 12.0
_NARROW, _WIDE = 70.0, 250.0
_TALL, _LOW, _ROW, _PLACE = 46.0, 28.0, 16.0, 15.0
_MOST_ROWS = 6
"""Parameters that a card lists; for more, its last row counts the rest."""
_GROUP_TALL = 54.0


def atom_sizes(folded: Folded, groups: Groups, notes: Mapping[int, Size] | None = None) -> list[Size]:
    """Return the size of every atom's card: title and module, name with shape and dtype, place, a row per parameter.

    ``notes`` is the room that what findings say of a node takes.
    """
    known: dict[tuple[str, str, str, str], Size] = {}
    sizes = []
    for atom, words in followed(enumerate(_words(folded, groups))):
        size = known.get(words)
        if size is None:
            size = known[words] = _card(*words)
        sizes.append(_with_rows(size, folded, atom) if atom in folded.rows else size)
    for node, (wide, high) in (notes or {}).items():
        atom = folded.atom_of[node]
        size = sizes[atom]
        sizes[atom] = Size(math.ceil(min(max(size.width, wide + _PAD), _WIDE)), size.height + high)
    return sizes


def _words(folded: Folded, groups: Groups) -> Iterator[tuple[str, str, str, str]]:
    """Yield title, module, line and place in the program of every card."""
    snapshot = folded.original
    around = [_last(path.partition("#")[0]) for path in groups.paths]
    root_names = dict(zip(snapshot.roots, snapshot.root_names, strict=False))
    for atom, node in enumerate(folded.heads):
        name = snapshot.name[node]
        tensor = labels.tensor_text(snapshot.shape[node], snapshot.dtype[node])
        if snapshot.kind[node] == "leaf" and name:
            yield name + (folded.use_text(atom) if node in folded.copies else ""), "", tensor, ""
        else:
            said = root_names.get(node) or name or ""
            module = _last(labels.clean(snapshot.scope[node]))
            module = "" if module == around[groups.of_atom[atom]] else module
            title = snapshot.call[node] or labels.short_op(snapshot.op[node])
            place = labels.source_text(snapshot.source[node])
            tensor += " · in place" * writes_in_place(snapshot, node)
            yield title, module, f"{said}: {tensor}" if said else tensor, place


def _last(path: str) -> str:
    """Return the last part of a path; the box around a card says the rest."""
    return path.rpartition("/")[2]


def _card(title: str, module: str, line: str, place: str) -> Size:
    """Return the size of a card with these texts; the page shortens what is wider."""
    top = text_width(title[:200], _TITLE, bold=True)
    if module:
        top += _GAP + text_width(module[:200], _LINE)
    wide = max(top, text_width(line[:200], _LINE), text_width(place[:200], _LINE)) + _PAD
    tall = _LOW if not (line or place) else _TALL + (_PLACE if line and place else 0.0)
    return Size(math.ceil(min(max(wide, _NARROW), _WIDE)), tall)


def _with_rows(size: Size, folded: Folded, atom: int) -> Size:
    """Return the size of a card with rows for its leaves."""
    rows, snapshot = folded.rows[atom], folded.original
    wide = 0.0
    for row, leaf in enumerate(rows[:_MOST_ROWS]):
        text = f"{_short(snapshot.name[leaf] or '')} {labels.shape_text(snapshot.shape[leaf])}"[:200]
        wide = max(wide, text_width(text + folded.use_text(atom, row), _LINE) + _PAD + 14.0)
    return Size(math.ceil(min(max(size.width, wide), _WIDE)), size.height + _ROW * min(len(rows), _MOST_ROWS) + 4.0)


def _short(name: str) -> str:
    """Return the end of a parameter's name; the boxes around say the rest."""
    return name.rpartition(".")[2]


def group_sizes(groups: Groups) -> list[Size]:
    """Return the size of every box while it is closed."""
    widths = (text_width(name[:200], _TITLE, bold=True) + 60 for name in groups.names)
    return [Size(math.ceil(min(max(width, 225.0), _WIDE)), _GROUP_TALL) for width in widths]
