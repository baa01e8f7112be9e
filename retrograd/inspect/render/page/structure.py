"""One graph as the page reads it: columns of its nodes and edges, its boxes, and all positions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...fold import Folded, Opening, View, expand, first_opening, fold, view
from ...graphs.graph import FORWARD_ONLY, INPUT, Graph
from ...layout import Size, nested
from ...layout.text_size import text_width
from ...program.places import SourceLine
from ...progress import followed
from .. import labels
from ..base import RenderOptions
from ..card_words import without_module
from ..titles import writes_in_place
from .groups import Groups, groups_of
from .interiors import Interiors, Ints, interiors_of, shapes
from .links import LINK_COLUMNS, Links, links_of
from .packing import Packing, table

# Sizes of the page's cards, large enough for the text that the page writes on them.

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
        if snapshot.kind[node] in labels.NAMED and name:
            place = labels.source_text(snapshot.source[node]) if snapshot.kind[node] == INPUT else ""
            yield name + (folded.use_text(atom) if node in folded.copies else ""), "", tensor, place
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
        name = without_module(labels.clean(snapshot.name[leaf] or ""), labels.clean(snapshot.scope[folded.heads[atom]]))
        text = f"{name} {labels.shape_text(snapshot.shape[leaf])}"[:200]
        wide = max(wide, text_width(text + folded.use_text(atom, row), _LINE) + _PAD + 14.0)
    return Size(math.ceil(min(max(size.width, wide), _WIDE)), size.height + _ROW * min(len(rows), _MOST_ROWS) + 4.0)


def group_sizes(groups: Groups) -> list[Size]:
    """Return the size of every box while it is closed."""
    widths = (text_width(name[:200], _TITLE, bold=True) + 60 for name in groups.names)
    return [
        Size(math.ceil(min(max(width, 225.0), _WIDE)), _GROUP_TALL + _PLACE * bool(lines))
        for width, lines in zip(widths, groups.lines, strict=True)
    ]


_SIGHT = Size(2080.0, 1570.0)
"""What a page shows at once with titles that can be read (``TOLD_FROM`` in view.js), in a window of usual size."""
_MOST = 300
"""Cards of a first picture; a larger one is placed by the page itself."""
_LABEL_SIZE, _FRAME_SIZE = 9.5, 12.0
_BESIDE_TITLE, _PAGER, _TITLE_ROOM = 40.0, 132.0, 300.0
_NO_BOX = -1
"""Box of the links of pictures, which join cards in any box."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The places of all that is seen, in pixels of the sheet; cards are numbered as in ``Links``."""

    cards: list[int]
    frames: list[int]
    """Boxes that are drawn around others, outer ones first."""
    endings: list[float]
    """Per frame where the class in its title stands, 0 right behind the name."""
    layout: nested.NestedLayout
    links: Links
    pieces: Ints
    points: Ints

    def places(self, first: int) -> dict[str, Any]:
        """Return as JSON values cards and frames with their places, and which links are its own from ``first`` on."""
        spots = [*self.layout.boxes, *((*f, end) for f, end in zip(self.layout.frames[1:], self.endings, strict=True))]
        return {
            "cards": self.cards,
            "frames": self.frames,
            "spots": [[round(number) for number in spot] for spot in spots],
            "sheet": [round(self.layout.width), round(self.layout.height)],
            "links": len(self.links.box),
            "first": first,
        }


def first_pictures(
    folded: Folded, groups: Groups, chosen: Opening, sizes: list[Size], cuts: dict[int, str]
) -> dict[str, Picture]:
    """Return the pictures of gradients and of values (``backward``, ``forward``), none for a graph that is too large.

    ``sizes`` are those of the cards of all atoms and then of all boxes, closed; ``cuts`` are words for edges.
    """
    seen = view(folded, chosen.opened, chosen.unrolled, cuts)
    scopes = [box.scope for box in seen.boxes if box.scope >= 0] + [frame.scope for frame in seen.frames]
    if len(seen.boxes) > _MOST or any(groups.own(folded, scope) < 0 for scope in scopes):
        return {}
    ways = {"backward": seen, "forward": seen.turned()}
    return {name: _picture(way, groups, sizes, cuts) for name, way in ways.items()}


