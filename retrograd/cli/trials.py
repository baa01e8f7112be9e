"""Tries the fixes of findings: each in a separate run, on a changed copy of the program; notes the outcome."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import replace

from ..errors import RetrogradError, UsageError
from ..inspect.diagnosis import diagnose
from ..inspect.findings import Finding
from ..inspect.fixes import Fix, changed
from ..inspect.program.texts import keep_text, plain_lines
from ..inspect.recording.loading import load_recording
from ..inspect.verification import Observed, verdict
from . import messages
from .child_runs import TYPED, run_recorded
from .target import Target

MOST = 24
"""Maximal number of runs for one command."""
LEAST_LIMIT, SLACK = 60.0, 5.0
"""A run's time limit in seconds, and as a multiple of the first run's time; the larger one counts."""


def recorded_and_tried(target: Target) -> tuple[Observed, int]:
    """Run a program and try the fixes of its findings; return the findings with the outcomes, and the exit code.

    Raises ``UsageError`` when the program ended without leaving a recording.
    """
    if target.kind == "code":
        keep_text(TYPED, (target.text + "\n").encode("utf-8", "surrogatepass"))
    with tempfile.TemporaryDirectory(prefix="retrograd-verify-") as folder:
        file = os.path.join(folder, "run.json")
        began = time.monotonic()
        code = run_recorded(target, file, shown=True) or 0
        if not os.path.exists(file):
            raise UsageError(f"A run of {target.label} left no recording (exit code {code}).", "Run it alone first.")
        limit = max(LEAST_LIMIT, SLACK * (time.monotonic() - began))
        recording = load_recording(file)
        before = Observed(recording, diagnose(recording))
        return replace(before, findings=_Trials(target, before, folder, limit).of_all()), code


class _Trials:
    """The runs of one program with fixes applied."""

    def __init__(self, target: Target, before: Observed, folder: str, limit: float) -> None:
        self._target, self._before, self._folder, self._limit = target, before, folder, limit
        self._left = MOST

    def of_all(self) -> list[Finding]:
        """Return all findings with their fixes tried."""
        tried = [self._of(finding) for finding in self._before.findings]
        if self._left < MOST:
            runs = MOST - self._left
            messages.say(
                f"the program ran again {'once' if runs == 1 else f'{runs} times'} to try fixes, "
                "on a copy of its text; what it printed then is not shown"
            )
        return tried

    def _of(self, finding: Finding) -> Finding:
        """Return a finding with its fixes tried, up to the first that works."""
        fixes: list[Fix] = []
        for fix in finding.fixes:
            done = bool(fixes) and fixes[-1].verdict == "verified"
            fixes.append(fix if done or self._left <= 0 else self._tried(finding, fix))
        return replace(finding, fixes=tuple(fixes))

    def _tried(self, finding: Finding, fix: Fix) -> Fix:
        """Run the program with a fix and return the fix with its outcome."""
        self._left -= 1
        file = os.path.join(self._folder, f"fixed{self._left}.json")
        run_recorded(self._target, file, shown=False, texts=texts_with(fix), limit=self._limit)
        try:
            recording = load_recording(file)
        except (RetrogradError, OSError):  # it took too long, or ended without a recording
            return replace(fix, verdict="not verified")
        finally:
            if os.path.exists(file):
                os.remove(file)
        for path in {change.file for change in fix.changes}:
            recording.sources.pop(path, None)  # its lines are not those on disk, which further fixes start from
        after = Observed(recording, diagnose(recording))
        return replace(fix, verdict=verdict(finding, fix, self._before, after))


def texts_with(fix: Fix) -> dict[str, str]:
    """Return the texts of the files that a fix changes, with the fix applied."""
    found = {}
    for file in {change.file for change in fix.changes}:
        lines = plain_lines(file)
        made = changed(lines, [change for change in fix.changes if change.file == file])
        found[file] = "\n".join(made or lines) + "\n"
    return found
