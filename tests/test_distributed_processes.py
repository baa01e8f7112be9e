"""Data-parallel training on real processes: mpirun and torchrun, on this machine only, each with a time limit."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "sample_graphs" / "digits_parallel.py"
TIME_LIMIT = 300


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a launcher with its processes confined to this machine; all of them are stopped at the end."""
    local = {
        "PYTHONPATH": str(ROOT),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        command, env={**os.environ, **local, **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=TIME_LIMIT)
    finally:
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def mpirun(ranks: int, *program: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program on some ranks, over shared memory."""
    pytest.importorskip("mpi4py", reason="could not import 'mpi4py'")
    launcher = shutil.which("mpirun", path=os.path.dirname(sys.executable)) or shutil.which("mpirun")
    if launcher is None:
        pytest.skip("could not import 'mpi4py' with its mpirun: there is no mpirun on this machine")
    only_here = ["--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,sm"]
    return run([launcher, *only_here, "-n", str(ranks), sys.executable, *program])


def test_digits_on_several_mpi_ranks() -> None:
    """The sample trains on four ranks and reaches the gradients of the whole batch; two are torchrun's, below."""
    ended = mpirun(4, str(SAMPLE))

    assert ended.returncode == 0, ended.stderr
    first, *_, last = ended.stdout.splitlines()
    assert first.startswith("4 ranks")
    assert float(first.rpartition(" ")[2]) < 1e-6
    assert float(last.rpartition(" ")[2].rstrip("%")) > 85


def test_digits_under_torchrun(tmp_path: Path) -> None:
    """The same program on gloo, recorded: each rank writes a file of its own."""
    pytest.importorskip("torch")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]

    trace = ["-m", "retrograd", "trace", "-o", str(tmp_path / "run.json"), str(SAMPLE)]
    ended = run([*launcher, "--master-addr", "127.0.0.1", "--master-port", port, *trace])

    assert ended.returncode == 0, ended.stderr
    first = ended.stdout.splitlines()[0]
    assert first.startswith("2 ranks")
    assert float(first.rpartition(" ")[2]) < 1e-6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.rank0.json", "run.rank1.json"]


LOST = """
import retrograd as rg
w, head = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
ranks = rg.distributed.connect()
rg.distributed.DataParallel({"w": w, "head.bias": head}, ranks, time_limit=1.0)
if ranks.rank == 1:
    raise SystemExit(0)
(w * head).sum().backward()
"""


def test_a_lost_rank_hangs_nobody(tmp_path: Path) -> None:
    """A rank that ends early: the other names what it waited for, and mpirun ends."""
    script = tmp_path / "lost.py"
    script.write_text(LOST)

    ended = mpirun(2, str(script))

    assert ended.returncode != 0
    assert "Rank 0 waited 1 s for the other ranks' gradients of head.bias, w" in ended.stderr
