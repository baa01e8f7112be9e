"""Findings as SARIF 2.1.0 (OASIS), which code hosts and editors read."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from ...findings import Finding
from ...fixes import Change, Fix
from ...program.places import path_below, path_from_root
from ..json_text import json_text
from .base import Outcome

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


class SarifReport:
    """Writes one run with one result a finding and one rule a kind."""

    name = "sarif"
    suffixes = (".sarif", ".sarif.json")

    def write(self, outcome: Outcome) -> str:
        """Return a SARIF log."""
        kinds = sorted({finding.kind for finding in outcome.findings})
        driver = {
            "name": "retrograd",
            "rules": [_rule(kind, outcome.meanings.get(kind, kind)) for kind in kinds],
        }
        results = [_result(finding, kinds.index(finding.kind), outcome) for finding in outcome.findings]
        run: dict[str, Any] = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        if outcome.unseen:
            notes = [{"level": "note", "message": {"text": sentence}} for sentence in outcome.unseen]
            run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
        return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(kind: str, meaning: str) -> dict[str, Any]:
    """Return the rule of one kind."""
    return {"id": kind, "shortDescription": {"text": meaning}}


def _result(finding: Finding, rule: int, outcome: Outcome) -> dict[str, Any]:
    """Return one finding."""
    text = finding.full_message + (f"\n\nFix: {finding.remedy}" if finding.remedy else "")
    result: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": text},
    }
    if finding.file and not finding.file.startswith("<"):
        region: dict[str, Any] = {"startLine": max(finding.line, 1)}
        line = outcome.line_text(finding)
        if line:
            region["snippet"] = {"text": line}
        location = {"artifactLocation": {"uri": _uri(finding.file)}, "region": region}
        result["locations"] = [{"physicalLocation": location}]
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix)]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    """Return a proposed change: for each file the regions of whole lines, and what they are replaced by."""
    changes = [
        {
            "artifactLocation": {"uri": _uri(file)},
            "replacements": [_replacement(change) for change in fix.changes if change.file == file],
        }
        for file in dict.fromkeys(change.file for change in fix.changes)
    ]
    return {"description": {"text": f"{fix.sentence} ({fix.trial})"}, "artifactChanges": changes}


def _replacement(change: Change) -> dict[str, Any]:
    """Return the change of some lines; a region ends at the start of the line behind it."""
    region = {"startLine": change.first, "startColumn": 1, "endLine": change.last + 1, "endColumn": 1}
    return {"deletedRegion": region, "insertedContent": {"text": "".join(f"{line}\n" for line in change.after)}}


def _uri(path: str) -> str:
    """Return a path as a URI reference: relative to the current folder when it lies below."""
    below = path_below(path)
    return ("" if below else "file://") + quote(_bytes((below or path_from_root(path)).replace(os.sep, "/")))


def _bytes(path: str) -> bytes:
    """Return a path as the file system has it, which need be no text; a name that no file system gave, somehow."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


REPORT = SarifReport()
