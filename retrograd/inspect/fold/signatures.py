"""When are two pieces of a graph alike?  Numbers for atoms and scopes that are equal exactly where structures are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable

import numpy as np

from .folded import Folded

_DIGITS = re.compile(r"\d+")


class Signatures:
    """Signatures of the atoms and scopes of a folded graph.

    Atoms are alike if operator, shape, dtype, number of edges and the shapes of parameters are; scopes if their atoms,
    the edges inside and the scopes inside are, and their names but for digits (``layers/3`` and ``layers/4``).
    """

    def __init__(self, folded: Folded) -> None:
        self._folded = folded
        self._numbers: dict[Hashable, int] = {}
        order = np.argsort(np.asarray(folded.sources, dtype=np.int64), kind="stable")
        self._sources = np.asarray(folded.sources, dtype=np.int64)[order]
        self._targets = np.asarray(folded.targets, dtype=np.int64)[order]
        self._starts = np.searchsorted(self._sources, np.arange(len(folded) + 1))
        self.atoms = np.asarray(self._atoms(), dtype=np.int64)
        """Per atom its signature."""
        self.scopes = [0] * len(folded.scopes)
        """Per scope its signature."""
        for number in range(len(folded.scopes) - 1, 0, -1):  # children come after their parents
            self.scopes[number] = self._scope(number)

    def inner_edges(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Return sources and targets of the edges within a run of atoms, counted from its beginning."""
        piece = slice(self._starts[begin], self._starts[end])
        sources, targets = self._sources[piece], self._targets[piece]
        inner = (targets >= begin) & (targets < end)
        return sources[inner] - begin, targets[inner] - begin

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _atoms(self) -> list[int]:
        """A number per atom for all that its card shows but names: equal for equal operators."""
        folded, snapshot = self._folded, self._folded.original
        degrees = np.diff(self._starts).tolist()
        rows = folded.rows
        return [
            self._number(
                (
                    snapshot.op[node],
                    snapshot.kind[node],
                    snapshot.shape[node],
                    snapshot.dtype[node],
                    degrees[atom],
                    tuple(snapshot.shape[leaf] for leaf in rows[atom]) if atom in rows else (),
                )
            )
            for atom, node in enumerate(folded.heads)
        ]

    def _scope(self, number: int) -> int:
        scope = self._folded.scopes[number]
        sources, targets = self.inner_edges(scope.begin, scope.end)
        digest = hashlib.blake2b(digest_size=16)
        for column in (self.atoms[scope.begin : scope.end], sources, targets):
            digest.update(column.tobytes() + b"|")
        inside = tuple((self._folded.scopes[child].begin - scope.begin, self.scopes[child]) for child in scope.children)
        return self._number((_DIGITS.sub("#", scope.label), scope.kind, digest.digest(), inside))
