"""Runs a program in a separate process and records it into a file; all such runs seed their generators alike."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace

from ..inspect.recording.kept_steps import KEPT
from .launcher import outside_a_job
from .target import Target

_FLAGS = {"module": "-m", "code": "-c"}
TYPED = "<string>"
"""What the code that follows ``-c`` is called as a file."""


def run_recorded(
    target: Target,
    file: str,
    *,
    shown: bool,
    texts: Mapping[str, str] | None = None,
    limit: float | None = None,
    keep: str = str(KEPT),
) -> int | None:
    """Run a program once, recorded at level ``full`` into a file; return its exit code, None if it took too long.

    It has no standard input; what it prints is dropped unless it is to be ``shown``.
    ``texts``: what files of the program are to read as, in place of what is on disk, which stays as it is.
    ``limit``: seconds.  ``keep``: as the option of ``trace``.
    """
    if texts and target.kind == "code":
        target = replace(target, text=texts.get(TYPED, target.text))
    words = [_FLAGS[target.kind]] if target.kind in _FLAGS else []
    options = ["trace", "--level", "full", "--keep", keep, "-f", "json", "-o", file, "-q", *words, target.text, "--"]
    environment = outside_a_job(os.environ)  # each run is a whole recording, also where a launcher started us
    environment.setdefault("PYTHONHASHSEED", "0")
    output = None if shown else subprocess.DEVNULL
    with tempfile.TemporaryDirectory(prefix="retrograd-texts-") as folder:
        laid = os.path.join(folder, "texts.json") if texts else ""
        if laid:
            with open(laid, "w", encoding="utf-8") as stream:
                json.dump(dict(texts or {}), stream)
        process = subprocess.Popen(
            [sys.executable, "-c", f"from retrograd.cli.seeded import start; start({laid!r})", *options, *target.args],
            env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=limit is not None,
        )  # fmt: skip
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process, whole_group=limit is not None)
    return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[bytes], *, whole_group: bool) -> None:
    """End a process that still runs, with those that it started."""
    if process.poll() is None:
        if whole_group and hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
