"""Findings as JSON, schema 1: ``{"schema", "script", "seconds", "findings": [...]}``, most important first.

With ``--explain`` also ``"dropped"``: findings that are not reported, each with its ``"reason"``.
"""

from __future__ import annotations

from typing import cast

from ...recording.events import Event
from ..json_text import json_text
from .base import Outcome

SCHEMA = 1


class JsonReport:
    """Writes strict JSON; numbers that JSON cannot say are null."""

    name = "json"
    suffixes = (".json",)

    def write(self, outcome: Outcome) -> str:
        """Return the findings as one JSON object."""
        plain = {
            "schema": SCHEMA,
            "script": outcome.recording.script,
            "seconds": round(outcome.seconds, 3),
            "findings": [_strict(finding.to_plain()) for finding in outcome.findings],
        }
        if outcome.explain:
            plain["dropped"] = [
                {**cast(dict[str, object], _strict(one.finding.to_plain())), "reason": one.reason}
                for one in outcome.dropped
            ]
        if outcome.unseen:
            plain["unseen"] = list(outcome.unseen)
        return json_text(plain)


def _strict(plain: dict[str, object]) -> object:
    """Return JSON values only: evidence may hold NaN, tuples or NumPy numbers."""
    return Event("finding", data=plain).to_plain()["data"]


REPORT = JsonReport()
