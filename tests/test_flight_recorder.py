"""Dumps of PyTorch's flight recorder: what they say of a job that hangs, and that reading them runs nothing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retrograd.cli.target import choose
from retrograd.errors import RecordingError, UsageError
from retrograd.inspect.diagnosis import diagnose_together
from retrograd.inspect.findings import Finding
from retrograd.inspect.lineup.dumps import in_order, left_out, with_dumps
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.loading import load_recording

WRITES = """
import sys
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace

def norms(model):
    dist.all_reduce(model.weight.grad)

dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
model = torch.nn.Linear(3, 2)
model(torch.ones(3)).sum().backward()
norms(model)
dist.broadcast(torch.ones(4, dtype=torch.int64), 0, group=dist.new_group([0]))
open(sys.argv[1], "wb").write(_dump_fr_trace())
"""


def test_what_pytorch_writes_is_read(tmp_path: Path) -> None:
    """Operation, size, dtype, line and stack of each collective are those of the program that PyTorch recorded."""
    pytest.importorskip("torch.distributed")
    program, dump = tmp_path / "norms.py", tmp_path / "fr_trace.rank0"
    program.write_text(WRITES)
    environment = {**os.environ, "TORCH_FR_BUFFER_SIZE": "100", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, program, dump], env=environment, check=True, capture_output=True, timeout=60)
    first, second = (event for event in load_recording(str(dump)).events if "sequence" in event.data)

    assert (first.op, first.source) == ("all_reduce", SourceLine(str(program), 8, "norms"))
    assert [one["line"] for one in first.data["stack"]] == [8, 13]
    assert (first.data["shapes"], first.data["dtypes"], "pending" in first.data) == ([[2, 3]], ["float32"], False)
    assert (second.op, second.data["shapes"], second.data["dtypes"]) == ("broadcast", [[4]], ["int64"])
    assert first.data["group"] != second.data["group"]


def entry(number: int, size: int, line: int, **more: Any) -> dict[str, Any]:
    """What a recorder of NCCL has of one ``all_reduce``."""
    frames = [{"filename": "/usr/lib/python3/site-packages/torch/x.py", "line": 1, "name": "all_reduce"}]
    frames += [{"filename": "train.py", "line": line, "name": "step"}] if line else []
    return {
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[size]],
        "input_dtypes": ["Float"],
        "frames": frames,
        "retired": True,
        "state": "completed",
        "is_p2p": False,
        **more,
    }


def loaded(folder: Path, *ranks: list[dict[str, Any]]) -> list[Recording]:
    """The recordings of ranks whose recorders hold these entries."""
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str([*range(len(ranks))])}}
    for rank, entries in enumerate(ranks):
        (folder / f"fr_trace.rank{rank}").write_bytes(pickle.dumps({"entries": entries, "pg_config": config}))
    return [load_recording(str(folder / f"fr_trace.rank{rank}")) for rank in range(len(ranks))]


def told(recordings: list[Recording]) -> Finding:
    """The only thing that is said."""
    (one,) = diagnose_together(recordings, [f"rank {one.rank}" for one in recordings])
    return one


WAITS = {"retired": False, "state": "started"}


def test_rank_that_does_not_come(tmp_path: Path) -> None:
    """Recorders forget their oldest entries: the rank that lacks the last one is told, and what it did last."""
    full = [entry(number, 5, 10 + number) for number in range(6)]
    waits = entry(6, 7, 30, **WAITS)
    one = told(loaded(tmp_path, [*full, waits], [*full[3:], waits], full[1:]))

    assert (one.kind, one.line) == ("rank-divergence", 30)
    assert "rank 0 and rank 1 wait in all_reduce of (7,) float32 at train.py:30 for rank 2" in one.message
    assert "rank 2 is known up to all_reduce at train.py:15" in one.message


def test_collectives_of_other_sizes(tmp_path: Path) -> None:
    """The first that does not match is told, and none of those that are only scheduled behind it."""
    ranks = [[entry(4, 5, 10), entry(5, size, 11, **WAITS), entry(6, 9, 12, **WAITS)] for size in (5, 6)]
    one = told(loaded(tmp_path, *ranks))

    assert one.line == 11
    assert "all_reduce of (5,) float32 at train.py:11 on rank 0; all_reduce of (6,) float32" in one.message


def test_dumps_beside_recordings(tmp_path: Path) -> None:
    """What C++ sends has no line of its own: it has that of the backward pass that the rank recorded."""
    dumps = loaded(tmp_path, [entry(0, 5, 10), entry(1, 7, 0, **WAITS)], [entry(0, 5, 10)])
    passes = [[Event("backward", source=SourceLine("train.py", 20, "step"), data={"run": 0})], []]
    own = [Recording(events=passes[rank], level="full", rank=rank, world_size=2, complete=False) for rank in range(2)]
    one = told(with_dumps([*own, *dumps]))

    assert one.line == 20
    assert "rank 0 waits in all_reduce of (7,) float32 at train.py:20 for rank 1" in one.message
    assert with_dumps([*own, dumps[0]]) == own
    assert left_out([*own, *dumps]) == left_out(own) == []
    (sentence,) = left_out([*own, dumps[0]])
    assert sentence.startswith("the dumps of rank 0 are left out: there is none of rank 1")


def test_ranks_in_the_order_of_their_numbers() -> None:
    """A shell puts run.rank10.json before run.rank2.json."""
    named = [Recording(rank=rank, world_size=11) for rank in (0, 1, 10, *range(2, 10))]

    assert [one.rank for one in in_order(named)] == [*range(11)]
    assert in_order([named[2], named[0], named[0]]) == [named[2], named[0], named[0]]


def test_a_dump_is_no_program(tmp_path: Path) -> None:
    """Where a script is asked for it is refused, not run."""
    loaded(tmp_path, [entry(0, 5, 10)])
    with pytest.raises(UsageError, match="is a pickle"):
        choose((str(tmp_path / "fr_trace.rank0"),)).check()


class Calls:
    """What runs a command when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("made",)


def test_reading_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle that asks for a function is refused, and that function is not called."""
    monkeypatch.chdir(tmp_path)
    Path("fr_trace.rank0").write_bytes(pickle.dumps({"entries": [Calls()], "pg_config": {}}))
    with pytest.raises(RecordingError, match="mkdir"):
        load_recording("fr_trace.rank0")
    assert not Path("made").exists()
