"""Runs one program twice, each time in a fresh process with the same seeds, and returns what was recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from ..errors import UsageError
from ..inspect.events import Recording
from ..inspect.loading import load_recording
from .launcher import outside_a_job
from .target import Target

_SEEDED = "from retrograd.cli.seeded import start; start()"
_FLAGS = {"module": "-m", "code": "-c"}


def recorded_twice(target: Target) -> tuple[list[Recording], int]:
    """Return the recordings of two runs of a program and the exit code of the first.

    Random generators are seeded alike (``seeded``) and strings hash alike.  What the second run says is not shown, and
    neither has a standard input.
    Raises ``UsageError`` when a run ended without leaving a recording.
    """
    with tempfile.TemporaryDirectory(prefix="retrograd-twice-") as folder:
        files = [os.path.join(folder, f"{name}.json") for name in ("first", "second")]
        codes = [_run(target, file, shown=file == files[0]) for file in files]
        for file, code in zip(files, codes, strict=True):
            if not os.path.exists(file):
                raise UsageError(
                    f"A run of {target.label} left no recording (exit code {code}).", "Run it alone first."
                )
        return [load_recording(file) for file in files], codes[0]


def _run(target: Target, file: str, *, shown: bool) -> int:
    """Run the program once, recorded into a file; returns its exit code."""
    words = [_FLAGS[target.kind]] if target.kind in _FLAGS else []
    options = ["trace", "--level", "full", "-f", "json", "-o", file, "-q", *words, target.text, "--", *target.args]
    environment = outside_a_job(os.environ)  # each run is a whole recording, also where a launcher started us
    environment.setdefault("PYTHONHASHSEED", "0")
    output = None if shown else subprocess.DEVNULL
    done = subprocess.run(
        [sys.executable, "-c", _SEEDED, *options],
        env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False,
    )  # fmt: skip
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
