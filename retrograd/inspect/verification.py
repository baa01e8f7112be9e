"""Checks whether a fix works: compares a run with the fix with the run that showed the finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .findings import Finding
from .fixes import Fix, Verdict
from .recording.events import Recording

_LEAVES = ("leaves", "frozen", "missing")
"""Keys of a finding's evidence that list leaves without gradients."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One run of a program, and its findings."""

    recording: Recording
    findings: Sequence[Finding]

    @property
    def error(self) -> str:
        """Type of the exception that ended it, or ``""``."""
        return next((str(one.data.get("type", "")) for one in self.recording.events if one.kind == "error"), "")

    def passes(self, without: Fix | None = None) -> int:
        """Return how many backward passes ended well, without those that begin at a line which a fix removes."""
        gone = {(one.file, line) for one in (without.changes if without else ()) if not one.after for line in one.lines}
        begun = [one.source for one in self.recording.events if one.kind == "backward"]
        left_out = sum(source is not None and (source.file, source.line) in gone for source in begun)
        ended = (one.kind == "backward-end" and "error" not in one.data for one in self.recording.events)
        return sum(ended) - left_out

    def trained(self) -> set[str]:
        """Return the names of leaves to which some pass brought a nonzero gradient."""
        arrivals = (one.data for one in self.recording.events if one.kind == "accumulate")
        found = {data["tensor"] for data in arrivals if data.get("grad_norm") != 0.0 and "tensor" in data}
        for one in self.recording.events:
            if one.kind == "backward" and one.data.get("api") == "grad":
                found.update(one.data.get("inputs", ()))
        return {self.recording.tensors[tensor].name for tensor in found} - {""}

    def spoilt(self) -> int:
        """Return how many gradients of leaves contained a NaN or infinity."""
        norms = (one.data.get("grad_norm") for one in self.recording.events if one.kind == "accumulate")
        return sum(norm is not None and not math.isfinite(norm) for norm in norms)


def verdict(finding: Finding, fix: Fix, before: Observed, after: Observed) -> Verdict:
    """Judge the fix of a finding by a run without it and a run with it.

    *Verified*: finding and effect are gone (its leaves get gradients, no further gradient contains a NaN), and
    nothing new was found.  *Makes it worse*: another error, or another finding of some weight.
    """
    known = {_key(one, fix) for one in before.findings}
    new = [one for one in after.findings if one.severity != "note" and _key(one) not in known]
    others = [one for one in new if one.kind != finding.kind]
    if (after.error and after.error != before.error) or others or after.spoilt() > before.spoilt():
        return "makes it worse"
    if after.passes() < before.passes(fix) or (before.error and after.error and finding is before.findings[0]):
        return "not verified"
    if new or _key(finding, fix) in {_key(one) for one in after.findings}:
        return "not verified"
    if not any(one.kind == "accumulate" for one in after.recording.events):
        return "verified"  # gradients are asked for by autograd.grad alone, and no leaf gets any
    starved = {name for key in _LEAVES for name in _names(finding.evidence.get(key))} - before.trained()
    leaves = {facts.name for facts in after.recording.tensors if facts.leaf}
    return "verified" if starved & leaves <= after.trained() else "not verified"


def _names(value: object) -> Iterable[str]:
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else ()


def _key(finding: Finding, fix: Fix | None = None) -> tuple[str, str, int]:
    """Return the key that matches findings of two runs: kind and line, shifted as the fix shifts lines."""
    line = finding.line
    for change in fix.changes if fix is not None else ():
        if change.file == finding.file and change.last < finding.line:
            line += len(change.after) - len(change.before)
    return finding.kind, finding.file, line