def _picture(seen: View, groups: Groups, sizes: list[Size], cuts: dict[int, str]) -> Picture:
    """Lay out one view."""
    folded = seen.folded
    cards = [box.begin if box.scope < 0 else len(folded) + groups.of_scope[box.scope] for box in seen.boxes]
    cut = [cuts.get(folded.first_edges[edge], "") for edge in seen.edges]
    pairs = zip(cut, seen.edges, seen.counts, strict=True)
    last, original = folded.last_edges, folded.original
    words = [word or labels.edge_text(original, last[edge], count, together=True) for word, edge, count in pairs]
    frames = [groups.of_scope[frame.scope] for frame in seen.frames[1:]]
    titles = [_frame_title(groups.names[box], _PAGER * (groups.repeats[box] > 1)) for box in frames]
    widths = [text_width(word, _LABEL_SIZE) for word in words]
    layout = nested.layout(
        seen,
        [sizes[card] for card in cards],
        widths,
        [nested.Title(0.0), *titles],
        [bool(word) for word in cut],
        sight=_SIGHT,
    )
    numbers = np.asarray(cards, dtype=np.int64)
    columns = [np.asarray(column, dtype=np.int64) for column in (seen.sources, seen.targets, seen.edges, seen.counts)]
    links = Links(np.full(len(words), _NO_BOX), numbers[columns[0]], numbers[columns[1]], *columns[2:])
    apart = zip(layout.endings[1:] or [0.0] * len(titles), titles, strict=True)
    endings = [end if end > title.name else 0.0 for end, title in apart]
    return Picture(cards, frames, endings, layout, links, *shapes(layout.edges))


def _frame_title(name: str, pager: float) -> nested.Title:
    """Return the room for the title of a frame: for its name, and for its class with what turns blocks."""
    own, _, of = name.partition(": ")
    first, second = (
        min(text_width(part[:200], _FRAME_SIZE, bold=True), _TITLE_ROOM) + _BESIDE_TITLE for part in (own, of)
    )
    return nested.Title(first, (second if of else 0.0) + pager)


def structure_data(
    snapshot: Graph, options: RenderOptions, packing: Packing, cuts: dict[int, str], notes: dict[int, Size]
) -> dict[str, Any]:
    """Return everything that steps with the same graph share.

    ``cuts`` are the edges that no gradient takes, ``notes`` the room for what findings say of nodes.
    """
    return {
        "engine": safe(snapshot.engine),
        "op": table(packing, snapshot.op, safe),
        "kind": table(packing, snapshot.kind, safe),
        "call": table(packing, snapshot.call, safe),
        "name": table(packing, snapshot.name, _or_nothing),
        "scope": table(packing, snapshot.scope, safe),
        "shape": table(packing, snapshot.shape, labels.shape_text),
        "dtype": table(packing, snapshot.dtype, _or_nothing),
        "source": table(packing, snapshot.source, _place),
        "saved": packing.numbers(_known(snapshot.saved_bytes)),
        "seq": packing.numbers(_known(snapshot.seq)),
        "edges": {
            "source": packing.numbers(snapshot.edge_source),
            "target": packing.numbers(snapshot.edge_target),
            "input": packing.numbers(snapshot.edge_input_nr),
            "output": packing.numbers(snapshot.edge_output_nr),
        },
        "cuts": [[edge, safe(words)] for edge, words in cuts.items()],
        "roots": [[node, safe(name or "")] for node, name in zip(snapshot.roots, snapshot.root_names, strict=False)],
        "valuesOnly": snapshot.label == FORWARD_ONLY,  # nothing was differentiated
        "forward": any(snapshot.call),  # whether forward was recorded, so that cards can be read that way
        **_drawing_data(_folded(snapshot, options), options, packing, cuts, notes),
    }


def _folded(snapshot: Graph, options: RenderOptions) -> Folded:
    """Fold a graph by the steps that were asked for."""
    return fold(snapshot) if options.fold is None else fold(snapshot, options.fold)


