"""Sentences about a job besides its findings: ranks without a recording, and ranks that did not end normally."""

from __future__ import annotations

from collections.abc import Sequence

from ..program.places import full_place
from ..recording.events import Recording
from .endings import endings
from .lineup import missing_ranks, of_a_job, ranges
from .run import Run

_SAID = {
    "waiting": "waited in {op}{at} when the recording was saved",
    "in backward": "never came back from a backward pass{at}",
    "cut off": "did not end when the recording was saved: what came later is not in it",
    "error": "ended by {message}{at}",
}
"""How a rank ended -> words; those that finished are not mentioned."""
_LONGEST = 120


def job_sentences(recordings: Sequence[Recording]) -> list[str]:
    """Say which ranks of one job are missing and which did not end well; equal ones share a sentence."""
    if not recordings or not all(map(of_a_job, recordings)):
        return []
    gone = ranges(missing_ranks(recordings))
    missing = [f"there is no recording of {_listed(gone)}: what these did is not known"] if gone else []
    said: dict[str, list[int]] = {}
    for one in endings([Run(recording, "") for recording in recordings]):
        if one.state != "finished":
            line = one.last.source if one.last is not None else None
            slots = {
                "op": one.last.op if one.last else "",
                "at": f" at {full_place(line.file, line.line)}" if line else "",
            }
            words = _SAID[one.state].format(**slots, message=one.message.partition("\n")[0][:_LONGEST])
            said.setdefault(words, []).append(recordings[one.run].rank or 0)
    return [*missing, *(f"{_listed(ranges(ranks))} {words}" for words, ranks in said.items())]


def _listed(words: Sequence[str]) -> str:
    """Return ranges of ranks in words."""
    return ", ".join(words) if len(words) < 9 else f"{', '.join(words[:8])} and others"
