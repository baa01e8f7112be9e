"""Modules and optimizers: the same network trained on both engines takes the same steps."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from both_engines import differential, raises

import retrograd


def network(torch: Any) -> Any:
    """Two layers with fixed weights."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
            self.scale = torch.nn.Parameter(torch.ones(1))
            self.register_buffer("shift", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            return self.body(x) * self.scale + self.shift

    net = Net().double()
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            values = np.sin(np.arange(p.numel()) * 0.7 + i).reshape(tuple(p.shape))
            p.copy_(torch.tensor(values.tolist(), dtype=torch.float64).reshape(p.shape))
    return net


def trained(torch: Any, make: Any) -> Any:
    """Parameters and losses after 20 steps."""
    net = network(torch)
    optimizer = make(net.parameters())
    x = torch.tensor(np.cos(np.arange(15.0)).reshape(5, 3).tolist(), dtype=torch.float64)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((net(x) - 1) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, [p.detach().tolist() for p in net.parameters()]]


@differential
def test_sgd(torch: Any) -> Any:
    """Plain gradient descent with weight decay."""
    return trained(torch, lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.01))


@differential
def test_momentum_and_nesterov(torch: Any) -> Any:
    """Momentum with and without Nesterov's correction."""
    made = [lambda p, n=n: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=n) for n in (False, True)]
    return [trained(torch, make) for make in made]


@differential
def test_adam(torch: Any) -> Any:
    """Adam with weight decay."""
    return trained(torch, lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.1))


@differential
def test_state_of_optimizers(torch: Any) -> Any:
    """State saved from one optimizer lets another go on as the first would."""
    results = []
    for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, lr=0.1)):
        ends = []
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        first = make([x])
        for step in range(4):
            if step == 2:
                y = x.detach().clone().requires_grad_()
                second = make([y])
                second.load_state_dict(copy.deepcopy(first.state_dict()))
                other = [second.param_groups[0]["params"] == [y], sorted(first.state_dict())]
            for p, o in ((x, first), *(((y, second),) if step >= 2 else ())):
                o.zero_grad()
                (p**2).sum().backward()
                o.step()
        ends += [x.detach(), y.detach(), other]
        z = torch.ones(1, requires_grad=True)
        first.add_param_group({"params": [z], "lr": 0.5})
        results.append([
            ends, first.param_groups[1]["lr"],
            raises("more than one parameter group", first.add_param_group, {"params": z}),
            raises("loaded state dict", second.load_state_dict, first.state_dict()),
        ])  # fmt: skip
    return results


@differential
def test_tree(torch: Any) -> Any:
    """Names of modules, parameters, buffers and state; modes; forward hooks."""
    net = network(torch)
    seen: list[str] = []
    net.body[0].register_forward_pre_hook(lambda m, args: seen.append("pre"))
    handle = net.body.register_forward_hook(lambda m, args, out: out * 0)
    zero = net(torch.ones(1, 3, dtype=torch.float64)).sum().item()
    handle.remove()
    net.eval()
    return [
        [n for n, _ in net.named_modules()],
        [n for n, _ in net.named_parameters()],
        [n for n, _ in net.named_buffers()],
        sorted(net.state_dict()), net.body[1].training, seen, zero, [p.requires_grad for p in net.parameters()],
    ]  # fmt: skip


@differential
def test_misuse(torch: Any) -> Any:
    """Wrong assignments, missing forward, foreign state, empty and non-leaf optimizers."""
    net = network(torch)
    return [
        raises("cannot assign", setattr, net, "scale", 3),
        raises("forward", torch.nn.Module(), 1),
        raises("Missing key", net.load_state_dict, {}),
        raises("empty parameter list", torch.optim.SGD, []),
        raises("non-leaf", torch.optim.SGD, [net.scale * 1]),
    ]


def test_missing_layer_names_the_nearest() -> None:
    """A layer that is not there says which are like it."""
    with pytest.raises(AttributeError, match="nearest names are .*Linear"):
        _ = retrograd.nn.Lineer


@differential
def test_registering(torch: Any) -> Any:
    """What may be registered under which name, and how it is found again."""
    x, layer, net = torch.ones(2, requires_grad=True), torch.nn.Linear(2, 2), torch.nn.Module()
    net.register_buffer("kept", torch.ones(2))
    net.register_buffer("passing", torch.ones(1), persistent=False)
    net.register_parameter("none", None)
    net.w = torch.nn.Parameter(torch.ones(2))
    net.sub = net.again = layer
    refusals = [
        raises("(torch.nn.Parameter or None expected)", setattr, net, "w", x),
        raises("t contain", net.add_module, "a.b", layer),
        raises("t contain", net.register_parameter, "a.b", None),
        raises("or None required", net.register_parameter, "v", net.w * 2),
        raises("or None required", net.register_parameter, "v", 3),
        raises("already exists", net.register_buffer, "sub", None),
        raises("empty string", net.register_buffer, "", None),
        raises("or None required", net.register_buffer, "v", 3),
        raises("should be a string", net.register_buffer, 3, None),
        raises("is not a Module subclass", net.add_module, "v", 3),
        raises("has no attribute", net.get_submodule, "sub.nothing"),
    ]  # fmt: skip
    return [
        refusals, list(net.state_dict(prefix="n.")), [n for n, _ in net.named_buffers()],
        [n for n, _ in net.named_parameters()],
        net.get_submodule("sub") is layer, net.get_parameter("sub.weight") is layer.weight, net.get_buffer("kept"),
        layer.half().weight.dtype, layer.float().weight.dtype, net.state_dict(keep_vars=True)["w"].requires_grad,
    ]  # fmt: skip


