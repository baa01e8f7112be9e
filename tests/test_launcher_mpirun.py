"""Real ranks under mpirun on our engine, recorded, and explained from their files alone; each job has a time limit.

How a missing mpirun is told from a failure is the business of ``test_distributed_processes``.
"""

from __future__ import annotations

import os
import shutil
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
from retrograd.inspect.render.diff_text import lineup_lines

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT = 300

PROGRAM = """
import os, sys, time
import retrograd as rg

ranks = rg.distributed.connect()
odd, mode = ranks.rank == 1, sys.argv[1]
with open(f"pid{ranks.rank}", "w") as file:
    file.write(str(os.getpid()))
w, v = rg.full((3, 2), 0.5, requires_grad=True), rg.ones(2, requires_grad=True)
known = {"w": w} if mode == "shapes" else {"w": w, "v": v}
parallel = rg.distributed.DataParallel(known, ranks, time_limit=2.0 if mode == "raise" else 100.0)

def stuck(gradient):
    open("stuck", "w").close()
    while True:
        time.sleep(0.05)

for step in range(3):
    wrong = odd and step == 1
    x = rg.full((5 if mode == "shapes" and wrong else 4, 3), 1.0 + ranks.rank)
    if mode == "nan" and wrong:
        x = x / 0.0
    h = rg.tanh(x @ w)
    if mode == "branch" and wrong:
        h = rg.exp(h)
    if mode == "raise" and wrong:
        raise ValueError("bad batch")
    if mode == "stuck" and wrong:
        h.register_hook(stuck)
    if mode == "stuck" and step == 1 and not odd:
        w.register_hook(lambda gradient: open("waiting", "w").close())
    (h * v).sum().backward()
"""


