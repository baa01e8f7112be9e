"""Fixes: changes to the program's own lines that correct what a finding reports, built from the program's own text.

Each module here offers ``FIXES``: kind of finding -> a function that proposes fixes, best first.  A fix that only a run
of the program can judge (which of two operands to detach, say) is *tentative*: ``diagnose --verify`` tries it, and it
is never shown untried.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import replace

from ...fixes import Fix, changed
from ...plugins import plugins_in
from ..base import Case
from ..facts.flow import Flow
from .program import Program
from .site import Propose, Site, program_text

MOST = 4
"""Fixes of one finding."""


@functools.cache
def all_fixes() -> dict[str, list[Propose]]:
    """Return kind -> functions that propose fixes; the modules are imported at the first call."""
    found: dict[str, list[Propose]] = {}
    rows: dict[str, Mapping[str, Propose]] = plugins_in(sys.modules[__name__], "FIXES")
    for module in rows.values():
        for kind, propose in module.items():
            found.setdefault(kind, []).append(propose)
    return found


class Fixes:
    """Proposes fixes of the cases of one recording; each file of the program is read and parsed once."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._programs: dict[str, Program | None] = {}

    def of(self, case: Case) -> tuple[Fix, ...]:
        """Return fixes for a case, best first; none if the program's text is not available.

        A note may report what is meant, so its fixes are tentative: only a run can show whether they help.
        """
        source, propose_each = case.source, all_fixes().get(case.kind, ())
        if source is None or not propose_each:
            return ()
        if source.file not in self._programs:
            self._programs[source.file] = program_text(source.file, self._flow.recording)
        program = self._programs[source.file]
        if program is None or program.statement(source.line) is None:
            return ()
        site = Site(program, case, self._flow, source.line)
        proposed = (fix for propose in propose_each for fix in propose(site))
        noted = case.severity == "note"
        sound = (replace(fix, tentative=fix.tentative or noted) for fix in proposed if _is_sound(fix, program))
        return tuple(dict.fromkeys(sound))[:MOST]


def _is_sound(fix: Fix, program: Program) -> bool:
    """Whether a fix changes something, and leaves a program of Python's."""
    new = changed(program.lines, fix.changes)
    return new is not None and new != program.lines and Program(program.file, new).tree is not None
