"""The step ``repeats``: consecutive blocks of equal structure become one box with a count.

In the sequence of items inside a scope, a repeat is a stretch in which every item equals the one ``p`` places further
on. All periods are tried at once on arrays; of overlapping stretches, the one that hides most wins.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from ..progress import followed, tick
from .folded import Folded, Item, Scope
from .scopes import sort_scopes

# Equal numbers for atoms and scopes of equal structure.

_DIGITS = re.compile(r"\d+")


class Signatures:
    """Signatures of the atoms and scopes of a folded graph.

    Atoms are equal if operator, shape, dtype, number of edges and the shapes of parameters are; scopes if their atoms,
    inner edges and inner scopes are, and their names up to digits (``layers/3`` and ``layers/4``).
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


_SHORT = 48
"""Items of a block up to which every length is tried; of longer ones those that items which recur suggest,"""
_RECURRING = 8
"""which may occur so many times in one block,"""
_MOST_LONG = 8
"""and so many lengths, the most frequent ones."""
_FEWEST = 3
"""Fewest rounds that are folded; of whole modules, of calls of a function and of long blocks, two."""
_LONG = 16
"""Items of a long block: nobody compares two of them by looking."""
_FEWEST_ATOMS = 4
"""Fewest equal operators in a row that are folded."""
_NUMBER = re.compile(r"\d+")


class Run(NamedTuple):
    """``rounds`` blocks of ``period`` items each, from item ``start`` on."""

    start: int
    period: int
    rounds: int


def fold_repeats(folded: Folded) -> None:
    """Add scopes for repeats, also inside the blocks of others; all blocks of a repeat are folded equally."""
    signatures = Signatures(folded)
    waiting = list(range(len(folded.scopes)))
    while waiting:
        tick()
        number = waiting.pop()
        items = folded.items(number) if len(folded.scopes[number]) > 1 else []
        if len(items) > 1:
            known = _signatures(items, signatures)
            for place, run in enumerate(_runs(items, known, signatures, folded.scopes[number].kind)):
                waiting += _wrap(folded, number, items, run, place)
    sort_scopes(folded)


def _signatures(items: list[Item], signatures: Signatures) -> np.ndarray:
    """Return a number per item: even for atoms, odd for scopes."""
    atoms, scopes = signatures.atoms, signatures.scopes
    numbers = [2 * atoms[item.begin] if item.scope < 0 else 2 * scopes[item.scope] + 1 for item in items]
    return np.asarray(numbers, dtype=np.int64)


def _runs(items: list[Item], known: np.ndarray, signatures: Signatures, kind: str) -> list[Run]:
    """Return the repeats among the items that are worth a fold, none overlapping another."""
    candidates = [run for period in _periods(known) for run in _periodic(known, period)]
    candidates.sort(key=lambda run: (-(run.rounds - 1) * run.period, run.period, run.start))
    taken = np.zeros(len(items), dtype=bool)
    found: list[Run] = []
    for candidate in followed(candidates):
        if taken[candidate.start : candidate.start + candidate.period * candidate.rounds].any():
            continue
        run = _with_equal_edges(items, candidate, signatures)
        if run.rounds >= _fewest(items, run, kind):
            taken[run.start : run.start + run.period * run.rounds] = True
            found.append(run)
    return sorted(found)


def _fewest(items: list[Item], run: Run, kind: str) -> int:
    """Return how many rounds make a repeat."""
    if run.period == 1:
        return 2 if items[run.start].scope >= 0 else _FEWEST_ATOMS
    return 2 if kind == "function" or run.period >= _LONG else _FEWEST


def _periods(known: np.ndarray) -> list[int]:
    """Return the lengths of blocks to try: all short ones, and those at which most items occur again."""
    half = len(known) // 2
    short = list(range(1, min(_SHORT, half) + 1))
    if half <= _SHORT:
        return short
    _, numbered, counts = np.unique(known, return_inverse=True, return_counts=True)
    order = np.argsort(numbered, kind="stable")
    sorted_ = numbered[order]
    votes = np.zeros(half + 1)
    for times in range(1, _RECURRING + 1):
        lengths = order[times:] - order[:-times]
        again = (sorted_[times:] == sorted_[:-times]) & (lengths > _SHORT) & (lengths <= half)
        rare = 1 / counts[sorted_[times:][again]]  # what is rare recurs with the block, what is not, within it
        votes += np.bincount(lengths[again], rare, half + 1)
    ranks = np.argsort(-votes, kind="stable")[:_MOST_LONG]
    return short + [int(length) for length in ranks if votes[length]]


