"""Real ranks: PyTorch's gloo on the loopback, recorded, and explained from their files alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from marked_lines import line_of

from retrograd.inspect.differences import diff
from retrograd.inspect.lineup.lineup import Lineup
from retrograd.inspect.recording.loading import load_recording

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")
PROGRAM = """
import os, sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
rank, ranks, mode = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1]
dist.init_process_group("gloo", init_method="file://" + os.environ["STORE"], rank=rank, world_size=ranks)
torch.manual_seed(0)
torch.set_num_threads(1)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))
x = torch.ones(4, 4) * (rank + 1)
for step in range(3):
    loss = model(x).pow(2).mean()
    if mode == "branch" and rank == 1 and step == 1:
        loss = loss + model.module[0].weight.exp().sum()
    if mode == "hang" and step == 2:
        for number, parameter in enumerate(model.parameters()):
            parameter.register_hook(lambda g, number=number: open(f"reached.{rank}.{number}", "w").close())
    if mode == "hang" and rank == 3 and step == 2:
        open("hanging", "w").close()
        while True:
            time.sleep(0.1)
    loss.backward()
total = float(sum(p.grad.double().sum() for p in model.parameters()))
with open(f"{os.environ['STORE']}.grads.{rank}", "w") as file:  # no print: lines of ranks would mix
    file.write(repr(total))
del model, loss  # before the group: a reducer that goes last frees it with the GIL held, for which its thread may wait
dist.destroy_process_group()
"""


LAUNCHER = """
import gc, os, runpy, signal, sys
import torch._dynamo, torch.distributed._shard, torch.nn.parallel  # as every rank's DistributedDataParallel would
from retrograd.cli.main import main

def start(way, rank):
    child = os.fork()
    if child == 0:
        os.environ.update(RANK=str(rank), WORLD_SIZE=ranks, STORE=os.path.abspath(f"{way}.store"))
        begin[way]()
        sys.exit()
    return child

def traced():
    sys.argv = ["retrograd", "trace", "train.py", "--level", "backward", "-o", "run.json", "--", mode]
    main()

def alone():
    sys.argv = ["train.py", mode]
    runpy.run_path("train.py", run_name="__main__")

begin = {"traced": traced, "alone": alone}
gc.freeze()  # or each rank would walk all of PyTorch's modules when it ends
ranks, mode, *ways = sys.argv[1:]
for way in ways:
    children = [start(way, rank) for rank in range(int(ranks))]
    signal.signal(signal.SIGTERM, lambda *_: [os.kill(child, signal.SIGTERM) for child in children])
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    print("ends", way, ends, flush=True)
"""
"""Ranks are forks of one process with a single thread, so that PyTorch is imported once for all of them."""


def launch(place: Path, ranks: int, mode: str, *ways: str) -> subprocess.Popen[str]:
    """Start jobs one after another in a process group of their own."""
    (place / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-c", LAUNCHER, str(ranks), mode, *ways]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    with (place / "out.txt").open("a") as out:
        return subprocess.Popen(
            command, cwd=place, env=environment, stdout=out, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )


def finish(job: subprocess.Popen[str], seconds: float = 120.0) -> int:
    """Wait for a job and leave none of its processes behind."""
    try:
        return job.wait(timeout=seconds)
    finally:
        try:
            os.killpg(job.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def lineup(place: Path, ranks: int) -> Lineup:
    """Compare the files of all ranks."""
    found = diff([load_recording(str(place / f"run.rank{number}.json")) for number in range(ranks)])
    assert isinstance(found, Lineup)
    return found


def gradients(place: Path, way: str) -> list[str]:
    """What the ranks wrote of their gradients."""
    return [path.read_text() for path in sorted(place.glob(f"{way}.store.grads.*"))]


def test_a_branch_on_one_of_two_ranks(tmp_path: Path) -> None:
    """The step, the node and the line are found; gradients and exit code are those of the job without us."""
    assert finish(launch(tmp_path, 2, "branch", "traced", "alone")) == 0, (tmp_path / "out.txt").read_text()
    loaded = [load_recording(str(tmp_path / f"run.rank{number}.json")) for number in range(2)]
    found = diff(loaded)
    assert isinstance(found, Lineup)
    assert found.divergence is not None
    (one,) = found.divergence.differences
    ends = [event for event in loaded[1].events if event.kind == "backward-end"]
    first = next(iter(ends[1].data["kept_norms"]))
    ends[1].data["kept_norms"][first] += 1.0
    wrong = diff(loaded)
    assert isinstance(wrong, Lineup)

    assert "ends traced [0, 0]" in (tmp_path / "out.txt").read_text()
    assert "ends alone [0, 0]" in (tmp_path / "out.txt").read_text()
    assert len(gradients(tmp_path, "alone")) == 2
    assert gradients(tmp_path, "traced") == gradients(tmp_path, "alone"), "the same with and without us"
    assert (found.ranks, found.divergence.step, found.divergence.groups) == (True, 1, [[0], [1]])
    assert one.there is not None
    assert one.there.source is not None
    assert (one.there.op, one.there.source.line) == ("ExpBackward0", line_of(".exp()", PROGRAM))
    assert {(gap.name, gap.expected) for gap in found.norms} == {(name, True) for name in NAMES}
    assert [(one.step, one.reduced) for one in wrong.norms if not one.expected] == [(1, True)]
    assert not (tmp_path / "run.json").exists()


def all_wait(place: Path) -> bool:
    """Whether one rank hangs, and the gradients of all parameters of the others are there."""
    return (place / "hanging").exists() and len(list(place.glob("reached.*"))) == 3 * len(NAMES)


def test_a_hang_of_four_ranks(tmp_path: Path) -> None:
    """Three ranks wait in a collective for the fourth; ended by SIGTERM, their files say who waited where."""
    job = launch(tmp_path, 4, "hang", "traced")
    limit = time.monotonic() + 120
    while not all_wait(tmp_path) and job.poll() is None and time.monotonic() < limit:
        time.sleep(0.2)
    time.sleep(1)  # from the last hook to the collective
    job.send_signal(signal.SIGTERM)
    assert finish(job) == 0
    found = lineup(tmp_path, 4)

    assert "ends traced [-15, -15, -15, -15]" in (tmp_path / "out.txt").read_text()
    assert [one.state for one in found.endings] == ["in backward"] * 3 + ["error"]
    waiting = f"train.py:{line_of('loss.backward()', PROGRAM)}"
    assert all(one.last is not None and one.next is None for one in found.endings[:3]), "only the reducer has not ended"
    assert all("SIGTERM at" in one.message and one.message.endswith(waiting) for one in found.endings[:3])
    assert found.endings[3].last is not None
    assert found.endings[3].last.source is not None
    assert found.endings[3].last.source.line in (line_of("while True", PROGRAM), line_of("time.sleep", PROGRAM))
    assert found.divergence is not None
    assert (found.divergence.step, found.divergence.groups) == (2, [[0, 1, 2], [3]])
