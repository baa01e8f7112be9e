"""What wrappers and trainers take when they are made: PyTorch's own, and those of libraries once they are imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from recorded_pair import of_kind, record

from retrograd.inspect.diagnosis import diagnose

torch = pytest.importorskip("torch")

SHARDED = """import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
nn = torch.nn
dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
mesh = init_device_mesh("cpu", (1,))
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
fully_shard(net[0], mesh=mesh)
fully_shard(net, mesh=mesh)
split = parallelize_module(nn.Sequential(nn.Linear(3, 4)), mesh, {"0": ColwiseParallel()})
copied = distribute_module(nn.Linear(3, 2), mesh)
loose = distribute_tensor(torch.ones(4), mesh, [Shard(0)])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = net(torch.ones(2, 3)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.filterwarnings("ignore")
def test_what_is_spread_over_processes() -> None:
    """Each is told with its line and the parameters that it left, once, not for what it calls within."""
    recorded, error = record(SHARDED, "torch")

    assert error is None
    told = [(one.op, one.source.line, list(one.data["parameters"])) for one in of_kind(recorded, "wrapper")]
    assert told == [
        ("fully_shard", 11, ["weight", "bias"]),
        ("fully_shard", 12, ["0.weight", "0.bias", "1.weight", "1.bias"]),
        ("parallelize_module", 13, ["0.weight", "0.bias"]),
        ("distribute_module", 14, ["weight", "bias"]),
        ("distribute_tensor", 15, [""]),
    ]
    held = of_kind(recorded, "optimizer")[0].data["parameters"]
    assert list(held.values()) == of_kind(recorded, "wrapper")[1].data["inputs"]
    assert [one.kind for one in diagnose(recorded) if one.severity != "note"] == []  # the norm is that of the whole


COMPILED = """import torch
net = torch.nn.Linear(3, 2)
fast = torch.compile(net, backend="eager")


@torch.compile(backend="eager", fullgraph=True)
def double(x):
    return x * 2


print(fast(torch.ones(1, 3)).shape, double(torch.ones(2)).sum())
"""


def test_what_is_compiled() -> None:
    """A module with its parameters, a decorated function by its name."""
    recorded, error = record(COMPILED, "torch")

    assert error is None
    module, function = of_kind(recorded, "prepared")
    assert (module.source.line, module.data["names"], list(module.data["parameters"])) == (
        3, ["Linear"], ["weight", "bias"],
    )  # fmt: skip
    assert (function.source.line, function.data["names"], function.data["arguments"]["fullgraph"]) == (
        6,
        ["double"],
        True,
    )


LIBRARY = """
class Accelerator:
    mixed_precision = "bf16"
    gradient_accumulation_steps = 4

    def prepare(self, *given):
        return given
"""
PREPARED = """import torch
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
from accelerate.accelerator import Accelerator
net, optimizer = Accelerator().prepare(net, optimizer)
"""


def test_a_library_is_listened_to_once_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with the names of the library: nothing of ours imports it, and nothing of ours stays in it."""
    folder = tmp_path / "accelerate"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "accelerator.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("accelerate", "accelerate.accelerator"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    finders = list(sys.meta_path)
    recorded, error = record(PREPARED, "torch")

    assert error is None
    (prepared,) = of_kind(recorded, "prepared")
    assert (prepared.op, prepared.source.line, prepared.data["names"]) == ("prepare", 5, ["Linear", "SGD"])
    assert prepared.data["arguments"] == {"mixed_precision": "bf16", "gradient_accumulation_steps": 4}
    assert list(prepared.data["parameters"]) == ["weight", "bias"]
    assert sys.meta_path == finders
    assert not hasattr(sys.modules["accelerate.accelerator"].Accelerator.prepare, "__wrapped__")
    record("import torch\n", "torch")
    assert "accelerate" in sys.modules
    for name in ("accelerate", "accelerate.accelerator"):
        sys.modules.pop(name)
    record("import torch\n", "torch")
    assert "accelerate" not in sys.modules
