"""``Fix``: a change to the program's own lines, proposed by a finding and shown as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .graphs.columns import Plain

Verdict = Literal["", "verified", "not verified", "makes it worse"]
"""What running the program with the fix showed; nothing where that was not tried."""


@dataclass(frozen=True, slots=True)
class Change:
    """Some lines of one file, which others take the place of."""

    file: str
    first: int
    """Number of the first line, from 1; where nothing is taken away, of the line that the new ones come before."""
    before: tuple[str, ...]
    """The lines as the program has them, without their ends."""
    after: tuple[str, ...]

    @property
    def last(self) -> int:
        """Number of the last line; ``first - 1`` where nothing is taken away."""
        return self.first + len(self.before) - 1

    @property
    def lines(self) -> range:
        """Numbers of the lines that it takes away or replaces."""
        return range(self.first, self.last + 1)

    def to_plain(self) -> dict[str, Plain]:
        """Return the change as JSON values: the file, the range of lines, and what they are replaced by."""
        return {"file": self.file, "first": self.first, "last": self.last, "replacement": list(self.after)}


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to correct what a finding reports: changes that belong together, in different places."""

    sentence: str
    """What it does, as an instruction: ``leave out .detach()``."""
    changes: tuple[Change, ...]
    tentative: bool = False
    """Only running the program with it can say whether it is meant."""
    verdict: Verdict = ""

    def to_plain(self) -> dict[str, Plain]:
        """Return the fix as JSON values."""
        return {
            "sentence": self.sentence,
            "verdict": self.verdict,
            "changes": [change.to_plain() for change in self.changes],
        }


def changed(lines: Sequence[str], changes: Iterable[Change]) -> list[str] | None:
    """Return the lines of a file with changes made, all of that file; None where it does not read as they say."""
    found = list(lines)
    for change in sorted(changes, key=lambda one: one.first, reverse=True):
        place = slice(change.first - 1, change.last)
        if found[place] != list(change.before):
            return None
        found[place] = change.after
    return found


def compatible(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the fixes that can be made together: one that changes lines of an earlier one is left out."""
    kept: list[Fix] = []
    taken: list[Change] = []
    for fix in dict.fromkeys(fixes):
        if not any(_meet(one, other) for one in fix.changes for other in taken):
            kept.append(fix)
            taken += fix.changes
    return kept


def _meet(one: Change, other: Change) -> bool:
    """Whether two changes are of the same lines, or add lines at one place."""
    if one.file != other.file:
        return False
    apart = one.last < other.first or other.last < one.first
    return not apart or (one.first == other.first and not (one.before and other.before))


def unified_diff(fixes: Iterable[Fix], lines_of: Callable[[str], Sequence[str]], path: Callable[[str], str]) -> str:
    """Return a unified diff, as ``patch -p1`` and ``git apply`` read it, of fixes that can be made together.

    ``lines_of`` gives the lines of a file without their ends, ``path`` says what the file is called in the diff.
    """
    changes = [change for fix in fixes for change in fix.changes]
    found: list[str] = []
    for file in dict.fromkeys(change.file for change in changes):
        old = list(lines_of(file))
        new = changed(old, [change for change in changes if change.file == file])
        if new is not None:
            found += difflib.unified_diff(old, new, f"a/{path(file)}", f"b/{path(file)}", lineterm="")
    return "".join(f"{line}\n" for line in found)
