"""Folding: shows a graph of thousands of nodes as a few boxes that can be opened.

``fold(graph)`` returns a ``Folded``, which keeps the graph; ``view(folded, opened)`` returns what is visible of it.
"""

from __future__ import annotations

from .folded import ROOT, Folded, Item, Scope
from .opening import DEEPEST, MAX_BOXES, SMALL, Opening, everything, expand, first_opening, open_at
from .steps import STEPS, fold
from .view import Box, Frame, View, view

__all__ = [
    "DEEPEST",
    "MAX_BOXES",
    "ROOT",
    "SMALL",
    "STEPS",
    "Box",
    "Folded",
    "Frame",
    "Item",
    "Opening",
    "Scope",
    "View",
    "everything",
    "expand",
    "first_opening",
    "fold",
    "open_at",
    "view",
]
