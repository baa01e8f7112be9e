"""Report formats for findings, found by listing this folder: a new one is one file with a ``REPORT``."""

from __future__ import annotations

import functools
import sys

from ...plugins import plugins_in
from .base import Outcome, Report

__all__ = ["Outcome", "Report", "report_for", "reports"]


@functools.cache
def reports() -> dict[str, Report]:
    """Return all report formats by name, sorted; their modules are imported at the first call."""
    found = plugins_in(sys.modules[__name__], "REPORT").values()
    return {report.name: report for report in sorted(found, key=lambda report: report.name)}


def report_for(path: str) -> Report:
    """Return the report format for a file's suffix; ``text`` for any other."""
    endings = [(suffix, form) for form in reports().values() for suffix in form.suffixes]
    fitting = [(len(suffix), form) for suffix, form in endings if path.lower().endswith(suffix)]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else reports()["text"]
