"""What goes wrong late in a training is told when it does, and what goes right for long is left alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import retrograd
from retrograd.inspect.training.run import watch

Train = Callable[[Any, int], None]
"""A training on an engine, of so many steps."""
BEGIN = 120
"""Step before which every training here goes well."""


def engine(name: str) -> Any:
    """The engine of that name."""
    return retrograd if name == "retrograd" else pytest.importorskip("torch")


def fit(torch: Any, steps: int, *, rate: float = 0.05, at: Callable[..., None] | None = None) -> None:
    """Fit a small network to a smooth function; ``at(step, net, optimizer, x, y)`` may change what it likes."""
    torch.manual_seed(5)
    net = torch.nn.Sequential(torch.nn.Linear(3, 12), torch.nn.ReLU(), torch.nn.Linear(12, 1))
    sgd = torch.optim.SGD(net.parameters(), lr=rate)
    for step in range(1, steps + 1):
        x = torch.randn(16, 3)
        y = x.sin().sum(1, keepdim=True)
        if at is not None:
            at(step, net, sgd, x, y)
        sgd.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        sgd.step()


def rare_batch(torch: Any, steps: int) -> None:
    """One missing value in one batch."""
    fit(torch, steps, at=lambda step, net, sgd, x, y: x[3].fill_(math.nan) if step == BEGIN else None)


def wrong_labels(torch: Any, steps: int) -> None:
    """One batch in another unit."""
    fit(torch, steps, at=lambda step, net, sgd, x, y: y.mul_(1e4) if step == BEGIN else None)


def rising_rate(torch: Any, steps: int) -> None:
    """A rate that grows and grows."""

    def raised(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        if step >= BEGIN:
            sgd.param_groups[0]["lr"] *= 4

    fit(torch, steps, at=raised)


def rate_reaches_zero(torch: Any, steps: int) -> None:
    """A schedule that ends before the training does."""

    def ended(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        sgd.param_groups[0]["lr"] = 0.05 * max(0.0, 1 - step / BEGIN)

    fit(torch, steps, at=ended)


def dead_layer(torch: Any, steps: int) -> None:
    """A step throws all units where their slope is zero."""

    def thrown(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        if step == BEGIN:
            net[0].bias.detach().sub_(100.0)

    fit(torch, steps, at=thrown)


def dead_units(torch: Any, steps: int) -> None:
    """Most units die, the others live."""

    def thrown(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        if step == BEGIN:
            net[0].bias.detach()[:10].sub_(100.0)

    fit(torch, steps, at=thrown)


def half_overflows(torch: Any, steps: int) -> None:
    """A loss in half precision that grows beyond what it holds."""
    torch.manual_seed(5)
    weight = torch.ones(4, requires_grad=True)
    adam = torch.optim.Adam([weight], lr=0.01)
    for step in range(1, steps + 1):
        size = 1.0 if step < BEGIN else 3000.0
        adam.zero_grad()
        ((weight * size).half() ** 2).sum().backward()
        adam.step()


def thawed_at_a_wrong_rate(torch: Any, steps: int) -> None:
    """A layer is given to the optimizer late, with a rate a thousand times too large."""

    def thawed(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        if step == 1:
            sgd.param_groups[0]["params"] = list(net[2].parameters())
        if step == BEGIN:
            sgd.add_param_group({"params": list(net[0].parameters()), "lr": 100.0})

    fit(torch, steps, at=thawed)


LATE: dict[str, tuple[Train, tuple[str, ...], int]] = {
    "a value is missing in a rare batch": (rare_batch, ("nonfinite",), 5),
    "labels of a batch in another unit": (wrong_labels, ("exploding",), 5),
    "the rate grows": (rising_rate, ("update", "exploding", "nonfinite"), 8),
    "a schedule reaches zero": (rate_reaches_zero, ("rate",), 5),
    "a layer dies": (dead_layer, ("zeros",), 5),
    "most units die": (dead_units, ("zeros",), 5),
    "a layer is thawed at a wrong rate": (thawed_at_a_wrong_rate, ("update", "exploding"), 5),
    "half precision overflows": (half_overflows, ("nonfinite",), 5),
}


@pytest.mark.parametrize("name", ["torch", "retrograd"])
@pytest.mark.parametrize("late", LATE)
def test_what_goes_wrong_late_is_told_then(late: str, name: str, capfd: Any) -> None:
    """The trigger fires within a few steps, and nothing fires before."""
    train, triggers, steps = LATE[late]
    with watch() as run:
        train(engine(name), BEGIN + 40)

    assert run.happened, "nothing fired"
    first = run.happened[0]
    assert first["trigger"] in triggers, first
    assert BEGIN <= first["step"] <= BEGIN + steps, first


@pytest.mark.parametrize("name", ["torch", "retrograd"])
@pytest.mark.parametrize("averaged", [False, True])
def test_graphs_that_are_kept_are_told(name: str, averaged: bool, capfd: Any) -> None:
    """What holds losses with the graphs of 500 steps, a list or their running mean, is named."""
    torch = engine(name)
    weight = torch.nn.Parameter(torch.ones(2))
    sgd = torch.optim.SGD([weight], lr=0.01)
    numbers: list[float] = []
    curve: dict[str, Any] = {"mean": 0.0, "all": []}
    with watch() as run:
        for step in range(700):
            loss = weight.square().sum()
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            numbers.append(loss.item())
            if step >= 100 and averaged:
                curve["mean"] = 0.9 * curve["mean"] + 0.1 * loss
            elif step >= 100:
                curve["all"].append(loss)

    (told,) = run.happened
    assert told["trigger"] == "graph"
    assert ('by curve["mean"]' if averaged else 'by curve["all"][') in told["text"]
    assert 600 <= told["step"] <= 640


@pytest.mark.parametrize("name", ["torch", "retrograd"])
def test_rates_that_decay_to_nothing_in_some_layers(name: str, capfd: Any) -> None:
    """They are named, with the scheduler that is made for them; layers that are given no rate at once are meant to."""
    torch = engine(name)
    torch.manual_seed(5)
    net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))

    def train(rate: Any) -> Any:
        sgd = torch.optim.SGD([{"params": layer.parameters()} for layer in (net[0], net[2])], lr=0.02)
        schedule = torch.optim.lr_scheduler.LambdaLR(sgd, [rate, lambda step: 1.0])
        with watch() as run:
            schedule = torch.optim.lr_scheduler.LambdaLR(sgd, [rate, lambda step: 1.0])
            for _ in range(120):
                sgd.zero_grad()
                net(torch.randn(8, 3)).square().mean().backward()
                sgd.step()
                schedule.step()
        return run.happened

    (told,) = train(lambda step: 0.7 ** max(step - 60, 0))
    assert (told["trigger"], told["step"]) == ("rate", 100)
    assert "0.weight and 0.bias" in told["text"]
    assert "LambdaLR, made at test_watch_late.py:" in told["text"]
    assert train(lambda step: float(step < 60)) == []


def test_frozen_parameters_are_noted(capfd: Any) -> None:
    """It is no trigger, for it may be meant; where a program does so often, it is noted a few times only."""
    with watch() as once:
        frozen_later(retrograd, 80)
    with watch() as often:
        fit(retrograd, 80, at=lambda step, net, sgd, x, y: net[0].requires_grad_(step % 2 == 0))

    (note,) = once.happened
    assert (note["kind"], note["step"]) == ("note", 60)
    assert note["text"] == "no gradient is required of 0.weight and 0.bias any more (2 of 4 parameters)"
    assert len(often.happened) == 5


@pytest.mark.parametrize("name", ["torch", "retrograd"])
def test_units_that_die_one_by_one(name: str, capfd: Any) -> None:
    """They are named when they have been dead for 200 steps; weights that are pruned as slowly are meant to be zero."""
    torch = engine(name)

    def dies(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        if step > BEGIN and step % 15 == 0:
            net[0].bias.detach()[min((step - BEGIN) // 15, 9)].sub_(100.0)

    def pruned(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        kept = torch.ones(12, 1)
        kept[: min(max(step - BEGIN, 0) // 15, 9)] = 0.0
        net[0].weight.detach().mul_(kept)
        if step == 1:
            net[0].bias.requires_grad_(False)
            net[2].weight.requires_grad_(False)
            net[0].weight.register_hook(lambda grad: grad * (net[0].weight.detach() != 0))

    with watch() as wrong:
        fit(torch, BEGIN + 400, at=dies)
    with watch() as right:
        fit(torch, BEGIN + 400, at=pruned)

    (told,) = wrong.happened
    assert told["trigger"] == "zeros"
    assert "units have died" in told["text"]
    assert BEGIN + 200 < told["step"] < BEGIN + 380
    assert [one for one in right.happened if one["kind"] == "trigger"] == []


@pytest.mark.parametrize("name", ["torch", "retrograd"])
def test_slow_growth_is_told_before_it_overflows(name: str, capfd: Any) -> None:
    """A score without bound grows by a few percent a step, and its median with it; one that is bounded ends."""
    torch = engine(name)

    def train(limit: float) -> Any:
        weight = torch.nn.Parameter(torch.full((3,), 0.5))
        sgd = torch.optim.SGD([weight], lr=0.02)
        with watch(triggers=["exploding", "nonfinite"]) as run:
            for _ in range(600):
                sgd.zero_grad()
                (-weight.square().sum()).backward()
                sgd.step()
                with torch.no_grad():
                    weight.clamp_(-limit, limit)
        return run.happened

    (told,) = train(1e30)
    assert told["trigger"] == "exploding"
    assert told["step"] < 200, "it is 1e16 times as large after 500 steps"
    assert train(1.0) == []


def warm_up_and_decay(torch: Any, steps: int) -> None:
    """A rate that begins at zero and ends there."""

    def scheduled(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        sgd.param_groups[0]["lr"] = 0.05 * min(step - 1, 20) / 20 * (1 + math.cos(math.pi * step / steps)) / 2

    fit(torch, steps, at=scheduled)


def frozen_later(torch: Any, steps: int) -> None:
    """The first layer is frozen when it is good enough."""

    def frozen(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        if step == 60:
            net[0].requires_grad_(False)

    fit(torch, steps, at=frozen)


def thawed_later(torch: Any, steps: int) -> None:
    """The first layer is trained from the middle on."""

    def thawed(step: int, net: Any, sgd: Any, x: Any, y: Any) -> None:
        net[0].requires_grad_(step > steps // 2)

    fit(torch, steps, at=thawed)


def hinge_is_met(torch: Any, steps: int) -> None:
    """A loss that is zero in the end, and with it all gradients."""
    torch.manual_seed(1)
    plane = torch.nn.Linear(2, 1)
    sgd = torch.optim.SGD(plane.parameters(), lr=0.5)
    for _ in range(steps):
        side = torch.randint(0, 2, (20, 1)) * 2.0 - 1
        points = side * 3 + torch.rand(20, 2)
        sgd.zero_grad()
        (1 - side * plane(points)).clamp(min=0).mean().backward()
        sgd.step()


def adversaries(torch: Any, steps: int) -> None:
    """Two networks in turn, each with its optimizer."""
    torch.manual_seed(1)
    maker, judge = (
        torch.nn.Linear(2, 2),
        torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)),
    )
    of_maker, of_judge = (torch.optim.Adam(net.parameters(), lr=2e-3) for net in (maker, judge))
    score = torch.nn.functional.binary_cross_entropy_with_logits
    for _ in range(steps):
        made, real = maker(torch.randn(16, 2)), torch.randn(16, 2) + 1
        of_judge.zero_grad()
        (score(judge(real), torch.ones(16, 1)) + score(judge(made.detach()), torch.zeros(16, 1))).backward()
        of_judge.step()
        of_maker.zero_grad()
        score(judge(made), torch.ones(16, 1)).backward()
        of_maker.step()


def rare_expert(torch: Any, steps: int) -> None:
    """Which expert answers depends on the batch; one answers seldom."""
    torch.manual_seed(1)
    experts = torch.nn.ModuleList([torch.nn.Linear(3, 1) for _ in range(3)])
    adam = torch.optim.Adam(experts.parameters(), lr=0.01)
    for step in range(steps):
        x = torch.randn(8, 3)
        chosen = 2 if step % 17 == 0 else step % 2
        adam.zero_grad()
        (experts[chosen](x) - x.sum(1, keepdim=True)).square().mean().backward()
        adam.step()


def tasks_by_turns(torch: Any, steps: int) -> None:
    """Two heads, each trained for forty steps in a row."""
    torch.manual_seed(1)
    trunk, heads = torch.nn.Linear(3, 6), torch.nn.ModuleList([torch.nn.Linear(6, 1) for _ in range(2)])
    sgd = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.05)
    for step in range(steps):
        x = torch.randn(8, 3)
        sgd.zero_grad()
        (heads[step // 40 % 2](trunk(x).tanh()) - x.sin().sum(1, keepdim=True)).square().mean().backward()
        sgd.step()


def words(torch: Any, steps: int) -> None:
    """Of a table of words each batch has a few, in batches of other lengths."""
    torch.manual_seed(1)
    table, tell = torch.nn.Embedding(50, 4), torch.nn.Linear(4, 1)
    adam = torch.optim.Adam([*table.parameters(), *tell.parameters()], lr=0.01)
    for step in range(steps):
        ids = torch.randint(0, 50, (4, 3 + step % 9))
        adam.zero_grad()
        (tell(table(ids).mean(1)) - ids.float().mean(1, keepdim=True) / 50).square().mean().backward()
        adam.step()


def accumulated_and_clipped(torch: Any, steps: int) -> None:
    """Four batches a step, their gradients clipped."""
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        for _ in range(4):
            x = torch.randn(8, 3)
            ((net(x) - x.sum(1, keepdim=True)).square().mean() / 4).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        sgd.step()
        sgd.zero_grad(set_to_none=False)


def annealed(torch: Any, steps: int) -> None:
    """An autoencoder whose second term sets in slowly."""
    torch.manual_seed(1)
    encode, decode = torch.nn.Linear(4, 4), torch.nn.Linear(2, 4)
    adam = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)
    for step in range(steps):
        x = torch.randn(16, 4)
        mean, log_variance = encode(x).chunk(2, 1)
        z = mean + torch.randn(16, 2) * (log_variance / 2).exp()
        apart = (mean.square() + log_variance.exp() - log_variance - 1).sum(1).mean()
        adam.zero_grad()
        ((decode(z) - x).square().mean() + min(step / 100, 1.0) * 0.1 * apart).backward()
        adam.step()


def rewards(torch: Any, steps: int) -> None:
    """A policy that learns from rewards of single tries, which vary much."""
    torch.manual_seed(1)
    policy = torch.nn.Linear(2, 2)
    sgd = torch.optim.SGD(policy.parameters(), lr=0.05)
    for _ in range(steps):
        state = torch.randn(1, 2)
        log = policy(state).log_softmax(1)
        action = int(torch.multinomial(log.exp().detach(), 1))
        reward = 1.0 if (state[0, 0].item() > 0) == bool(action) else 0.0
        sgd.zero_grad()
        (-log[0, action] * (reward - 0.5)).backward()
        sgd.step()


def recurrent(torch: Any, steps: int) -> None:
    """Sequences of other lengths each step."""
    torch.manual_seed(1)
    cell, tell = torch.nn.GRUCell(1, 5), torch.nn.Linear(5, 1)
    adam = torch.optim.Adam([*cell.parameters(), *tell.parameters()], lr=0.01)
    for step in range(steps):
        series = torch.randn(4, 2 + step % 5)
        state = torch.zeros(4, 5)
        for column in series.unbind(1):
            state = cell(column[:, None], state)
        adam.zero_grad()
        (tell(state) - series.sum(1, keepdim=True)).square().mean().backward()
        adam.step()


def slow_target(torch: Any, steps: int) -> None:
    """Values learned from a copy that follows slowly."""
    torch.manual_seed(1)
    value, target = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    target.load_state_dict(value.state_dict())
    adam = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(steps):
        now, then = torch.randn(8, 3), torch.randn(8, 3)
        with torch.no_grad():
            wanted = now[:, 0] + 0.9 * target(then).max(1).values
        adam.zero_grad()
        (value(now)[:, 0] - wanted).square().mean().backward()
        adam.step()
        with torch.no_grad():
            for mine, other in zip(target.parameters(), value.parameters(), strict=True):
                mine.lerp_(other, 0.05)


def dropped_out(torch: Any, steps: int) -> None:
    """Dropout, weight decay, and an evaluation now and then."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
    adam = torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.1)
    for step in range(steps):
        x = torch.randn(16, 3)
        adam.zero_grad()
        (net(x) - x.prod(1, keepdim=True)).square().mean().backward()
        adam.step()
        if step % 50 == 0:
            net.eval()
            with torch.no_grad():
                net(x)
            net.train()


