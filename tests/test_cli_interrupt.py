"""Ctrl-C in a command that runs no program: it dies of the signal, and says so in one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

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

    said = "retrograd: interrupted; nothing was written.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", said)
