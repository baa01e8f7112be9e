"""Optimizers, schedules of learning rates and starting values, held against PyTorch, one line each."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises

import retrograd

OPTIMIZERS = """
SGD(ps, lr=.1)
SGD(ps, .1, momentum=.9, dampening=.1, weight_decay=.01)
SGD(ps, .1, .9, nesterov=True, maximize=True)
Adam(ps, .1)
Adam(ps, .1, (.8,.9), weight_decay=.1, amsgrad=True, maximize=True)
Adam(ps, lr=torch.tensor(.1))
AdamW(ps, .1)
AdamW(ps, .1, weight_decay=.3, amsgrad=True)
RMSprop(ps)
RMSprop(ps, .1, momentum=.9, centered=True, weight_decay=.1)
Adagrad(ps, .1, lr_decay=.1, initial_accumulator_value=.5, weight_decay=.1)
Adadelta(ps)
Adadelta(ps, .5, weight_decay=.1)
Adamax(ps, .1, weight_decay=.1)
NAdam(ps, .1)
NAdam(ps, .1, weight_decay=.1, decoupled_weight_decay=True)
RAdam(ps, .1, weight_decay=.1)
ASGD(ps, .1, t0=3)
Adafactor(ps, .1)
Adafactor(ps, .05, -.5, (1e-10, 1e-2), 1.5, .1, maximize=True)
Rprop(ps, .1)
LBFGS(ps, .5, max_iter=5)
LBFGS(ps, history_size=3, max_iter=4)
LBFGS(ps, line_search_fn="strong_wolfe", max_iter=6)
"""


def network(torch: Any) -> Any:
    """Two layers with fixed weights."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=torch.float64).add(i).sin().reshape(p.shape))
    return net


@pytest.mark.parametrize("line", OPTIMIZERS.strip().splitlines())
def test_optimizers(line: str) -> None:
    """The same parameters after some steps, the same text, settings and names of state, and state that goes on."""

    def program(torch: Any) -> Any:
        net = network(torch)
        optimizer = eval(f"O.{line}", {"O": torch.optim, "ps": list(net.parameters()), "torch": torch})
        x = torch.arange(15.0).double().cos().reshape(5, 3)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((net(x) - 1) ** 2).mean()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(6)]
        state = optimizer.state_dict()
        other = type(optimizer)(net.parameters(), lr=0.5)
        other.load_state_dict(copy.deepcopy(state))
        optimizer = other
        losses.append(other.step(closure).item())
        kept = {number: sorted(set(names) - {"al"}) for number, names in state["state"].items()}
        groups = [sorted((k, str(v)) for k, v in group.items()) for group in state["param_groups"]]
        return [losses, [p.detach() for p in net.parameters()], repr(other), groups, kept]

    assert_agree(program)


