"""Ranks of a job: who they are, what each writes, and what is left when a signal or a kill ends one."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from side_by_side import environment, retrograd

from retrograd.cli.launcher import Launch, launched, outside_a_job
from retrograd.cli.signal_saving import put_off, saved_on_signals
from retrograd.cli.stacks import Answering, ask, stacks_text
from retrograd.inspect.differences import diff
from retrograd.inspect.lineup.lineup import Lineup
from retrograd.inspect.recording.loading import load_recording

PROGRAM = """
import ctypes, sys, time
import retrograd as rg
stuck = ctypes.CDLL(None).sleep
w = rg.ones(3, requires_grad=True)
for step in range(4):
    (w * w).sum().backward()
print("ready", flush=True)
mode = sys.argv[1]
if mode == "raise":
    raise ValueError("bad batch")
if mode == "sleep":
    time.sleep(100)
if mode == "stuck":
    stuck(100)
if mode == "own":
    import signal
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    print("set", flush=True)
    while True:
        time.sleep(0.05)
if mode == "fork":
    import os, signal
    if (child := os.fork()) == 0:
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        os._exit(0)
    print(os.waitpid(child, 0)[1], signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"RANK": "3"}, None),
        ({"RANK": "x", "WORLD_SIZE": "4"}, None),
        ({"RANK": "4", "WORLD_SIZE": "4"}, None),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, Launch(3, 4)),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, Launch(0, 2)),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, Launch(1, 2)),
        ({"RANK": "0", "WORLD_SIZE": "2", "TORCHELASTIC_RESTART_COUNT": "3"}, Launch(0, 2, 3)),
    ],
)
def test_environment_of_launchers(environment: dict[str, str], found: Launch | None) -> None:
    """Rank and world size are read from torchrun's, Open MPI's and MPICH's variables; nonsense is nobody's rank."""
    assert launched(environment) == found
    assert launched(outside_a_job(environment)) is None


def test_names_of_files() -> None:
    """The rank stands before the whole suffix; a job of one process keeps its file."""
    assert Launch(2, 4).own("a.b/run.json", (".json",)) == "a.b/run.rank2.json"
    assert Launch(0, 2).own("t.trace.json", (".trace.json",)) == "t.rank0.trace.json"
    assert Launch(1, 2).own("x.dir/plain", (".json",)) == "x.dir/plain.rank1"
    assert Launch(0, 1).own("run.json", (".json",)) == "run.json"
    assert Launch(1, 2, 1).own("run.json", (".json",)) == "run.attempt1.rank1.json"
    assert Launch(0, 1, 2).own("run.json", (".json",)) == "run.attempt2.json"


def start(place: Path, mode: str, *options: str, rank: int = 1) -> subprocess.Popen[bytes]:
    """Start one rank of two and wait until its backward runs are done; nothing of its output waits in a buffer here."""
    (place / "train.py").write_text(PROGRAM)
    environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}
    command = [sys.executable, "-m", "retrograd", "trace", "train.py", "-o", "run.json", *options, "--", mode]
    started = subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    return started


