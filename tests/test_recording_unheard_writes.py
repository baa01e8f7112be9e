"""Writes into memory that no function of the library is asked for: what backward needs is seen to be changed."""

from __future__ import annotations

import pytest
from recorded_pair import of_kind, record

from retrograd.inspect.diagnosis import diagnose

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
ENGINES = pytest.mark.parametrize("engine", ["retrograd", "torch"])
COUNTED = frozenset({"a tensor by DLPack"})
"""Ways in which our engine makes an alias that counts its writes, and then refuses to run backward."""

PROGRAM = """import torch
import numpy as np
w = torch.ones(4, requires_grad=True)
x = torch.arange(4.0){fresh}
loss = (w * x).sum()
{before}
loss.backward()
{after}
print(w.grad.tolist())
"""
WAYS = {
    "storage, by bytes": "x.untyped_storage()[0:4] = 7",
    "storage, filled": "kept = x.untyped_storage(); kept.fill_(7)",
    "storage, copied": "x.untyped_storage().copy_(torch.ones(4).untyped_storage())",
    "typed storage": "x.storage()[2] = 5.0",
    "a tensor over the storage": "torch.tensor([]).set_(x.untyped_storage()).fill_(7)",
    "numpy at once": "x.numpy()[:] = 8",
    "numpy by a protocol": "np.asarray(x)[1:] += 8",
    "numpy by DLPack": "np.from_dlpack(x)[:] = 5",
    "a tensor by DLPack": "torch.from_dlpack(x).fill_(6)",
    "a tensor by a capsule": "torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).mul_(6)",
    "a tensor over an array": "torch.from_numpy(x.detach().numpy()).mul_(3)",
    "a tensor over a buffer": "torch.frombuffer(memoryview(x.numpy()), dtype=torch.float32).fill_(2)",
}


def run(before: str = "", after: str = "", fresh: str = "") -> str:
    """The program with something before or after its backward."""
    return PROGRAM.format(before=before, after=after, fresh=fresh)


@ENGINES
@pytest.mark.parametrize("way", WAYS)
def test_what_backward_needs_was_changed(way: str, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The gradient is wrong, as the program alone prints it, and the line that wrote is named."""
    pytest.importorskip(engine)
    if engine == "retrograd" and way in COUNTED:
        recorded, error = record(run(WAYS[way]), engine)
        assert "modified by an inplace operation" in str(error)
        assert [(one.kind, one.line) for one in diagnose(recorded)][:1] == [("inplace-modified", 6)]
        return
    plain: dict[str, object] = {}
    exec(run(WAYS[way]).replace("import torch", f"import {engine} as torch", 1), plain)
    wrong = capsys.readouterr().out
    recorded, error = record(run(WAYS[way]), engine)

    assert error is None
    assert wrong == capsys.readouterr().out != "[0.0, 1.0, 2.0, 3.0]\n"
    assert [(one.kind, one.line) for one in diagnose(recorded)] == [("silent-inplace", 6)]


@ENGINES
@pytest.mark.parametrize("way", WAYS)
def test_memory_that_nothing_needs_any_more(way: str, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same write after backward, or into a copy, harms nobody; the gradient is right."""
    pytest.importorskip(engine)
    for text in (run(after=WAYS[way]), run(WAYS[way].replace("x.", "x.clone().").replace("(x)", "(x.clone())"))):
        recorded, error = record(text, engine)
        assert error is None
        assert capsys.readouterr().out == "[0.0, 1.0, 2.0, 3.0]\n"
        assert diagnose(recorded) == []


@ENGINES
def test_another_memory_in_place_of_what_was_kept(engine: str) -> None:
    """``set_`` is a write, which the version counter counts: the line is named that the error leaves out."""
    pytest.importorskip(engine)
    recorded, error = record(run("x.set_(torch.zeros(4))"), engine)

    assert "modified by an inplace operation" in str(error)
    assert [(one.kind, one.line) for one in diagnose(recorded)][:1] == [("inplace-modified", 6)]


STEPS = """import torch
w = torch.randn(3, requires_grad=True)
seen = w.detach().numpy()


class Rule(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})

    def step(self):
        for group in self.param_groups:
            for one in group["params"]:
                one.data.add_(one.grad.data, alpha=-0.1)


rule = Rule([w])
losses = []
for _ in range(3):
    loss = (w * w).sum()
    again = (w * 2).sum()
    rule.zero_grad()
    loss.backward()
    rule.step()
    again.backward()
    losses.append(float(seen.sum()))
"""


@ENGINES
def test_an_optimizer_that_counts_nothing_is_no_stranger(engine: str) -> None:
    """An array that is only read: what a step wrote by ``.data`` was not written by NumPy."""
    pytest.importorskip(engine)
    recorded, error = record(STEPS, engine)

    assert error is None
    assert [event for event in of_kind(recorded, "inplace") if event.op == "numpy"] == []


LISTS = """import torch
a, b = torch.ones(3), torch.ones(3)
seen = b.numpy()
w = torch.ones(3, requires_grad=True)
(w * b).sum()
torch._foreach_add_([a.data, b.data], 1.0)
(w * b).sum().backward()
"""


def test_a_write_into_a_list_is_none_of_numpys() -> None:
    """One call writes into several tensors, also into the one whose array is only read."""
    pytest.importorskip("torch")
    recorded, error = record(LISTS, "torch")

    assert error is None
    assert [event.op for event in of_kind(recorded, "inplace") if event.op == "numpy"] == []


def test_tensor_made_by_dlpack_leads_back_to_its_source() -> None:
    """The recording knows whose memory it is."""
    pytest.importorskip("torch")
    text = "import torch\na = torch.ones(3)\nb = torch.from_dlpack(a)\nc = torch.from_dlpack(b)\n"
    recorded, _ = record(text, "torch")
    made = [event.data for event in recorded.events if event.op == "from_dlpack"]

    a, b = made[0]["inputs"][0], made[0]["outputs"][0]
    assert made[1]["inputs"] in ([a], [b])
    assert recorded.tensors[b].storage == recorded.tensors[a].storage == recorded.tensors[made[1]["outputs"][0]].storage


def test_nothing_stays_in_the_classes_of_pytorch() -> None:
    """What was wrapped is inherited again when nobody watches."""
    torch = pytest.importorskip("torch")
    before = {name: set(vars(one)) for name, one in (("t", torch.Tensor), ("s", torch.UntypedStorage))}
    record(run(), "torch")

    assert {name: set(vars(one)) for name, one in (("t", torch.Tensor), ("s", torch.UntypedStorage))} == before
