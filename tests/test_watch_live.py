"""The table at the bottom of the terminal: drawn there, taken away again, and the program's output is as alone."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

from side_by_side import environment

LINES, COLUMNS = 30, 100
PROGRAM = """\
import os, time
import retrograd as torch

weight = torch.ones(3, requires_grad=True)
sgd = torch.optim.SGD([weight], lr=0.1)
for step in range(8):
    sgd.zero_grad()
    (weight ** 2).sum().backward()
    sgd.step()
    print("step", step, flush=True)
    time.sleep(0.1)
if os.fork() == 0:
    os._exit(0)
os.wait()
"""


def watched(folder: Path, *options: str) -> tuple[bytes, str]:
    """Run the program with a terminal as stderr; return its stdout and what the terminal was sent."""
    (folder / "train.py").write_text(PROGRAM)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (LINES, COLUMNS))
    command = [sys.executable, "-m", "retrograd", "watch", "-q", *options, "train.py"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(TERM="xterm"), stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    sent = bytearray()
    try:
        while part := os.read(ours, 65536):
            sent += part
    except OSError:  # Linux: the terminal has no writers any more
        pass
    os.close(ours)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, bytes(sent).decode()
    return out, bytes(sent).decode()


def test_table_stands_below_what_scrolls(tmp_path: Path) -> None:
    """The region that scrolls ends above it, its lines are the last ones, and in the end the terminal is whole."""
    plain, silent = watched(tmp_path)
    out, sent = watched(tmp_path, "--live")

    assert out == plain == b"".join(b"step %d\n" % step for step in range(8))
    assert "\x1b" not in silent
    regions = re.findall(r"\x1b\[((?:\d+;\d+)?)r", sent)
    assert regions == [f"1;{LINES - 5}", ""]
    assert {int(line) for line in re.findall(r"\x1b\[(\d+);1H", sent)} == set(range(LINES - 4, LINES + 1))
    assert sent.count("\x1b7") == sent.count("\x1b8")
    assert re.search(r"train\.py · step \d+ · .* a step", sent)
    assert re.search(r"loss +[\d.]+ [▁▂▃▄▅▆▇█]+", sent)
