"""Processes that a program starts are recorded into files of their own, and neither they nor the program notice."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from side_by_side import OURS, finish, retrograd, start

from retrograd.cli.children.recording_folder import BEGUN, LEFT, MOST, QUIET, SEEN, TRAINED, RecordingFolder
from retrograd.inspect.recording.loading import load_recording

JOB = """
import os, sys, time
import retrograd as torch
def train(number):
    w = torch.ones(2, requires_grad=True)
    (w * number).sum().backward()
    print(number, w.grad.tolist(), sorted(name for name in os.environ if "RETROGRAD" in name), flush=True)
    if number == 2:
        raise ValueError("two")
if __name__ == "__main__":
    print(os.environ.get("PYTHONPATH"), len([p for p in sys.path if "children" in p]), "sitecustomize" in sys.modules)
    if sys.argv[1:] == ["9"]:
        os.write(1, b"9")
        time.sleep(60)
    train(*map(int, sys.argv[1:]))
    sys.exit(5)
"""
PROGRAMS = {
    "forks": """
import os, sys
from job import train
for number in range(3):
    child = os.fork()
    if child == 0:
        train(number)
        os._exit(4) if number else sys.exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
""",
    "multiprocessing": """
import multiprocessing, sys
from job import train
if __name__ == "__main__":
    for number, way in enumerate(["fork", "spawn", "forkserver"]):
        process = multiprocessing.get_context(way).Process(target=train, args=(number,))
        process.start()
        process.join()
        print(process.exitcode, flush=True)
""",
    "commands": """
import os, subprocess, sys
job = [sys.executable, "job.py"]
print(subprocess.call([*job, "0"], env={**os.environ, "MORE": "1"}), flush=True)
print(subprocess.call([*job, "2"], env={os.fsencode(name): value for name, value in os.environ.items()}), flush=True)
print(os.system(f"{sys.executable} job.py 1"), flush=True)
print(subprocess.call([sys.executable, "-c", "print(1)"]), flush=True)
""",
}


def recorded(folder: Path) -> list[tuple[str, list[str]]]:
    """What the files of processes say: file, and kinds of the events that tell what became of it."""
    found = []
    for path in sorted(folder.glob("run.*.json")):
        kinds = [event.kind for event in load_recording(str(path)).events]
        found.append((path.name, [kind for kind in kinds if kind in ("backward", "error")]))
    return found


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_each_leaves_a_file(tmp_path: Path, name: str) -> None:
    """Whichever way processes start, they print and end as under python, and each leaves a whole recording."""
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    plain = finish(start([sys.executable, "program.py"], tmp_path))
    watched = retrograd("trace", "--children", "-o", "run.json", "program.py", cwd=tmp_path)

    assert (watched.code, watched.out, OURS.sub("", watched.err)) == (plain.code, plain.out, plain.err)
    failed = 2 if name == "commands" else 3
    kinds = [["backward", "error"] if number == failed else ["backward"] for number in (1, 2, 3)]
    assert recorded(tmp_path) == [(f"run.child{number}.json", kinds[number - 1]) for number in (1, 2, 3)]
    assert "not recorded" not in watched.err


def test_who_is_killed(tmp_path: Path) -> None:
    """A process that SIGTERM ends leaves what there was, one that nothing can catch is counted, and no file is half."""
    (tmp_path / "program.py").write_text("""
import multiprocessing, os, signal, subprocess, sys, time
from job import train
def forever(number):
    train(number)
    os.write(1, b"ready ")
    while True:
        time.sleep(0.1)
if __name__ == "__main__":
    print(multiprocessing.Pool(1).map(train, [1]))  # whose worker is idle when it is ended
    for how in (signal.SIGTERM, signal.SIGKILL):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            forever(0)
        os.read(reading, 1)
        time.sleep(0.5)
        os.kill(child, how)
        print(os.waitpid(child, 0)[1] == how, flush=True)
""")
    (tmp_path / "job.py").write_text(JOB)
    watched = retrograd("trace", "--children", "-o", "run.json", "program.py", cwd=tmp_path)

    assert watched.out.splitlines()[-3:] == ["[None]", "True", "True"]
    assert recorded(tmp_path) == [("run.child1.json", ["backward"]), ("run.child2.json", ["backward", "error"])]
    assert "1 process that the program started was not recorded" in watched.err
    assert not list(tmp_path.glob("*tmp*"))


def test_gone_at_once(tmp_path: Path) -> None:
    """A program that ends by ``os._exit`` leaves its recording, too, and those of its children; it flushes nothing."""
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "program.py").write_text("""
import os, sys
from job import train
child = os.fork()
train(0)
if child:
    os.waitpid(child, 0)
sys.stdout = open(1, "w")
print("never flushed")
os._exit(3)
""")
    plain = finish(start([sys.executable, "program.py"], tmp_path))
    watched = retrograd("trace", "--children", "-o", "run.json", "program.py", cwd=tmp_path)

    assert (watched.code, watched.out) == (plain.code, plain.out)
    assert recorded(tmp_path) == [("run.child1.json", ["backward"])]
    assert [event.kind for event in load_recording(str(tmp_path / "run.json")).events].count("backward") == 1


def test_diagnosed(tmp_path: Path) -> None:
    """Findings are said below the process that they are about; what two have in common is said once."""
    (tmp_path / "program.py").write_text("""
