"""Collectives of torch.distributed, groups and wrappers of modules are events with the user's line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from side_by_side import environment

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

PROGRAM = """
import json, sys, torch
import torch.distributed as dist
from retrograd.inspect.process.recorder import recording

with recording(level="full") as recorded:
    dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2), static_graph=True)
    loss = net(torch.ones(4, 3)).sum()
    loss.backward()
    for p in net.parameters():
        dist.all_reduce(p.grad)
    room = torch.empty(3)
    dist.broadcast(room, src=0)
    total = loss * 2
    dist.all_reduce(total)
    few = dist.new_group([0])
    alone = dist.new_group([0], use_local_synchronization=True)
    dist.barrier(group=few)
    dist.all_gather_object([None], "text")
    assert dist.all_reduce is dist.distributed_c10d.all_reduce
    planned = dist.P2POp(dist.isend, torch.ones(2), 0)
    try:
        dist.broadcast(torch.ones(2), src=7)
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    dist.destroy_process_group()
wanted = [one for one in recorded.events if one.kind in ("collective", "wrapper")]
for one in wanted:
    if "gradients_of" in one.data:
        one.data["gradients_of"] = [recorded.tensors[leaf].name for leaf in one.data["gradients_of"]]
told = [(one.kind, one.op, one.source.line, one.data) for one in wanted]
print(json.dumps([told, raised]))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The events, and what the program caught."""
    folder: Path = tmp_path_factory.mktemp("job")
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", str(folder / "meeting")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=folder)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_each_call_is_an_event_at_its_line(told: Any) -> None:
    """Operators are named as the program calls them, at its lines; what they call themselves is not told."""
    lines = PROGRAM.splitlines()

    assert [op for _, op, _, _ in told[0]] == [
        *("init_process_group", "DistributedDataParallel", "all_reduce", "all_reduce", "broadcast", "all_reduce"),
        *("new_group", "barrier", "all_gather_object", "P2POp", "broadcast"),
    ]
    for _, op, line, _ in told[0]:
        assert op in lines[line - 1]


def test_what_an_event_says(told: Any) -> None:
    """Shapes, dtypes, the leaves whose gradients are sent, history, the group and the place in it, errors."""
    gradients = [data for _, op, _, data in told[0] if op == "all_reduce"]
    barrier = next(data for _, op, _, data in told[0] if op == "barrier")
    failed = told[0][-1][3]

    assert [data["gradients_of"] for data in gradients] == [["module.weight"], ["module.bias"], []]
    assert [data["shapes"] for data in gradients] == [[[2, 3]], [[2]], [[]]]
    assert [data["requires_grad"] for data in gradients] == [[False], [False], [True]]
    assert {one for data in gradients for one in data["dtypes"]} == {"float32"}
    assert [data["sequence"] for data in gradients] == [0, 1, 3]
    assert (barrier["group"], barrier["group_size"], barrier["sequence"]) == (1, 1, 0)
    assert failed["error"] == told[1]


def test_what_a_wrapper_was_given(told: Any) -> None:
    """Its parameters, and the options that say what its reducer expects."""
    wrapper = next(data for kind, _, _, data in told[0] if kind == "wrapper")

    assert set(wrapper["parameters"]) == {"weight", "bias"}
    assert (wrapper["static_graph"], wrapper["find_unused_parameters"], wrapper["sharded"]) == (True, False, False)
    assert wrapper["group_size"] == 1
