"""Findings as workflow commands, which GitHub shows beside the changed lines."""

from __future__ import annotations

import os

from ...findings import Finding
from ...program.places import path_below
from .base import Outcome, printable

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


class GithubReport:
    """Writes one ``::error file=…,line=…::message`` a finding."""

    name = "github"
    suffixes = ()

    def write(self, outcome: Outcome) -> str:
        """Return one line for each finding."""
        unseen = [f"::notice title=retrograd::{_data(sentence)}\n" for sentence in outcome.unseen]
        return "".join([*(f"{_command(finding)}\n" for finding in outcome.findings), *unseen])


def _command(finding: Finding) -> str:
    """Return one workflow command."""
    properties = {"title": f"retrograd: {finding.kind}"}
    if finding.file:
        path = path_below(finding.file).replace(os.sep, "/") or finding.file  # as the repository has it
        properties = {"file": path, "line": str(max(finding.line, 1)), **properties}
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    text = finding.full_message + (f"\nFix: {finding.remedy}" if finding.remedy else "")
    return f"::{_COMMANDS[finding.severity]} {written}::{_data(text)}"


def _data(text: str) -> str:
    """Escape the text of a workflow command, which ends as a line of a log that a terminal may show."""
    return "%0A".join(printable(line).replace("%", "%25") for line in text.replace("\r", "\n").split("\n"))


def _property(text: str) -> str:
    """Escape a property of a workflow command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


REPORT = GithubReport()