def start(place: Path, mode: str, ranks: int = 2) -> subprocess.Popen[str]:
    """Start recorded ranks in a process group of their own."""
    pytest.importorskip("mpi4py", reason="could not import 'mpi4py'")
    launcher = shutil.which("mpirun", path=os.path.dirname(sys.executable)) or shutil.which("mpirun")
    if launcher is None:
        pytest.skip("could not import 'mpi4py' with its mpirun: there is no mpirun on this machine")
    (place / "train.py").write_text(PROGRAM)
    trace = [sys.executable, "-m", "retrograd", "trace", "train.py", "--level", "full", "-o", "run.json", "-q", "--"]
    only_here = ["--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,sm"]
    patience = {"PRTE_MCA_odls_base_sigkill_timeout": "30"}  # seconds to save in, on a busy machine
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [launcher, *only_here, "-n", str(ranks), *trace, mode],
        cwd=place, env={**os.environ, "PYTHONPATH": str(ROOT), **root, **patience}, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def finish(job: subprocess.Popen[str]) -> str:
    """Wait for a job, leave none of its processes behind, and return what it said."""
    try:
        return job.communicate(timeout=TIME_LIMIT)[1]
    finally:
        try:
            os.killpg(job.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def lineup(place: Path) -> Lineup:
    """Compare the files that there are, once the whole job has ended."""
    found = diff([load_recording(str(path)) for path in sorted(place.glob("run.rank*.json"))])
    assert isinstance(found, Lineup)
    return found


def test_equal_ranks(tmp_path: Path) -> None:
    """Ranks with other data that do the same do not differ; after the all-reduce their norms are the same."""
    job = start(tmp_path, "equal")
    said = finish(job)
    assert job.returncode == 0, said
    found = lineup(tmp_path)
    ends = [[step.end.data["kept_norms"] for step in run.steps if step.end is not None] for run in found.runs]

    assert not found, [*lineup_lines(found)]
    assert found.ranks
    assert [(gap.name, gap.expected) for gap in found.norms] == [("v", True), ("w", True)]
    assert [len(norms) for norms in ends[0]] == [2, 2, 2]
    for mine, theirs in zip(*ends, strict=True):
        assert list(mine.values()) == pytest.approx(list(theirs.values()))


@pytest.mark.parametrize(("mode", "what", "ranks"), [("branch", "operators", 3), ("shapes", "shapes", 2)])
def test_one_rank_takes_another_way(mode: str, what: str, ranks: int, tmp_path: Path) -> None:
    """Another operator on one of three ranks, or another shape on one of two: step, node and line of both sides.

    In the second case v is left out of the reduction, too: its norms differ where w's have become equal.
    """
    job = start(tmp_path, mode, ranks)
    assert finish(job) == ""
    found = lineup(tmp_path)
    others = [rank for rank in range(ranks) if rank != 1]
    assert found.divergence is not None
    (one,) = found.divergence.differences
    assert one.here is not None
    assert one.there is not None
    places = [place.source and (place.op, place.source.line) for place in (one.here, one.there)]

    assert (found.divergence.step, found.divergence.groups, one.what) == (1, [others, [1]], what)
    assert found.step == (1 if ranks == 2 else None)  # two graphs side by side make a picture, three do not
    product = ("MmBackward0", line_of("rg.tanh", PROGRAM))
    branch = [("TanhBackward0", line_of("rg.tanh", PROGRAM)), ("ExpBackward0", line_of("rg.exp", PROGRAM))]
    assert places == (branch if mode == "branch" else [product, product])
    wrong = [(gap.name, gap.step, gap.reduced) for gap in found.norms if not gap.expected]
    assert wrong == ([] if mode == "branch" else [("v", 0, True)])


def test_an_infinity_on_one_rank(tmp_path: Path) -> None:
    """The rank, step and line of the first value that is not finite."""
    assert finish(start(tmp_path, "nan")) == ""
    odd = lineup(tmp_path).nonfinite[0]

    assert (odd.run, odd.place.step, odd.phase, odd.place.op) == (1, 1, "forward", "div")
    assert odd.place.source is not None
    assert odd.place.source.line == line_of("x / 0.0", PROGRAM)


def test_a_rank_that_raises(tmp_path: Path) -> None:
    """Both files are there although exit handlers of MPI end the job: what one raised, and that the other waited."""
    said = finish(start(tmp_path, "raise"))
    endings = lineup(tmp_path).endings

    assert "ValueError: bad batch" in said
    assert [one.state for one in endings] == ["error", "error"]
    assert "ReductionTimeoutError" in endings[0].message
    assert endings[1].message == "ValueError: bad batch"
    assert endings[1].last is not None
    assert endings[1].last.source is not None
    assert endings[1].last.source.line == line_of("raise ValueError", PROGRAM)


@pytest.mark.parametrize("kill", [False, True], ids=["terminated", "one-killed"])
def test_a_rank_that_is_stuck(kill: bool, tmp_path: Path) -> None:
    """One rank hangs in the middle of backward, the other in the reduction; SIGKILL leaves no file, SIGTERM does."""
    job = start(tmp_path, "stuck")
    limit = time.monotonic() + TIME_LIMIT
    names = ("stuck", "waiting")
    while not all((tmp_path / name).exists() for name in names) and job.poll() is None and time.monotonic() < limit:
        time.sleep(0.1)
    time.sleep(1.0)  # from the hook to the reduction
    for rank in (1,) if kill else (1, 0):  # mpirun itself would leave the ranks one second between TERM and KILL
        os.kill(int((tmp_path / f"pid{rank}").read_text()), signal.SIGKILL if kill else signal.SIGTERM)
    finish(job)
    found = lineup(tmp_path)
    waiting = found.endings[0]

    assert found
    assert (waiting.state, waiting.steps, waiting.next) == ("in backward", 2, None)
    assert f"SIGTERM at {tmp_path / 'train.py'}:{line_of('.backward()', PROGRAM)}" in waiting.message
    if kill:
        assert (found.missing, len(found.runs)) == ([1], 1)
        assert any("no recording of rank 1" in words for words, _ in lineup_lines(found))
    else:
        stuck = found.endings[1]
        assert (stuck.last and stuck.last.name, stuck.next and stuck.next.op) == ("v", "TanhBackward0")
        assert [(one.name, one.runs, one.without) for one in found.partial] == [("w", (0,), (1,))]
