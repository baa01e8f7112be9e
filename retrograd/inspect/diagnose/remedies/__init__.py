"""Fixes: changes of the program's own lines that undo what a finding tells of, made of the program's own text.

Each module here offers ``FIXES``: kind of finding -> a function that proposes ways to mend one, best first.  A way that
only running the program can judge (which of two operands to detach, say) is *tentative*: ``diagnose --verify`` tries
it, and nobody is shown it untried.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping

from ...fixes import Fix, changed
from ...plugins import plugins_in
from ..base import Case
from ..recorded.flow import Flow
from .program import Program
from .site import Propose, Site, program_text

MOST = 4
"""Fixes of one finding."""


@functools.cache
def all_fixes() -> dict[str, list[Propose]]:
    """Return kind -> what proposes fixes of it; the modules are imported at the first call."""
    found: dict[str, list[Propose]] = {}
    rows: dict[str, Mapping[str, Propose]] = plugins_in(sys.modules[__name__], "FIXES")
    for module in rows.values():
        for kind, propose in module.items():
            found.setdefault(kind, []).append(propose)
    return found


def fixes_of(case: Case, flow: Flow) -> tuple[Fix, ...]:
    """Return ways to mend what a case tells of, best first; none where the program's text is not at hand."""
    program = program_text(case.source, flow.recording)
    if program is None or case.source is None or program.statement(case.source.line) is None:
        return ()
    site = Site(program, case, flow, case.source.line)
    proposed = (fix for propose in all_fixes().get(case.kind, ()) for fix in propose(site))
    return tuple(dict.fromkeys(fix for fix in proposed if _is_sound(fix, program)))[:MOST]


def _is_sound(fix: Fix, program: Program) -> bool:
    """Whether a fix changes something, and leaves a program of Python's."""
    new = changed(program.lines, fix.changes)
    return new is not None and new != program.lines and Program(program.file, new).tree is not None
