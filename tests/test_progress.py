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
import sys, threading, time
from retrograd.inspect import progress
seconds, kind = float(sys.argv[1]), sys.argv[2]
progress.PATIENCE = 0.2 if seconds else 60.0
with progress.progress("drawing [red]x", surely_long=kind == "one call"):
    if kind == "one call":
        time.sleep(seconds)
    else:
        end = time.monotonic() + seconds
        for _ in progress.followed(iter(lambda: time.monotonic() > end, True)):
            assert threading.active_count() == 1 and sys.stderr is sys.__stderr__
print("done", file=sys.stderr)
"""
IN_A_PROGRAM = """
import threading
import retrograd as rg
from retrograd.inspect import progress
progress.PATIENCE = 0.0
with rg.debug(level="graph") as trace:
    y = rg.ones(2, requires_grad=True)
    for _ in range(2000):
        y = y * 1.5
    y.sum().backward()
trace.save("x.svg", fold=())
assert threading.active_count() == 1
"""


INTERRUPTED = """
import os, signal, sys, retrograd as rg
from retrograd.inspect import progress
def show(work):
    next(looks, 1) or os.kill(os.getpid(), signal.SIGINT)
progress.PATIENCE, progress._PAUSE, progress._Work.show = 0.0, 0.0, show
sys.__stderr__.isatty = lambda: True
y = rg.ones(2, requires_grad=True)
for _ in range(3000): y = y * 1.5
for word in sys.argv[1:]:
    looks = iter(range(int(word), -1, -1))
    if (child := os.fork()) == 0:
        with rg.debug(level='graph') as trace: y.sum().backward()
        trace.save('out.svg', fold=())
        sys.exit()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(ended, os.listdir(), open('out.svg').read(), flush=True)
"""
"""Records and saves a graph in children, one of which is interrupted at each of the looks that arguments name."""


def on_terminal(*arguments: str, folder: Path | None = None) -> str:
    """What a terminal gets on stderr from a program."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    started = subprocess.Popen([sys.executable, *arguments], stderr=child, env=environment, cwd=folder)
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
    assert started.wait(timeout=300) == 0, b"".join(parts)
    return b"".join(parts).decode()


@pytest.mark.parametrize("kind", ["loops", "one call"])
def test_bar_on_a_terminal_for_long_work(kind: str) -> None:
    """Long work shows what is done and erases it again, without a thread and with the program's own streams."""
    shown = on_terminal("-c", WORK, "1.5", kind)

    assert "drawing [red]x" in shown
    assert "━" in shown
    assert shown.rindex("\x1b[2K") > shown.rindex("drawing")
    assert shown.endswith("done\r\n")


def test_short_work_shows_nothing() -> None:
    """Below the patience no byte is written."""
    assert on_terminal("-c", WORK, "0.0", "loops") == "done\r\n"


def test_walking_and_drawing_in_a_program_of_the_user_s(tmp_path: Path) -> None:
    """What a watched program does itself, with our library, shows the same bars and starts no thread."""
    shown = on_terminal("-c", IN_A_PROGRAM, folder=tmp_path)

    assert "walking the graph" in shown
    assert "drawing svg" in shown


@pytest.mark.parametrize("kind", ["loops", "one call"])
def test_nothing_where_no_terminal_is(kind: str) -> None:
    """A pipe or file gets no word of it."""
    done = subprocess.run([sys.executable, "-c", WORK, "0.4", kind], capture_output=True, text=True, check=True)

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
    started.communicate(timeout=300)
    text = target.read_text()

    assert text == "old" or text.endswith("</graphml>\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.graphml", "run.json"]


def test_interrupting_the_user_s_program_leaves_no_half_file(tmp_path: Path) -> None:
    """Ctrl-C while a script saves, at any moment: the old file stays or the new one is whole; the bar is gone."""
    (tmp_path / "out.svg").write_text("old")
    words = [sys.executable, "-c", INTERRUPTED, "14", "40", "80"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stderr.count("\nKeyboardInterrupt") == 3
    assert done.stdout == f"{-signal.SIGINT} ['out.svg'] old\n" * 3
