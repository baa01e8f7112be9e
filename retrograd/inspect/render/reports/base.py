"""The interface and shared code of all report formats for findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...findings import Dropped, Finding
from ...recording.events import Recording


@dataclass(frozen=True, slots=True)
class Outcome:
    """A diagnosis, as passed to the report formats."""

    recording: Recording
    findings: list[Finding]
    seconds: float = 0.0
    """From the program's start to the end of the diagnosis."""
    meanings: Mapping[str, str] = field(default_factory=dict)
    """Kind -> what it means."""

    explain: bool = False
    """Whether the evidence of each finding is shown, and what was dropped."""
    dropped: Sequence[Dropped] = ()
    unseen: Sequence[str] = ()
    """Sentences about what was not recorded of the program."""
    others: Sequence[Recording] = ()
    """Recordings of other processes that also have findings."""

    @property
    def trained(self) -> bool:
        """Whether any process ran a backward pass while recorded."""
        events = (event for recording in (self.recording, *self.others) for event in recording.events)
        return any(event.kind == "backward" for event in events)

    def line_text(self, finding: Finding) -> str:
        """Return the user's line that a finding is about, or nothing when the recording does not hold it."""
        return self.recording.sources.get(finding.file, {}).get(finding.line, "")


class Report(Protocol):
    """One report format: a name for ``--format``, its suffixes, and how it is written."""

    name: str
    suffixes: tuple[str, ...]

    def write(self, outcome: Outcome) -> str:
        """Return the findings as text."""
        ...


def printable(text: str) -> str:
    """Return text without control characters, which could move the cursor of a terminal, and lone surrogates."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