REFUSED = """
O.SGD([], .1)
O.SGD(w, .1)
O.SGD([3], .1)
O.SGD([w * 1], .1)
O.SGD([w], -1)
O.SGD([w], .1, momentum=-1)
O.SGD([w], .1, nesterov=True)
O.Adam([w], betas=(2, 0))
O.Adam([w], eps=-1)
O.SGD([{"params": [w]}, {"params": [w]}], .1)
O.SGD([w], foo=3)
O.SGD([w]).add_param_group(3)
O.SGD([w]).load_state_dict({"state": {}, "param_groups": []})
O.Adadelta([w], rho=3)
O.Rprop([w], etas=(2, 3))
O.Optimizer([w], {}).step()
O.lr_scheduler.LambdaLR(O.SGD([w]), [lambda e: 1, lambda e: 2])
O.lr_scheduler.ConstantLR(O.SGD([w]), 3.)
O.lr_scheduler.LinearLR(O.SGD([w]), 0)
O.lr_scheduler.OneCycleLR(O.SGD([w]), .1)
O.lr_scheduler.OneCycleLR(O.SGD([w]), .1, 1.5)
O.lr_scheduler.OneCycleLR(O.SGD([w]), .1, epochs=0, steps_per_epoch=3)
O.lr_scheduler.OneCycleLR(O.SGD([w]), [.1, .2], 3)
O.lr_scheduler.CyclicLR(O.SGD([w]), .1, [.2, .3])
O.lr_scheduler.ReduceLROnPlateau(O.SGD([w]), min_lr=[1, 2])
O.lr_scheduler.SequentialLR(O.SGD([w]), [], [])
O.lr_scheduler.SequentialLR(O.SGD([w]), [O.lr_scheduler.StepLR(O.SGD([w]), 1)], [])
O.lr_scheduler.SequentialLR(O.SGD([w]), [None], [])
O.lr_scheduler.ChainedScheduler([O.lr_scheduler.ReduceLROnPlateau(O.SGD([w]))])
O.swa_utils.SWALR(O.SGD([w]), .1, anneal_strategy="x")
O.lr_scheduler.StepLR(3, 2)
O.lr_scheduler.StepLR(O.SGD([w]), 2, last_epoch=3)
O.lr_scheduler.CosineAnnealingWarmRestarts(O.SGD([w]), 0)
O.lr_scheduler.ReduceLROnPlateau(O.SGD([w]), mode="x")
torch.nn.init.calculate_gain("x")
torch.nn.init.xavier_uniform_(torch.ones(2))
torch.nn.init.kaiming_uniform_(torch.ones(2, 2), mode="x")
torch.nn.init.dirac_(torch.ones(2))
torch.nn.init.orthogonal_(torch.ones(2))
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_refused(line: str) -> None:
    """The same kind of error with the same first words."""
    messages = []
    for torch in (pytest.importorskip("torch"), retrograd):
        names = {"O": torch.optim, "torch": torch, "w": torch.ones(2, requires_grad=True)}
        with pytest.raises((ValueError, TypeError, KeyError, NotImplementedError)) as caught:
            eval(line, names)
        messages.append((caught.type, str(caught.value)[:40] if caught.type is not NotImplementedError else ""))
    assert messages[0] == messages[1]


@differential
def test_groups_hooks_and_own_optimizers(torch: Any) -> Any:
    """Groups with settings of their own, hooks around steps, names, copies, and an optimizer of the user."""
    w, v, log = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True), []
    o = torch.optim.SGD([{"params": [w]}, {"params": [v], "lr": 0.5}], lr=0.1)
    handle = o.register_step_pre_hook(lambda o, args, kwargs: log.append((len(args), kwargs)))
    o.register_step_post_hook(lambda o, args, kwargs: log.append("after"))
    o.step()
    handle.remove()
    o.step()

    class Mine(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"])
                    self.state[p]["n"] = self.state[p].get("n", 0) + 1

    mine = Mine([w], 0.1)
    (w * w).sum().backward()
    mine.step()
    named = torch.optim.Adam([("first", w), ("second", v)])
    return [
        log, repr(o), str(o.state_dict()), repr(mine), str(mine.state_dict()), w,
        named.param_groups[0]["param_names"],
        isinstance(torch.optim.AdamW([w]), torch.optim.Adam), repr(copy.deepcopy(o)),
        repr(pickle.loads(pickle.dumps(o))),
    ]  # fmt: skip


SCHEDULES = """
StepLR(o, 2)
MultiStepLR(o, [2, 4, 4], .5)
ExponentialLR(o, .9)
ConstantLR(o, .5, 3)
LinearLR(o, .2, total_iters=4)
PolynomialLR(o, 5, 2.)
CosineAnnealingLR(o, 4, .01)
CosineAnnealingWarmRestarts(o, 2, 2, .01)
LambdaLR(o, lambda e: .9 ** e)
LambdaLR(o, [lambda e: .9 ** e, lambda e: e + 1.])
MultiplicativeLR(o, lambda e: .95)
OneCycleLR(o, .5, total_steps=10)
OneCycleLR(o, [.5, .2], epochs=2, steps_per_epoch=6, anneal_strategy='linear', three_phase=True)
CyclicLR(o, .01, .1, 3)
CyclicLR(o, .01, .1, 2, 3, mode='triangular2', cycle_momentum=False)
CyclicLR(o, .01, .1, 2, mode='exp_range', gamma=.9)
SequentialLR(o, [S.ConstantLR(o, .1, 2), S.ExponentialLR(o, .9)], [3])
SequentialLR(o, [S.LinearLR(o, .1, total_iters=3), S.CosineAnnealingLR(o, 5)], [3])
SequentialLR(o, [S.ConstantLR(o, .1, 2), S.LinearLR(o, .5), S.StepLR(o, 2), S.PolynomialLR(o, 3)], [2, 4, 6])
SequentialLR(o, [S.ExponentialLR(o, .5), S.MultiStepLR(o, [1, 2])], [3])
torch.optim.swa_utils.SWALR(o, .01, 3)
torch.optim.swa_utils.SWALR(o, [.01, .5], 2, 'linear')
ChainedScheduler([S.ConstantLR(o, .1, 2), S.ExponentialLR(o, .9)])
"""


@pytest.mark.parametrize("line", SCHEDULES.strip().splitlines())
def test_schedules(line: str) -> None:
    """The same rates, momenta and names of state over ten epochs, also after the state was taken over by another."""

    def program(torch: Any) -> Any:
        made = []
        for _ in range(2):
            w, v = (torch.ones(1, requires_grad=True) for _ in range(2))
            groups = [{"params": [w]}, {"params": [v], "lr": 0.3}]
            o = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
            made.append(
                (
                    o,
                    eval(
                        line if line.startswith("torch") else f"S.{line}",
                        {"S": torch.optim.lr_scheduler, "o": o, "torch": torch},
                    ),
                )
            )
        (o, schedule), (other, follower) = made
        seen = [list(schedule.get_last_lr())]
        for _ in range(6):
            o.step()
            schedule.step()
            seen.append([*schedule.get_last_lr(), *(g["lr"] for g in o.param_groups), o.param_groups[0]["momentum"]])
        kept = list(schedule.state_dict())
        follower.load_state_dict(schedule.state_dict())
        other.load_state_dict(o.state_dict())
        for _ in range(3):
            other.step()
            follower.step()
            seen.append(list(follower.get_last_lr()))
        return kept, seen

    assert_agree(program)


@differential
def test_plateau(torch: Any) -> Any:
    """Lowered after a wait, not while cooling down, not below the least."""
    o = torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)
    s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=1, cooldown=1, min_lr=0.001)
    seen: list[Any] = [list(s.state_dict())]
    for measure in (1.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, torch.tensor(1.0), 0.1, 1.0, 1.0, 1.0):
        s.step(measure)
        seen.append([o.param_groups[0]["lr"], s.num_bad_epochs])
    return seen


def test_order_of_steps() -> None:
    """A schedule that steps before its optimizer is told so, once, in both engines."""

    def program(torch: Any) -> Any:
        o = torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)
        s = torch.optim.lr_scheduler.StepLR(o, 1)
        s.step()
        s.step()

    assert assert_agree(program).warned == ("UserWarning",)


@differential
def test_starting_values(torch: Any) -> Any:
    """Exact fillings, spreads of random ones, gains, and the old names."""
    init = torch.nn.init
    spreads = []
    for name, options in (
        ("uniform_", {}), ("normal_", {}), ("xavier_uniform_", {}), ("xavier_normal_", {"gain": 2.0}),
        ("kaiming_uniform_", {}), ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "relu"}),
        ("trunc_normal_", {}), ("orthogonal_", {}), ("sparse_", {"sparsity": 0.5}),
    ):  # fmt: skip
        w = torch.nn.Parameter(torch.empty(200, 300))
        same = getattr(init, name)(w, **options) is w
        spreads.append(
            [name, same, w.is_leaf, round(w.detach().mean().abs().item(), 1), round(w.detach().std().item(), 1)]
        )
    q = init.orthogonal_(torch.empty(3, 5))
    return [
        spreads, init.eye_(torch.empty(2, 3)), init.dirac_(torch.empty(4, 2, 3)),
        init.dirac_(torch.empty(4, 2, 3, 3), 2),
        (q @ q.T - torch.eye(3)).abs().max().item() < 1e-5, (init.sparse_(torch.ones(10, 3), 0.35) == 0).sum(0),
        [init.calculate_gain(n) for n in ("linear", "relu", "tanh", "leaky_relu", "selu", "sigmoid", "conv2d")],
        init.constant_(torch.ones(1), 3), init.zeros_(torch.ones(1)), raises("Unsupported", init.calculate_gain, "x"),
    ]  # fmt: skip


@pytest.mark.parametrize("start", [(-1.2, 1.0), (2.0, -1.0), (0.0, 0.0)])
def test_line_search(start: tuple[float, float]) -> None:
    """L-BFGS down a curved valley: the line search takes PyTorch's steps and as many evaluations."""

    @differential
    def test(torch: Any) -> Any:
        w = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([w], history_size=5, line_search_fn="strong_wolfe")

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2 + torch.sin(w[0] * 3)
            loss.backward()
            return loss

        losses = [optimizer.step(closure).detach() for _ in range(3)]
        unknown = torch.optim.LBFGS([w], line_search_fn="armijo")
        w.data.add_(0.5)
        refused = raises("only 'strong_wolfe' is supported", unknown.step, closure)
        return losses, w, optimizer.state[w]["func_evals"], optimizer.state[w]["n_iter"], refused

    test()
