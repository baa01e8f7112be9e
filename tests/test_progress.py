"""The progress bar: on a terminal and only there, only for long work, and gone at the end; no half files."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording_samples import chain, recording

from retrograd.inspect.output import save

WORK = """
import sys, time
from retrograd.inspect import progress
progress.PATIENCE = 0.2
with progress.progress("drawing [red]x"):
    time.sleep(float(sys.argv[1]))
print("done", file=sys.stderr)
"""


def on_terminal(seconds: float) -> str:
    """What a terminal gets on stderr while the work takes so long."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    started = subprocess.Popen([sys.executable, "-c", WORK, str(seconds)], stderr=child, env=environment)
    os.close(child)
    parts = []
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(parent)
    assert started.wait(timeout=60) == 0
    return b"".join(parts).decode()


def test_bar_on_a_terminal_for_long_work_only() -> None:
    """Long work shows what is done and erases it again; short work shows nothing."""
    long, short = on_terminal(1.5), on_terminal(0.0)

    assert "drawing [red]x" in long
    assert "━" in long
    assert long.rindex("\x1b[2K") > long.rindex("drawing")
    assert long.endswith("done\r\n")
    assert short == "done\r\n"


def test_nothing_where_no_terminal_is() -> None:
    """A pipe or file gets no word of it."""
    done = subprocess.run([sys.executable, "-c", WORK, "0.6"], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("", "done\n")


@pytest.mark.parametrize("wait", [0.6, 1.2])
def test_interrupted_work_leaves_no_half_file(wait: float, tmp_path: Path) -> None:
    """After Ctrl-C there is the old file or the whole new one, and nothing beside it."""
    save(recording(chain(60_000)), str(source := tmp_path / "run.json"))
    (target := tmp_path / "out.graphml").write_text("old")
    command = [sys.executable, "-m", "retrograd", "render", str(source), "-o", str(target)]
    started = subprocess.Popen(command, stderr=subprocess.PIPE)
    time.sleep(wait)
    started.send_signal(signal.SIGINT)
    started.communicate(timeout=120)
    text = target.read_text()

    assert text == "old" or text.endswith("</graphml>\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.graphml", "run.json"]
