"""``torch.distributed`` in a program that is one process: the group, collectives, wrapped modules, samplers."""

from __future__ import annotations

import copy
import inspect
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd
from retrograd.engine.devices import collectives, process_group


@pytest.fixture(autouse=True)
def _launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a launcher would tell, on a free port; no group is left."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo", "RANK": "0", "WORLD_SIZE": "1"}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    yield
    if retrograd.distributed.is_initialized():
        retrograd.distributed.destroy_process_group()


@differential
def test_collectives_of_one_process(torch: Any) -> Any:
    """Each leaves or copies what the one process has."""
    dist = torch.distributed
    before = dist.is_available(), dist.is_initialized(), dist.is_nccl_available()
    dist.init_process_group("gloo")
    try:
        t, gathered, scattered, objects = torch.arange(3.0), [torch.zeros(3)], torch.zeros(2), [None]
        dist.all_reduce(t, op=dist.ReduceOp.SUM)
        dist.broadcast(t, src=0)
        dist.reduce(t, 0)
        dist.all_gather(gathered, t)
        dist.scatter(scattered, [torch.ones(2)], src=0)
        dist.all_gather_object(objects, {"a": 1})
        dist.broadcast_object_list(objects, 0)
        waited = dist.all_reduce(t, async_op=True).wait()
        dist.barrier()
        asked = dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized()
        twice = raises("twice", dist.init_process_group, "gloo")
        refused = raises("Invalid destination rank", dist.send, t, 0)
    finally:
        dist.destroy_process_group()
    return before, t, gathered, scattered, objects, bool(waited), asked, twice, refused, dist.is_initialized()


@differential
def test_samples_of_one_process(torch: Any) -> Any:
    """A sampler asks the group for rank and size; without one it says so, as everything does that needs a group."""
    dist, sampler = torch.distributed, torch.utils.data.DistributedSampler
    missing = "Default process group has not been initialized"
    without = [raises(missing, dist.get_rank), raises(missing, sampler, range(3))]
    dist.init_process_group("gloo")
    try:
        made = sampler(range(5), seed=3)
        made.set_epoch(2)
        return without, list(made), made.rank, made.num_replicas
    finally:
        dist.destroy_process_group()


def test_arguments_have_pytorch_names() -> None:
    """Functions and collectives take PyTorch's arguments in its order, so also by name (``group=``, ``output=``)."""
    theirs = pytest.importorskip("torch").distributed

    def names(module: Any, name: str) -> list[str]:
        return [one for one in inspect.signature(getattr(module, name)).parameters if not one.startswith("_")]

    taken = [name for name in (*collectives.NAMES, *process_group.NAMES) if inspect.isfunction(getattr(theirs, name))]
    other = [name for name in taken if names(retrograd.distributed, name) != names(theirs, name)]

    assert len(taken) > 35
    assert other == []


def test_training_in_one_process() -> None:
    """A wrapped module trains as it does alone; names have the prefix; what cannot be wrapped says why."""
    wrap, layer = retrograd.nn.parallel.DistributedDataParallel, retrograd.nn.Linear(3, 1)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        wrap(layer)
    retrograd.distributed.init_process_group("gloo")
    wrapped, x = wrap(copy.deepcopy(layer)), retrograd.randn(4, 3)
    for model in (layer, wrapped):
        optimizer = retrograd.optim.SGD(model.parameters(), 0.1)
        model(x).square().mean().backward()
        optimizer.step()
    with wrapped.no_sync():
        wrapped(x).sum().backward()

    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert wrapped.module.weight.equal(layer.weight)
    assert wrapped.require_backward_grad_sync
    with pytest.raises(RuntimeError, match="is not needed when a module doesn't have any parameters"):
        wrap(retrograd.nn.ReLU())


def test_larger_groups_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several processes are told which way is theirs; a launcher that says nothing is named as in PyTorch."""
    with pytest.raises(RuntimeError, match="retrograd.distributed.connect"):
        retrograd.distributed.init_process_group("gloo", rank=0, world_size=2)
    monkeypatch.delenv("RANK")
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        retrograd.distributed.init_process_group("gloo")