def _periodic(known: np.ndarray, period: int) -> list[Run]:
    """Return the stretches in which every item equals the one a period later."""
    same = np.concatenate(([False], known[period:] == known[:-period], [False]))
    edges = np.flatnonzero(same[1:] != same[:-1])
    found = []
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if end - begin >= period:
            found.append(Run(begin, period, (end - begin) // period + 1))
    return found


def _with_equal_edges(items: list[Item], run: Run, signatures: Signatures) -> Run:
    """Return the longest part of a run whose blocks have equal inner edges."""
    if run.period == 1:
        return run  # the signature of a scope knows its edges, and an atom has none
    begin = items[run.start].begin
    length = items[run.start + run.period - 1].end - begin
    sources, targets = signatures.inner_edges(begin, begin + length * run.rounds)
    inner = sources // length == targets // length
    sources, targets = sources[inner], targets[inner]
    counts = np.bincount(sources // length, minlength=run.rounds)
    pairs = (sources % length) * length + targets % length
    if (counts == counts[0]).all():
        blocks = pairs.reshape(run.rounds, -1)
        same = (blocks == blocks[0]).all(axis=1)
    else:
        same = counts == counts[0]
        for number, piece in enumerate(np.split(pairs, np.cumsum(counts)[:-1])):
            same[number] = same[number] and np.array_equal(piece, pairs[: counts[0]])
    rounds = run.rounds if same.all() else int(np.argmin(same))
    return run._replace(rounds=rounds)


def _wrap(folded: Folded, parent: int, items: list[Item], run: Run, place: int) -> list[int]:
    """Put a run into a repeat with one scope per block; return the new blocks, which may hold repeats themselves."""
    scopes = folded.scopes
    members = items[run.start : run.start + run.period * run.rounds]
    repeat = len(scopes)
    path, label = _name(folded, parent, members, run, place)
    scopes.append(Scope(label, path, "repeat", parent, members[0].begin, members[-1].end, repeats=run.rounds))
    made: list[int] = []
    if run.period == 1 and members[0].scope < 0:
        return made  # blocks of one atom need no scope
    for number in range(run.rounds):
        block = members[number * run.period : (number + 1) * run.period]
        if run.period == 1:
            scopes[block[0].scope].parent = repeat
            continue
        made.append(len(scopes))
        inner = f"{path}/{run.rounds - 1 - number}"
        scopes.append(Scope(label, inner, "block", repeat, block[0].begin, block[-1].end))
        for item in block:
            if item.scope >= 0:
                scopes[item.scope].parent = made[-1]
                scopes[made[-1]].children.append(item.scope)
    return made


def _name(folded: Folded, parent: int, members: list[Item], run: Run, place: int) -> tuple[str, str]:
    """Return path and label of a repeat: the names of its first and last module, or what its block begins with."""
    above = folded.scopes[parent].path
    if run.period == 1 and members[0].scope >= 0:
        last, first = (folded.scopes[item.scope].label for item in (members[0], members[-1]))
        label = first if first == last else _span(first, last)
    else:
        first, last = (_item_name(folded, item) for item in (members[0], members[run.period - 1]))
        label = first if first == last else f"{last} … {first}"
    return f"{above}/repeat-{place}".lstrip("/"), label


def _span(first: str, last: str) -> str:
    """Return ``0-11`` for ``0`` and ``11``, ``block1-4`` for ``block1`` and ``block4``."""
    here, there = _NUMBER.findall(first), _NUMBER.findall(last)
    if here and there and _NUMBER.sub("#", first) == _NUMBER.sub("#", last) and here[:-1] == there[:-1]:
        low, high = sorted((int(here[-1]), int(there[-1])))
        place = first.rindex(here[-1])
        return f"{first[:place]}{low}–{high}{first[place + len(here[-1]) :]}"
    return f"{first} … {last}"


def _item_name(folded: Folded, item: Item) -> str:
    """Return the name of an item in a label."""
    if item.scope >= 0:
        return folded.scopes[item.scope].label
    return folded.operator(item.begin)
