"""Report formats for findings, found by listing this folder: a new one is one file with a ``REPORT``."""

from __future__ import annotations

import importlib
import pkgutil

from .base import Outcome, Report

__all__ = ["Outcome", "Report", "report_for", "reports"]

_found: dict[str, Report] = {}


def reports() -> dict[str, Report]:
    """Return all forms by name, sorted; their modules are imported at the first call."""
    if not _found:
        for module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
            report = getattr(importlib.import_module(f"{__name__}.{module}"), "REPORT", None)
            if report is not None:
                _found[report.name] = report
    return dict(sorted(_found.items()))


def report_for(path: str) -> Report:
    """Return the form that a file's suffix means; ``text`` for any other."""
    endings = [(suffix, form) for form in reports().values() for suffix in form.suffixes]
    fitting = [(len(suffix), form) for suffix, form in endings if path.lower().endswith(suffix)]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else reports()["text"]
