"""One drawn graph as the page reads it: columns of its nodes and edges, its boxes, and where everything stands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...fold import Folded, expand, first_opening, fold
from ...layout import Size
from ...snapshot import GraphSnapshot, SourceLine
from .. import labels
from ..base import RenderOptions
from .faces import atom_sizes, group_sizes
from .groups import Groups, groups_of
from .interiors import Interiors, interiors_of
from .links import LINK_COLUMNS, Links, links_of
from .packing import Packing, table
from .pictures import Picture, first_pictures


def structure_data(
    snapshot: GraphSnapshot, options: RenderOptions, packing: Packing, cuts: dict[int, str], notes: dict[int, Size]
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
        "forward": any(snapshot.call),  # whether forward was recorded, so that cards can be read that way
        **_drawing_data(_folded(snapshot, options), options, packing, cuts, notes),
    }


def _folded(snapshot: GraphSnapshot, options: RenderOptions) -> Folded:
    """Fold a graph by the steps that were asked for."""
    return fold(snapshot) if options.fold is None else fold(snapshot, options.fold)


def _drawing_data(
    folded: Folded, options: RenderOptions, packing: Packing, cuts: dict[int, str], notes: dict[int, Size]
) -> dict[str, Any]:
    """Return atoms, boxes, cards and links.  Packed columns lie in the file in the order in which they are made."""
    groups = groups_of(folded)
    chosen = first_opening(folded, options.max_boxes)
    expand(folded, chosen, options.expand)
    links = links_of(folded, groups)
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
    """Return which node every atom shows, which atom every node stands on, the leaves in rows of cards, and their uses.

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
    """Return what each link joins in which box, the edges that it stands for, and its curve; then those of pictures."""
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
