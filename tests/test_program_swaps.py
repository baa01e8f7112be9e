"""Weak references of ours are none that a program finds, and tensors that it swaps stay known."""

from __future__ import annotations

import gc
import weakref

import pytest
from recorded_pair import of_kind, record

import retrograd
from retrograd.inspect.process.recorder import recording

torch = pytest.importorskip("torch")

LEVELS = ("graph", "backward", "full")
SWAPPED = """
import torch
kept = torch.nn.Linear(3, 3)
other = torch.nn.Linear(3, 3).double()
kept(torch.ones(2, 3)).sum().backward()
kept.zero_grad()
torch.utils.swap_tensors(kept.weight, other.weight)
torch.utils.swap_tensors(kept.bias, other.bias)
kept(torch.ones(2, 3, dtype=torch.float64)).sum().backward()
with torch.no_grad():
    kept.weight.mul_(2.0)
print(kept.weight.dtype)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_converted_modules(level):
    """Modules that convert their parameters by swapping train on, after a first step and from the meta device."""

    def used():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        net(torch.randn(2, 4)).sum().backward()
        net.zero_grad()
        weight = net.double()[0].weight
        with torch.device("meta"):
            empty = torch.nn.Linear(2, 2)
        empty.to_empty(device="cpu")
        net(torch.ones(1, 4, dtype=torch.float64)).sum().backward()
        return weight is net[0].weight, weight.grad.tolist()

    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        plain = used()
        with recording(level=level):
            assert used() == plain
        with retrograd.debug(level=level):
            assert used() == plain
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


@pytest.mark.parametrize("level", LEVELS)
def test_references_are_those_of_the_program(level):
    """``weakref`` tells of the program's own references only, while we record and when we have."""
    tensor = torch.ones(3, requires_grad=True)
    with recording(level=level):
        (tensor * 2).sum().backward()
        assert (weakref.getweakrefs(tensor), weakref.getweakrefcount(tensor)) == ([], 0)
        mine = weakref.ref(tensor)
        assert (weakref.getweakrefs(tensor), weakref.getweakrefcount(tensor)) == ([mine], 1)
    gc.collect()
    assert weakref.getweakrefs(tensor) == [mine]


@pytest.mark.parametrize("engine", ["torch", "retrograd"])
def test_swapped_tensors_stay_known(engine):
    """A parameter that was swapped is the one it was, with the memory and the dtype that it has by now."""
    recorded, error = record(SWAPPED, engine)
    assert error is None
    (written,) = [event for event in recorded.events if event.op.startswith("mul")]
    facts = recorded.tensors[written.data["inputs"][0]]
    owner = [tensor for tensor in recorded.tensors if tensor.storage == facts.storage and tensor.parameter]
    gradients = [event.data["tensor"] for event in of_kind(recorded, "accumulate")]

    assert (facts.name, facts.dtype, facts.shape) == ("weight", "float64", (3, 3))
    assert owner == [facts]
    assert len(gradients) == 2 * len(set(gradients)) == 4