def ended(started: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for a process, and leave none behind."""
    try:
        out, err = started.communicate(timeout=300)
    finally:
        started.kill()
    return started.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("mode", ["sleep", "stuck"])
def test_sigterm_saves_what_there_is(mode: str, tmp_path: Path) -> None:
    """A rank that is told to end dies of that signal and leaves its recording, also while it is stuck in C."""
    started = start(tmp_path, mode)
    time.sleep(0.3)
    started.send_signal(signal.SIGTERM)
    code, _, err = ended(started)
    found = load_recording(str(tmp_path / "run.rank1.json"))

    assert (code, err) == (-signal.SIGTERM, "")
    assert (found.rank, found.world_size, len(found.graphs), found.complete) == (1, 2, 4, False)
    assert found.events[-1].data["type"] == "SIGTERM"
    assert found.events[-1].source is not None
    assert found.events[-1].source.line > 10
    assert list(tmp_path.glob(".retrograd*")) == []


HANGING = """
import ctypes
libc, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
print("hangs", flush=True)
libc.pthread_mutex_lock(mutex), libc.pthread_mutex_lock(mutex)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "sysv_signal"), reason="needs one-shot handlers of signals")
def test_sigterm_ends_what_holds_the_lock_of_python(tmp_path: Path) -> None:
    """A rank that is stuck in C with Python's lock held dies of the signal after a while; no process is left."""
    (tmp_path / "hangs.py").write_text(HANGING)
    command = [sys.executable, "-m", "retrograd", "trace", "-q", "-o", "run.json", "hangs.py"]
    extra = {"RANK": "1", "WORLD_SIZE": "2"}
    started = subprocess.Popen(
        command, cwd=tmp_path, env=environment(**extra), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"hangs\n"
    started.send_signal(signal.SIGTERM)
    out, err = started.communicate(timeout=60)

    assert (started.returncode, out, err) == (-signal.SIGTERM, b"", b"")
    deadline = time.monotonic() + 10
    while (left := _running(b"hangs.py")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _running(word: bytes) -> list[str]:
    """Processes in whose command a word stands."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and word in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:  # gone meanwhile
            pass
    return found


def test_sigint_and_a_handler_of_the_program(tmp_path: Path) -> None:
    """Ctrl-C ends the program as ever, with its results; a SIGTERM handler of the program's own is what decides."""
    started = start(tmp_path, "sleep", rank=0)
    time.sleep(0.3)
    started.send_signal(signal.SIGINT)
    code, _, err = ended(started)
    assert code == -signal.SIGINT
    assert "KeyboardInterrupt" in err
    assert load_recording(str(tmp_path / "run.rank0.json")).complete
    started = start(tmp_path, "own")
    assert started.stdout is not None
    started.stdout.readline()
    started.send_signal(signal.SIGTERM)
    assert ended(started)[0] == 7
    assert load_recording(str(tmp_path / "run.rank1.json")).complete


DEADLOCKED = """
import ctypes
import retrograd as rg

def holds(libc, mutex):
    libc.pthread_mutex_lock(mutex), libc.pthread_mutex_lock(mutex)

rg.ones(3, requires_grad=True).sum().backward()
print("holds", flush=True)
holds(ctypes.CDLL(None), ctypes.create_string_buffer(64))
"""


def test_a_rank_that_never_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where it is when it is asked, and reports after a Ctrl-C to which it cannot react."""
    (tmp_path / "train.py").write_text(DEADLOCKED)
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "1", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "retrograd", "diagnose", "train.py"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    started = subprocess.Popen(command, cwd=tmp_path, env=environment, **piped)
    try:
        assert started.stdout is not None
        assert started.stderr is not None
        assert started.stdout.readline() == b"holds\n"
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        (one,) = ask()
        assert (one.process, one.rank, one.script) == (started.pid, 0, "train.py")
        assert f"rank 0 of train.py\n  MainThread\n    holds at {tmp_path}/train.py:6\n" in stacks_text([one])

        started.send_signal(signal.SIGINT)
        assert b"there is no recording of rank 1" in started.stderr.readline()
    finally:
        started.kill()
        ended(started)
    assert ask() == []


def test_a_process_that_becomes_a_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a program starts itself can be asked as soon as it has joined a group."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    joined: list[Launch] = []
    over = threading.Event()
    answering = Answering(lambda: next(iter(joined), None), "spawns.py")
    assert ask() == []
    joined.append(Launch(1, 2))
    answering.look()
    thread = threading.Thread(target=lambda: [answering.look() for _ in iter(lambda: over.wait(0.01), True)])
    thread.start()
    (one,) = ask()
    over.set()
    thread.join()
    answering.end()

    assert (one.process, one.rank, one.script) == (os.getpid(), 1, "spawns.py")
    assert "test_a_process_that_becomes_a_rank" in stacks_text([one])
    assert ask() == []


def test_sigterm_while_the_first_rank_reports() -> None:
    """A launcher sends it as soon as another rank has failed: the report is finished, then the process dies of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with put_off(lambda: os.write(writing, b"hurry ")):
            os.kill(os.getpid(), signal.SIGTERM)
            os.write(writing, b"reported")
        os._exit(0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    assert os.read(reading, 100) == b"hurry reported"
    os.close(reading)
    os.close(writing)


def test_a_save_that_has_begun_ends_before_the_last_one() -> None:
    """A program whose own handler ends it at once would otherwise have its whole recording written over."""
    order: list[str] = []

    def slowly(name: str) -> None:
        time.sleep(0.3)
        order.append(name)

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with saved_on_signals(slowly):
            os.kill(os.getpid(), signal.SIGTERM)
        order.append("after")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert order == ["SIGTERM", "after"]


def test_a_killed_rank_leaves_what_it_flushed(tmp_path: Path) -> None:
    """After SIGKILL the file holds the runs up to the last flush, and the comparison says that it was cut off."""
    started = start(tmp_path, "sleep", "--flush-every", "3")
    started.kill()
    ended(started)
    killed = load_recording(str(tmp_path / "run.rank1.json"))
    ended(start(tmp_path, "end", rank=0))
    found = diff([load_recording(str(tmp_path / "run.rank0.json")), killed])

    assert (len(killed.graphs), killed.complete) == (3, False)
    assert isinstance(found, Lineup)
    assert [one.state for one in found.endings] == ["finished", "cut off"]
    assert found.divergence is not None
    assert found.divergence.step == 3


def test_a_rank_that_raises_and_one_that_forks(tmp_path: Path) -> None:
    """The traceback and exit code of an error stay; a forked child has none of our signals and writes nothing."""
    code, _, err = ended(start(tmp_path, "raise"))
    assert code == 1
    assert err.endswith(
        "ValueError: bad batch\nretrograd: wrote run.rank1.json (4 backward passes were recorded; --step chooses)\n"
    )
    assert load_recording(str(tmp_path / "run.rank1.json")).events[-1].data["message"] == "bad batch"
    code, out, err = ended(start(tmp_path, "fork"))
    assert (code, out) == (0, "0 True\n")
    assert err.count("wrote") == 1


NAN = """
import os
import retrograd as rg
rank = int(os.environ["RANK"])
w = rg.ones(3, requires_grad=True)
v = rg.ones(3, requires_grad=True)
for step in range(3):
    x = rg.ones(3) * (0.0 if rank == 1 and step == 1 else 2.0)
    h = rg.log(x * w)
    (h * h * (v if rank or step < 2 else 1.0)).sum().backward()
"""


def test_the_first_nonfinite_value_of_real_ranks(tmp_path: Path) -> None:
    """Recorded processes: the rank, the step and the line that made the first infinity, and who lacks a gradient."""
    (tmp_path / "train.py").write_text(NAN)
    words = ["trace", "train.py", "--level", "full", "-o", "run.json", "-q"]
    for rank in ("0", "1"):
        assert retrograd(*words, cwd=tmp_path, engine=True, RANK=rank, WORLD_SIZE="2").code == 0
    found = diff([load_recording(str(tmp_path / f"run.rank{rank}.json")) for rank in (0, 1)])
    assert isinstance(found, Lineup)
    (one,) = found.nonfinite

    assert (one.run, one.place.step, one.phase, one.what) == (1, 1, "forward", "3 inf")
    assert (one.place.op, one.place.source and one.place.source.line) == ("log", 9)
    assert [(part.name, part.step, part.runs) for part in found.partial] == [("v", 2, (1,))]
    assert {gap.expected for gap in found.norms} == {True}
