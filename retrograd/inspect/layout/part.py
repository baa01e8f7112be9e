"""One frame of a nested drawing as a net of its own: what stands in it, its ports, and the pieces of edges in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .net import Net


class End(NamedTuple):
    """Where a piece of an edge begins or ends: at a ``box`` or ``frame`` inside, or at a port to the outside.

    A port at the ``bottom`` is named by the box to which its lines lead; one at the ``top`` by the box from which they
    come, or by a negative number for all lines from one frame to one box.
    """

    kind: str
    number: int
    port: int = -1
    """The port of the inner frame."""


class Piece(NamedTuple):
    """A piece of one or several edges within a frame."""

    start: End
    end: End
    twin: int = 0
    """Number among the parallel edges of two boxes."""


@dataclass(slots=True)
class Part:
    """A frame as a net: first its members, then the ports at its top, then those at its bottom."""

    members: list[tuple[str, int]] = field(default_factory=list)
    """("box" or "frame", its number) in order."""
    pieces: list[Piece] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    tops: dict[int, int] = field(default_factory=dict)
    """Name of a port -> its number."""
    bottoms: dict[int, int] = field(default_factory=dict)
    _places: dict[tuple[str, int], int] = field(default_factory=dict)
    _known: dict[Piece, int] = field(default_factory=dict)

    def put(self, members: Iterable[tuple[str, int]]) -> None:
        """Set what stands in the frame."""
        self.members = list(members)
        self._places = {member: node for node, member in enumerate(self.members)}

    def link(self, piece: Piece, label: float) -> int:
        """Return the edge of the net for a piece; equal pieces of several edges are one."""
        edge = self._known.setdefault(piece, len(self.pieces))
        if edge == len(self.pieces):
            self.pieces.append(piece)
            self.labels.append(label)
            for end, kind, ports in ((piece.start, "top", self.tops), (piece.end, "bottom", self.bottoms)):
                if end.kind == kind:
                    ports.setdefault(end.number, len(ports))
        return edge

    def node(self, end: End) -> int:
        """Return the node of the net at an end."""
        if end.kind == "top":
            return len(self.members) + self.tops[end.number]
        if end.kind == "bottom":
            return len(self.members) + len(self.tops) + self.bottoms[end.number]
        return self._places[end.kind, end.number]

    def net(self) -> Net:
        """Return the net, when all pieces are known."""
        count = len(self.members) + len(self.tops) + len(self.bottoms)
        sources = [self.node(piece.start) for piece in self.pieces]
        targets = [self.node(piece.end) for piece in self.pieces]
        # Lines that enter a frame at different ports must not share their way.
        numbers = [piece.end.port + 1 for piece in self.pieces]
        made = Net(count, sources, targets, numbers, tops=len(self.tops), bottoms=len(self.bottoms))
        made.roots = [*range(made.first_top, made.first_bottom), *range(len(self.members))]
        return made
