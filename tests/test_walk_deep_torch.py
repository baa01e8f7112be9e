"""Deep PyTorch graphs: a watched program must not crash when it releases one.

Each program has a process of its own, which ends as processes do; all are forks of one that has imported PyTorch.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

START = """
import resource, threading, time
import torch
from retrograd.inspect import log_hooks, walk
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.torch_.backward import release as torch_release

STACK = 4 << 20  # half of the usual one, so that graphs half as deep show the same
DEPTH = 24_000  # above 20,000 or so it does not hold the release

def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))

small_stack()
threading.stack_size(STACK)

def build():
    h = torch.ones(2, requires_grad=True)
    for step in range(DEPTH):
        h = h.sin() if step & 1 else h * 1.001
    return h.sum()

def touched_by_hand(loss):
    seen = [loss.grad_fn]
    for node in seen:
        seen += [child for child, _ in node.next_functions if child is not None]

def failing():
    loss = build()
    walk(loss)
    raise ValueError("as the user meant")

def in_thread(function):
    failures = []
    def run():
        try:
            function()
        except BaseException as error:
            failures.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
"""

PROGRAMS = {
    "on the main thread": """
        loss = build()
        assert len(walk(loss)) == DEPTH + 2
        loss.backward()
        del loss

        small_stack()  # release without backward
        loss = build()
        walk(loss)
        del loss

        small_stack()  # recorder on, loss dropped first
        with recording() as record:
            loss = build()
            loss.backward()
            del loss
        assert len(record.graphs[0]) == DEPTH + 2, record.events

        small_stack()
        try:
            failing()
        except ValueError:
            pass

        small_stack()  # hooks on every node
        loss, lines = build(), []
        with log_hooks(loss, lines.append):
            loss.backward()
        assert len(lines) == DEPTH + 2
        del loss
    """,
    "alive at interpreter exit": """
        loss = build()
        walk(loss)
    """,
    "in threads": """
        def walked():
            loss = build()
            assert len(walk(loss)) == DEPTH + 2
            loss.backward()
        in_thread(walked)

        def recorded():
            loss = build()
            loss.backward()
        with recording() as record:
            in_thread(recorded)
        assert len(record.graphs[0]) == DEPTH + 2, record.events

        threading.stack_size(256 * 1024)
        def held_no_longer_than_used():
            loss = build()
            walk(loss)
            assert torch_release.held_nodes() > 0
            del loss
            end = time.time() + 150
            while torch_release.held_nodes() and time.time() < end:
                time.sleep(0.01)
            assert torch_release.held_nodes() == 0
        in_thread(held_no_longer_than_used)
    """,
    "interpreter exit amid a release in the background": """
        def dropped():
            loss = build()
            walk(loss)
            del loss
            end = time.time() + 150
            while torch_release.held_nodes() > DEPTH // 300 and time.time() < end:
                time.sleep(0.001)
        in_thread(dropped)
    """,
    "walked in a thread, alive at interpreter exit": """
        def run():
            global loss
            loss = build()
            walk(loss)
        in_thread(run)
    """,
    "hard limit too low to raise": """
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))
        loss = build()
        walk(loss)
        del loss
    """,
}


TOUCHED = "touched without protection"
PROGRAMS[TOUCHED] = """
    loss = build()
    touched_by_hand(loss)
    del loss
"""

FORKS = """
import gc, json, os, signal, sys
gc.freeze()  # or each fork would walk all of PyTorch's modules when it ends
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
signal.alarm(300)
code, out = json.loads(line)
for stream in (1, 2):
    os.dup2(os.open(out, os.O_CREAT | os.O_WRONLY | os.O_APPEND), stream)
exec(code)
print("end of script")
"""


@pytest.fixture(scope="module")
def warm() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported PyTorch, under a small soft limit of its stack, and forks itself for each program."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", START + FORKS], stdin=pipe, stdout=pipe, text=True) as process:
        yield process


def run(warm: subprocess.Popen[str], name: str, folder: Path) -> tuple[int, str]:
    """Exit code and output of a program."""
    assert warm.stdin is not None
    assert warm.stdout is not None
    out = folder / "out.txt"
    warm.stdin.write(json.dumps([textwrap.dedent(PROGRAMS[name]), str(out)]) + "\n")
    warm.stdin.flush()
    return int(warm.stdout.readline()), out.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="stack limits are Unix's")
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != TOUCHED])
def test_release(name, warm, tmp_path):
    """A deep chain is walked and released, and the program ends with exit code 0."""
    assert run(warm, name, tmp_path) == (0, "end of script\n")


@pytest.mark.skipif(sys.platform != "linux", reason="measured on Linux")
def test_the_danger_is_real(warm, tmp_path):
    """The same program dies when its nodes are touched without protection, so the tests above can fail."""
    code, _ = run(warm, TOUCHED, tmp_path)

    assert code == -signal.SIGSEGV


def test_cut_points_bound_every_path():
    """No path that avoids the chosen nodes is longer than the stride, skip connections notwithstanding."""
    from retrograd.inspect import walk
    from retrograd.inspect.sources.torch_.backward.release import cut_points

    h = torch.ones(2, requires_grad=True)
    kept = [h]
    for step in range(400):
        h = h.sin() + kept[max(0, step - 7 * (step % 5))]
        kept.append(h)
    snapshot = walk(h, find_names=False)
    cuts = cut_points(snapshot, 10)

    longest = [0] * len(snapshot)
    children: list[list[int]] = [[] for _ in range(len(snapshot))]
    for start, end in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        children[start].append(end)
    by_age = sorted(range(len(snapshot)), key=lambda place: -1 if snapshot.seq[place] is None else snapshot.seq[place])
    for place in by_age:  # children are older than their parents
        if place not in cuts:
            longest[place] = 1 + max((longest[child] for child in children[place]), default=0)

    assert cuts
    assert max(longest) <= 11
