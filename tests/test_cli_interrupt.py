"""Ctrl-C while a command reads or makes results: it dies of the signal, and says so in one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

READING = """
import os, signal
from retrograd.cli.main import main
from retrograd.inspect.render.formats import json_
json_._read = lambda path: os.kill(os.getpid(), signal.SIGINT)
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
@pytest.mark.parametrize("command", ["diagnose", "diff", "render", "stats"])
def test_interrupt_while_a_recording_is_read(command: str) -> None:
    """An exit code of 1 would be a finding, or a difference, and a loop of a shell would go on."""
    words = [sys.executable, "-c", READING, command, "run.json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)

    said = "retrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", said)


REPORTING = """
import os, signal
from retrograd.cli import recorded
from retrograd.cli.main import main
reported = recorded._reported
recorded._reported = lambda report, *rest: reported(lambda *made: os.kill(os.getpid(), signal.SIGINT), *rest)
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
def test_interrupt_while_results_are_made(tmp_path: Path) -> None:
    """The program's own output is there; the command dies as it would while the program runs."""
    (tmp_path / "train.py").write_text("print(1)\n")
    words = [sys.executable, "-c", REPORTING, "trace", "train.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)

    said = "retrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "1\n", said)


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
def test_interrupt_while_modules_are_loaded(tmp_path: Path) -> None:
    """Ctrl-C right after Enter shows no traceback of our imports."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    words = [sys.executable, "-m", "retrograd", "samples"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path})

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