def learned_to_the_end(torch: Any, steps: int) -> None:
    """A small task that is learned exactly: losses and gradients become tiny."""
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.2)
    for _ in range(steps):
        x = torch.randn(16, 3)
        sgd.zero_grad()
        (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
        sgd.step()


def slopes_too(torch: Any, steps: int) -> None:
    """A loss of the derivative, by create_graph."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(steps):
        x = torch.randn(16, 1, requires_grad=True)
        y = net(x)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        adam.zero_grad()
        ((slope - x.detach().cos()).square().mean() + y.mean().square()).backward()
        adam.step()


def two_rates(torch: Any, steps: int) -> None:
    """A body that hardly moves and a head that does; every 50 steps a cycle begins anew."""
    torch.manual_seed(1)
    body, head = torch.nn.Linear(3, 6), torch.nn.Linear(6, 1)
    groups = [{"params": list(body.parameters()), "lr": 1e-5}, {"params": list(head.parameters()), "lr": 0.05}]
    sgd = torch.optim.SGD(groups, lr=0.05)
    cycle = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, 50)
    for _ in range(steps):
        x = torch.randn(8, 3)
        sgd.zero_grad()
        (head(body(x).tanh()) - x.sum(1, keepdim=True)).square().mean().backward()
        sgd.step()
        cycle.step()


def searched(torch: Any, steps: int) -> None:
    """LBFGS, which evaluates several times a step."""
    torch.manual_seed(1)
    x = torch.randn(20, 3)
    weight = torch.zeros(3, requires_grad=True)
    search = torch.optim.LBFGS([weight], lr=0.1, max_iter=3)

    def again() -> Any:
        search.zero_grad()
        loss = (x @ weight - x.sum(1)).square().mean() + 0.1 * weight.square().sum()
        loss.backward()
        return loss

    for _ in range(steps):
        search.step(again)


def pulled_together(torch: Any, steps: int) -> None:
    """Triplets: most of them are far enough apart after a while."""
    torch.manual_seed(1)
    place = torch.nn.Linear(4, 2)
    adam = torch.optim.Adam(place.parameters(), lr=0.01)
    for _ in range(steps):
        one, other = torch.randn(8, 4), torch.randn(8, 4) + torch.tensor([3.0, 0, 0, 0])
        near = one + 0.1 * torch.randn(8, 4)
        a, b, c = place(one), place(near), place(other)
        adam.zero_grad()
        ((a - b).square().sum(1) - (a - c).square().sum(1) + 1).clamp(min=0).mean().backward()
        adam.step()


def first_steps_are_large(torch: Any, steps: int) -> None:
    """Zero weights, a large first rate, and outputs of another size than the first ones."""
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 1)
    torch.nn.init.zeros_(net.weight)
    adam = torch.optim.Adam(net.parameters(), lr=1.0)
    for step in range(steps):
        adam.param_groups[0]["lr"] = max(0.01, 1.0 / (1 + step))
        x = torch.randn(8, 3)
        adam.zero_grad()
        (net(x) - 100 * x.sum(1, keepdim=True)).square().mean().backward()
        adam.step()


def rare_rewards(torch: Any, steps: int) -> None:
    """Few batches tell anything, and those much."""
    torch.manual_seed(1)
    weight = torch.nn.Parameter(torch.zeros(3))
    sgd = torch.optim.SGD([weight], lr=1e-4)
    for step in range(steps):
        much = 3.0 if step % 70 == 9 else 0.01
        sgd.zero_grad()
        ((weight - torch.randn(3)) * much).square().sum().backward()
        sgd.step()


def learned_and_pruned(torch: Any, steps: int) -> None:
    """What was learned exactly is pruned in the middle, and learned anew; in the end all weights shrink to nothing."""
    torch.manual_seed(1)
    net = torch.nn.Linear(4, 1)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(steps):
        if step == steps // 2:
            net.weight.detach()[0, 0] = 0.9
        x = torch.randn(16, 4)
        sgd.zero_grad()
        (net(x) - (x.sum(1, keepdim=True) if step < 0.7 * steps else 0)).abs().mean().backward()
        sgd.step()


RIGHT: tuple[Train, ...] = (
    warm_up_and_decay, frozen_later, thawed_later, hinge_is_met, adversaries, rare_expert, tasks_by_turns, words,
    accumulated_and_clipped, annealed, rewards, recurrent, slow_target, dropped_out, learned_to_the_end, slopes_too,
    two_rates, searched, pulled_together, first_steps_are_large, rare_rewards, learned_and_pruned,
)  # fmt: skip


@pytest.mark.parametrize(("place", "train"), list(enumerate(RIGHT)), ids=[one.__name__ for one in RIGHT])
def test_what_goes_right_for_long_is_left_alone(place: int, train: Train) -> None:
    """No trigger fires by default; every other one runs on PyTorch."""
    with watch() as run:
        train(engine("torch" if place % 2 else "retrograd"), 400)

    assert [one["text"] for one in run.happened if one["kind"] == "trigger"] == []
