"""Runs one program twice, each time in a fresh process with the same seeds, and returns both recordings."""

from __future__ import annotations

import os
import tempfile

from ..errors import UsageError
from ..inspect.recording.events import Recording
from ..inspect.recording.loading import load_recording
from .child_runs import run_recorded
from .target import Target


def recorded_twice(target: Target) -> tuple[list[Recording], int]:
    """Return the recordings of two runs of a program and the exit code of the first.

    Random generators are seeded alike (``seeded``) and strings hash alike.  What the second run says is not shown, and
    neither has a standard input.
    Raises ``UsageError`` when a run ended without leaving a recording.
    """
    with tempfile.TemporaryDirectory(prefix="retrograd-twice-") as folder:
        files = [os.path.join(folder, f"{name}.json") for name in ("first", "second")]
        codes = [run_recorded(target, file, shown=file == files[0], keep="all") or 0 for file in files]
        for file, code in zip(files, codes, strict=True):
            if not os.path.exists(file):
                raise UsageError(
                    f"A run of {target.label} left no recording (exit code {code}).", "Run it alone first."
                )
        return [load_recording(file) for file in files], codes[0]
