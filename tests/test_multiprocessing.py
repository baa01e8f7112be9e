"""``torch.multiprocessing``: processes that are begun together, and memory that they share."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd
import retrograd.multiprocessing as mp


def _fails(rank: int, how: str) -> None:
    """What a process does: the second one fails."""
    if rank == 0 or how == "not":
        return
    if how == "exception":
        raise ValueError("no such weight")
    if how == "exit":
        raise SystemExit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_that_fail() -> None:
    """The exception, exit code or signal of one process is raised where all are waited for, in PyTorch's words."""

    def failed(how: str) -> str:
        with pytest.raises(mp.ProcessException) as caught:
            mp.start_processes(_fails, (how,), nprocs=2, start_method="fork")
        assert (caught.value.error_index, caught.value.pid > 0) == (1, True)
        return str(caught.value)

    begun: Any = mp.start_processes(_fails, ("not",), nprocs=2, join=False, start_method="fork")
    while not begun.join():
        pass
    assert len(begun.pids()) == 2
    assert "-- Process 1 terminated with the following error:\nTraceback" in (text := failed("exception"))
    assert text.endswith("ValueError: no such weight\n")
    assert failed("exit") == "process 1 terminated with exit code 3"
    assert failed("signal") == "process 1 terminated with signal SIGKILL"


def test_names_of_multiprocessing() -> None:
    """Everything of Python's module is there, and PyTorch's own names beside it."""
    theirs = pytest.importorskip("torch.multiprocessing")

    wanted = {*theirs.__all__, "spawn", "ProcessRaisedException", "ProcessExitedException"}
    assert sorted(wanted - set(dir(mp)) - {"init_reductions", "reductions"}) == []
    assert mp.get_all_sharing_strategies() == theirs.get_all_sharing_strategies()


def test_a_forked_child_writes_to_shared_memory() -> None:
    """A step in the child moves the parameters of the parent, which are in shared memory; others stay."""
    model, alone = retrograd.nn.Linear(2, 1), retrograd.zeros(2)
    model.share_memory()
    before = model.weight.detach().clone()

    def step() -> None:
        optimizer = retrograd.optim.SGD(model.parameters(), lr=1.0)
        model(retrograd.ones(1, 2)).sum().backward()
        optimizer.step()
        alone.add_(1)

    child = mp.get_context("fork").Process(target=step)
    child.start()
    child.join()

    assert child.exitcode == 0
    assert retrograd.allclose(before - model.weight.detach(), retrograd.ones(1, 2))
    assert alone.tolist() == [0.0, 0.0]


@differential
def test_shared_tensors(torch: Any) -> Any:
    """``share_memory_`` keeps values, strides and the graph's leaf; views are in shared memory, copies are not."""
    t = torch.arange(6.0).reshape(2, 3).t().clone().share_memory_()
    w = torch.ones(2, requires_grad=True).share_memory_()
    (w * 2).sum().backward()
    shared = [x.is_shared() for x in (t, t[1:], t.clone(), w, torch.ones(1))]
    return t, t.stride(), shared, w.is_leaf, w.grad, t.untyped_storage().is_shared()


@differential
def test_aliases_of_shared_tensors(torch: Any) -> Any:
    """Row V-22: views, bases, detached tensors and a state dict still see what is written to a tensor that moved."""
    whole, part = torch.zeros(4), torch.zeros(2, 3)
    views = [whole.view(2, 2), whole.detach(), whole[1:].data, torch.zeros(1).expand(3)]
    row = part.t()[1]
    layer = torch.nn.Linear(2, 2)
    state = layer.state_dict()
    for moved in (whole, row, views[3], layer):
        (moved.share_memory if moved is layer else moved.share_memory_)()
    with torch.no_grad():
        whole.add_(1)
        row.add_(2)
        layer.weight.fill_(3)
    turned = torch.tensor([1 + 2j]).conj()
    seen = [whole, part, row, *views, state["weight"], turned.share_memory_().imag]
    return seen, [(t.is_shared(), t.stride(), t.storage_offset(), t._version) for t in seen]


@differential
def test_prefixes_of_state_dicts(torch: Any) -> Any:
    """The names of a model that was wrapped lose their prefix, also in the metadata."""
    state = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Linear(1, 1))).state_dict()
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    refused = raises("Missing key", torch.nn.Linear(1, 1).load_state_dict, state)
    return list(state), dict(state._metadata), refused
