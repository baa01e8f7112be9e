"""What a page shows before anything is opened or closed: placed as the drawings place it, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...fold import Folded, Opening, View, view
from ...layout import Size, nested
from ...layout.text_size import text_width
from .groups import Groups
from .interiors import Ints, link_label, shapes
from .links import Links

_MOST = 300
"""Cards of a first picture; a larger one is placed by the page itself."""
_LABEL_SIZE, _FRAME_SIZE = 9.5, 12.0
_BESIDE_TITLE = 40.0
_NO_BOX = -1
"""Box of the links of pictures: they join cards wherever these stand."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The places of all that is seen, in pixels of the sheet; cards are numbered as in ``Links``."""

    cards: list[int]
    frames: list[int]
    """Boxes that are drawn around others, outer ones first."""
    layout: nested.NestedLayout
    links: Links
    pieces: Ints
    points: Ints

    def places(self, first: int) -> dict[str, Any]:
        """Return as JSON values cards and frames with their places, and which links are its own from ``first`` on."""
        spots = [*self.layout.boxes, *self.layout.frames[1:]]
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
    """Return the picture of gradients and that of values (``backward``, ``forward``), none of a graph too large.

    ``sizes`` are those of the cards of all atoms and then of all boxes, closed; ``cuts`` are words for edges.
    """
    seen = view(folded, chosen.opened, chosen.unrolled)
    scopes = [box.scope for box in seen.boxes if box.scope >= 0] + [frame.scope for frame in seen.frames]
    if len(seen.boxes) > _MOST or any(groups.own(folded, scope) < 0 for scope in scopes):
        return {}
    ways = {"backward": seen, "forward": seen.turned()}
    return {name: _picture(way, groups, sizes, cuts) for name, way in ways.items()}


def _picture(seen: View, groups: Groups, sizes: list[Size], cuts: dict[int, str]) -> Picture:
    """Lay out one view."""
    folded = seen.folded
    cards = [box.begin if box.scope < 0 else len(folded) + groups.of_scope[box.scope] for box in seen.boxes]
    pairs = zip(seen.edges, seen.counts, strict=True)
    words = [cuts.get(folded.first_edges[edge]) or link_label(folded, edge, count) for edge, count in pairs]
    frames = [groups.of_scope[frame.scope] for frame in seen.frames[1:]]
    titles = [text_width(groups.names[box], _FRAME_SIZE, bold=True) + _BESIDE_TITLE for box in frames]
    widths = [text_width(word, _LABEL_SIZE) for word in words]
    layout = nested.layout(seen, [sizes[card] for card in cards], widths, [0.0, *titles])
    numbers = np.asarray(cards, dtype=np.int64)
    columns = [np.asarray(column, dtype=np.int64) for column in (seen.sources, seen.targets, seen.edges, seen.counts)]
    links = Links(np.full(len(words), _NO_BOX), numbers[columns[0]], numbers[columns[1]], *columns[2:])
    return Picture(cards, frames, layout, links, *shapes(layout.edges))