import multiprocessing
import retrograd as torch
def train(good):
    w = torch.ones(2, requires_grad=True)
    sgd = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        if good:
            sgd.zero_grad()
        (w * 2).sum().backward()
        sgd.step()
processes = [multiprocessing.get_context("fork").Process(target=train, args=(good,)) for good in (True, False, False)]
for process in processes:
    process.start()
    process.join()
""")
    said = retrograd("diagnose", "--children", "program.py", cwd=tmp_path)
    assert said.code == 1
    assert "\nretrograd: 1 finding\n" in said.err
    assert said.err.startswith("retrograd: process 2 (ForkProcess-2), process 3 (ForkProcess-3):\n")
    retrograd("diagnose", "--children", "program.py", "-o", "found.json", cwd=tmp_path)
    findings = json.loads((tmp_path / "found.json").read_text())["findings"]
    assert [(one["kind"], one["process"]) for one in findings] == [
        ("missing-zero-grad", "process 2 (ForkProcess-2), process 3 (ForkProcess-3)")
    ]


def test_ranks(tmp_path: Path) -> None:
    """Processes that are told of a rank of their own are ranks: so are their files called, and findings of both."""
    (tmp_path / "rank.py").write_text("""
import os
import retrograd as torch
used = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([used], lr=0.1)
for _ in range(3):
    (used * (1 + int(os.environ["RANK"]))).sum().backward()
    optimizer.step()
""")
    (tmp_path / "launch.py").write_text("""
import os, subprocess, sys
for rank in "01":
    subprocess.run([sys.executable, "rank.py"], env=os.environ | {"RANK": rank, "WORLD_SIZE": "2"}, check=True)
""")
    retrograd("trace", "--children", "-o", "run.json", "launch.py", cwd=tmp_path)
    assert [name for name, _ in recorded(tmp_path)] == ["run.rank0.json", "run.rank1.json"]
    said = retrograd("diagnose", "--children", "launch.py", cwd=tmp_path)
    assert said.err.startswith("retrograd: rank 0, rank 1:\n")


def test_threads_and_forks(tmp_path: Path) -> None:
    """Children that are forked while threads compute never wait for a lock that nobody opens."""
    (tmp_path / "program.py").write_text("""
import os, threading
import retrograd as torch
stopped = threading.Event()
def compute():
    w = torch.ones(9, requires_grad=True)
    while not stopped.is_set():
        (w * 2).sum().backward()
torch.ones(1)
threads = [threading.Thread(target=compute) for _ in range(2)]
for thread in threads:
    thread.start()
for number in range(8):
    child = os.fork()
    if child == 0:
        (torch.ones(2, requires_grad=True) * number).sum().backward()
        os._exit(number)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stopped.set()
""")
    watched = retrograd("trace", "--level", "full", "--children", "-o", "run.json", "program.py", cwd=tmp_path)

    assert watched.out == "".join(f"{number}\n" for number in range(8))
    assert len(recorded(tmp_path)) == 8


def test_fork_at_a_first_call(tmp_path: Path) -> None:
    """A child that is forked while a thread calls an operator for the first time calls it, too, and does not wait."""
    (tmp_path / "program.py").write_text("""
import os, signal, threading
import retrograd as torch
import retrograd.engine.table.op as rows
made, begun, forked = rows.make_node_class, threading.Event(), threading.Event()
def make(row):
    begun.set()
    forked.wait()
    return made(row)
w = torch.ones(2, requires_grad=True)
rows.make_node_class = make
thread = threading.Thread(target=w.tan)
thread.start()
begun.wait()
child = os.fork()
forked.set()
if child == 0:
    signal.alarm(20)
    w.tan().sum().backward()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    finished = finish(start([sys.executable, "program.py"], tmp_path))

    assert (finished.code, finished.out) == (0, "7\n")


def test_one_stream(tmp_path: Path) -> None:
    """Files of several processes do not fit on standard output, and recordings start no processes."""
    (tmp_path / "program.py").write_text("")

    for arguments in (["trace", "-o", "-"], ["stats", "-o", "-"], ["diagnose", "--twice"]):
        refused = retrograd(*arguments, "--children", "program.py", cwd=tmp_path)
        assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_no_more_than_enough(tmp_path: Path) -> None:
    """Of workers without a backward pass few recordings are kept, and those that train have room beside them."""
    folder = RecordingFolder(str(tmp_path))
    for number in range(MOST[QUIET] + 2):
        file = folder.enter(f"1-{number}")
        file.become(BEGUN)
        file.become(QUIET if file.has_room(QUIET) else LEFT)

    assert (len(folder.recorded()), folder.left()) == (MOST[QUIET], 2)
    assert folder.enter("1-99").has_room(TRAINED)


def test_of_which_there_is_no_recording(tmp_path: Path) -> None:
    """Counted is who was started and never came, or came and did not end; not who had nothing to record."""
    folder = RecordingFolder(str(tmp_path))
    folder.start("1-0", os.getpid() + 1)  # it never came
    folder.start("1-1", os.getpid() + 2)  # a shell: what it started came
    folder.enter("1-1").become(SEEN)
    assert folder.unrecorded() == 1

    file = folder.enter("")
    file.become(BEGUN)
    assert folder.unrecorded() == 2
    file.become(TRAINED)
    assert folder.unrecorded() == 1