@pytest.mark.parametrize("given", [{"foo": 1}, {"weight": 2}, {"weight": 3, "bias": 2}, {"weight": 2, "bias": 2}])
@pytest.mark.parametrize("strict", [True, False])
def test_states_that_do_not_fit(given: dict[str, int], strict: bool) -> None:
    """The same message to the letter, or the same account of what was missing and too much."""
    torch = pytest.importorskip("torch")

    def said(engine: Any) -> str:
        sizes = {"foo": (1,), "weight": (2, 2), "bias": (2,)}
        state = {n: engine.zeros(*(sizes[n] if size < 3 else (3,))) for n, size in given.items()}
        try:
            return repr(engine.nn.Linear(2, 2).load_state_dict(state, strict=strict))
        except RuntimeError as error:
            return str(error)

    assert said(torch) == said(retrograd)


@differential
def test_averaged_models(torch: Any) -> Any:
    """Plain and exponential averages, with and without buffers; statistics of batch normalization taken anew."""
    swa = torch.optim.swa_utils
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    x, seen = torch.arange(12.0).view(6, 2).sin(), []
    averages = [
        swa.AveragedModel(net), swa.AveragedModel(net, use_buffers=True),
        swa.AveragedModel(net, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9), use_buffers=True),
        swa.AveragedModel(net, avg_fn=swa.get_ema_avg_fn(0.9)), swa.AveragedModel(net, avg_fn=lambda a, b, n: b * 2),
    ]  # fmt: skip
    for step in range(3):
        with torch.no_grad():
            for i, p in enumerate(net.parameters()):
                p.copy_(torch.linspace(step, i, p.numel()).view_as(p))
        net(x)
        for average in averages:
            average.update_parameters(net)
    for average in averages:
        average.eval()
        swa.update_bn([x[:3], (x[3:], 1)], average)
        seen += [dict(average.state_dict()), average(x), average.training]
    return seen


@differential
def test_the_old_name_of_schedules(torch):
    """Subclasses of ``_LRScheduler`` are schedules, and the schedules of ``torch.optim`` are none of it."""
    schedules = torch.optim.lr_scheduler

    class Halved(schedules._LRScheduler):
        def get_lr(self):
            return [rate * 0.5 for rate in self.base_lrs]

    mine = Halved(torch.optim.SGD([torch.ones(1)], 0.1))
    found = [isinstance(mine, schedules.LRScheduler), mine.get_last_lr()]
    return [*found, issubclass(schedules.StepLR, schedules._LRScheduler), schedules._LRScheduler.__name__]


@differential
def test_update_bn_of_images(torch):
    """Statistics of images and volumes are taken anew, too, and those of other layers are left alone."""
    norms = [torch.nn.BatchNorm2d(2), torch.nn.BatchNorm3d(2), torch.nn.InstanceNorm2d(2, track_running_stats=True)]
    seen = []
    for norm in norms:
        shape = (3, 2, 2, 2, 2) if isinstance(norm, torch.nn.BatchNorm3d) else (3, 2, 4, 2)
        x = torch.arange(48.0).view(shape).sin()
        norm(x)
        torch.optim.swa_utils.update_bn([x[:1], x[1:] * 2], norm)
        seen += [norm.running_mean, norm.running_var, norm.num_batches_tracked, norm.momentum]
    return seen


def test_sparse_adam_leaves_what_has_no_gradient() -> None:
    """Rows of an embedding that a step did not look up keep their values and moments, as with sparse gradients."""
    torch = pytest.importorskip("torch")

    def rows(engine: Any) -> list[Any]:
        table = engine.nn.Embedding(5, 2, sparse=True)
        table.weight.data.copy_(engine.arange(10.0).view(5, 2).sin())
        optimizer = engine.optim.SparseAdam(table.parameters(), lr=0.1)
        seen = []
        for looked_up in ([0, 1], [1, 1], [3, 0]):
            optimizer.zero_grad()
            table(engine.tensor(looked_up)).square().sum().backward()
            optimizer.step()
            seen.append(table.weight.detach().numpy().copy())
        return seen

    for wanted, found in zip(rows(torch), rows(retrograd), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
