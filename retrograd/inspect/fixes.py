"""``Fix``: a change to the program's own lines, proposed by a finding and shown as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .graphs.columns import Plain

Verdict = Literal["", "verified", "not verified", "makes it worse"]
"""What running the program with the fix showed; empty if it was not tried."""
UNTRIED = "not tried: run with --verify"


@dataclass(frozen=True, slots=True)
class Change:
    """Lines of one file, and the lines that replace them."""

    file: str
    first: int
    """Number of the first replaced line, from 1; for a pure insertion, of the line before which lines are added."""
    before: tuple[str, ...]
    """The lines as they are now, without line ends."""
    after: tuple[str, ...]

    @property
    def last(self) -> int:
        """Number of the last replaced line; ``first - 1`` for a pure insertion."""
        return self.first + len(self.before) - 1

    @property
    def lines(self) -> range:
        """Numbers of the lines that it removes or replaces."""
        return range(self.first, self.last + 1)

    def to_plain(self) -> dict[str, Plain]:
        """Return the change as JSON values: file, range of lines, replacement."""
        return {"file": self.file, "first": self.first, "last": self.last, "replacement": list(self.after)}


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to correct what a finding reports: changes that belong together, possibly in several places."""

    sentence: str
    """What it does, as an instruction: ``leave out .detach()``."""
    changes: tuple[Change, ...]
    tentative: bool = False
    """Whether only a run of the program can show that the fix is what was meant."""
    verdict: Verdict = ""

    @property
    def verified(self) -> bool | None:
        """Whether running the program with it showed that it helps; None where that was not tried."""
        return self.verdict == "verified" if self.verdict else None

    @property
    def trial(self) -> str:
        """What is said beside it of whether it was tried."""
        return self.verdict or UNTRIED

    def to_plain(self) -> dict[str, Plain]:
        """Return the fix as JSON values."""
        return {
            "sentence": self.sentence,
            "verdict": self.verdict,
            "verified": self.verified,
            "changes": [change.to_plain() for change in self.changes],
        }


def changed(lines: Sequence[str], changes: Iterable[Change]) -> list[str] | None:
    """Return the lines of a file with changes to it applied; None if it does not contain the lines to replace."""
    found = list(lines)
    for change in sorted(changes, key=lambda one: one.first, reverse=True):
        place = slice(change.first - 1, change.last)
        if found[place] != list(change.before):
            return None
        found[place] = change.after
    return found


def compatible(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the fixes that can be applied together: one that changes lines of an earlier one is left out."""
    kept: list[Fix] = []
    taken: list[Change] = []
    for fix in dict.fromkeys(fixes):
        if not any(_meet(one, other) for one in fix.changes for other in taken):
            kept.append(fix)
            taken += fix.changes
    return kept


def _meet(one: Change, other: Change) -> bool:
    """Whether two changes overlap, or insert lines at the same place."""
    if one.file != other.file:
        return False
    apart = one.last < other.first or other.last < one.first
    return not apart or (one.first == other.first and not (one.before and other.before))


def unified_diff(fixes: Iterable[Fix], lines_of: Callable[[str], Sequence[str]], path: Callable[[str], str]) -> str:
    """Return a unified diff, for ``patch -p1`` and ``git apply``, of fixes that can be applied together.

    ``lines_of`` returns the lines of a file without their ends, ``path`` its name in the diff.
    """
    changes = [change for fix in fixes for change in fix.changes]
    found: list[str] = []
    for file in dict.fromkeys(change.file for change in changes):
        old = list(lines_of(file))
        new = changed(old, [change for change in changes if change.file == file])
        if new is not None:
            found += difflib.unified_diff(old, new, f"a/{path(file)}", f"b/{path(file)}", lineterm="")
    return "".join(f"{line}\n" for line in found)