def _drawing_data(
    folded: Folded, options: RenderOptions, packing: Packing, cuts: dict[int, str], notes: dict[int, Size]
) -> dict[str, Any]:
    """Return atoms, boxes, cards and links.  Packed columns lie in the file in the order in which they are made."""
    groups = groups_of(folded)
    chosen = first_opening(folded, options.max_boxes)
    expand(folded, chosen, options.expand)
    links = links_of(folded, groups, cuts)
    sizes = [*atom_sizes(folded, groups, notes), *group_sizes(groups)]
    interiors = interiors_of(folded, groups, links, sizes)
    pictures = first_pictures(folded, groups, chosen, sizes, cuts)
    return {
        "atoms": _atoms_data(folded, packing),
        "boxes": _boxes_data(groups, interiors, groups.opened(folded, chosen), packing),
        "cards": {name: packing.numbers(getattr(interiors, name)) for name in ("x", "y", "width", "height")},
        "links": _links_data(links, interiors, pictures, folded.last_edges, packing),
        "drawn": _drawn_data(pictures, len(links.box)),
    }


def _drawn_data(pictures: dict[str, Picture], links: int) -> dict[str, Any]:
    """Return the places of both pictures; their links follow the ``links`` of all boxes."""
    found = {}
    for direction, picture in pictures.items():
        found[direction] = picture.places(links)
        links += len(picture.links.box)
    return found


def _atoms_data(folded: Folded, packing: Packing) -> dict[str, Any]:
    """Return the node that every atom shows, the atom of every node, the leaves in rows of cards, and their uses.

    A leaf that is drawn more than once has a list of its places, each an atom and a row (-1 for the atom itself).
    """
    return {
        "head": packing.numbers(folded.heads),
        "ofNode": packing.numbers(folded.atom_of),
        "rows": [[atom, *leaves] for atom, leaves in sorted(folded.rows.items())],
        "uses": list(folded.places().values()),
    }


def _boxes_data(groups: Groups, interiors: Interiors, opened: dict[str, list[int]], packing: Packing) -> dict[str, Any]:
    """Return names and nesting of the boxes, which are open at first, and the room inside each."""
    return {
        "name": groups.names,
        "path": groups.paths,
        "lines": groups.lines,
        "modules": groups.modules,
        "repeats": {box: count for box, count in enumerate(groups.repeats) if count > 1},
        "parent": groups.parents,
        "ofAtom": packing.numbers(groups.of_atom),
        **opened,
        "innerWidth": packing.numbers(interiors.inner_width),
        "innerHeight": packing.numbers(interiors.inner_height),
        "entry": packing.numbers(interiors.entry),
        "exit": packing.numbers(interiors.exit),
    }


def _links_data(
    links: Links, interiors: Interiors, pictures: dict[str, Picture], last_edges: list[int], packing: Packing
) -> dict[str, Any]:
    """Return what each link joins, in which box, the edges it represents, and its curve; then those of pictures."""
    rows = [links, *(picture.links for picture in pictures.values())]
    columns = {name: np.concatenate([getattr(part, name) for part in rows]) for name in LINK_COLUMNS}
    columns["edge"] = np.asarray(last_edges, dtype=np.int64)[columns["edge"]]
    for name in ("pieces", "points"):
        columns[name] = np.concatenate([getattr(part, name) for part in (interiors, *pictures.values())])
    return {name: packing.numbers(column) for name, column in columns.items()}


def safe(value: str) -> str:
    """Return a string that UTF-8 can carry: lone surrogates (file names of unknown encoding) replaced."""
    return value.encode("utf-8", "replace").decode("utf-8")


def _or_nothing(value: str | None) -> str:
    return safe(value or "")


def _place(source: SourceLine | None) -> list[str | int] | None:
    """Return a line of the user's program as JSON values."""
    return [safe(source.file), source.line, safe(source.function)] if source else None


def _known(values: list[int | None]) -> list[int]:
    """Return numbers with -1 for what is not known."""
    return [-1 if value is None else value for value in values]
