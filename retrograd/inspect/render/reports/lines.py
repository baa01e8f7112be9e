"""Findings as one line each, ``file:line:column: severity: sentence [kind]``, as compilers print and editors read."""

from __future__ import annotations

from ...findings import Finding
from ...program.places import path_below
from .base import Outcome, printable
from .panels import caret


class LinesReport:
    """Writes one line a finding, with its fix at the end."""

    name = "lines"
    suffixes = ()

    def write(self, outcome: Outcome) -> str:
        """Return the lines."""
        unseen = [f"retrograd: note: {printable(sentence)}\n" for sentence in outcome.unseen]
        return "".join([*(f"{_line(finding, outcome.line_text(finding))}\n" for finding in outcome.findings), *unseen])


def _line(finding: Finding, source: str) -> str:
    """Return one finding on a single line, whatever its text contains."""
    where = "retrograd"
    if finding.file:
        indent = len(source) - len(source.lstrip())
        column = indent + caret(source.strip(), finding.op)[0] + 1
        where = f"{path_below(finding.file) or finding.file}:{finding.line}:{column}"
    fix = f" fix: {finding.remedy}" if finding.remedy else ""
    text = " ".join(f"{finding.full_message}{fix}".split())
    return printable(f"{where}: {finding.severity}: {text} [{finding.kind}]")


REPORT = LinesReport()
