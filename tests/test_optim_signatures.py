"""What optimizers say that they take, as programs ask before they pass ``fused``."""

from __future__ import annotations

import inspect
from typing import Any

from both_engines import differential, raises, warned

NAMES = (
    "Adam",
    "AdamW",
    "SGD",
    "RMSprop",
    "Adadelta",
    "NAdam",
    "RAdam",
    "LBFGS",
    "Adamax",
    "ASGD",
    "Rprop",
    "Adafactor",
    "Adagrad",
    "SparseAdam",
    "Muon",
)


@differential
def test_settings_are_listed(torch: Any) -> Any:
    """``inspect.signature`` names PyTorch's settings, with their defaults; a subclass says its own."""

    class Mine(torch.optim.SGD):  # type: ignore[misc]
        def __init__(self, params: Any, rate: float = 0.5) -> None:
            super().__init__(params, lr=rate)

    taken = [inspect.signature(getattr(torch.optim, name)).parameters.values() for name in NAMES]
    mine = Mine([torch.ones(1, requires_grad=True)])
    return [
        [(p.name, p.kind.name, p.default) for p in each if p.default is not p.empty] for each in taken
    ], mine.param_groups[0]["lr"]


@differential
def test_settings_behind_the_star_are_given_by_name(torch: Any) -> Any:
    """A seventh argument of ``SGD`` is an error, not ``maximize``."""
    x = [torch.ones(1, requires_grad=True)]
    many = "takes from 2 to 7 positional arguments but 8 were given"
    found = [
        raises(many, torch.optim.SGD, x, 0.1, 0.9, 0, 0, False, True),
        raises(many, torch.optim.Adam, x, 0.1, (0.9, 0.99), 1e-8, 0, False, True),
    ]
    adamw = torch.optim.AdamW(x, 0.1, (0.9, 0.99), 1e-8, 0.5, True, maximize=True, fused=False)
    return found, sorted((key, repr(value)) for key, value in adamw.defaults.items())


@differential
def test_an_epoch_for_a_schedule_is_discouraged(torch: Any) -> Any:
    """``step(3)`` warns, but not a schedule that sets another one back."""
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], 1.0)
    schedules = torch.optim.lr_scheduler
    joined = schedules.SequentialLR(
        optimizer, [schedules.StepLR(optimizer, 1), schedules.ExponentialLR(optimizer, 0.5)], [1]
    )
    optimizer.step()
    joined.step()
    schedule = schedules.StepLR(optimizer, 1)
    warned("The epoch parameter in `scheduler.step()` was not necessary", schedule.step, 3)
    return joined.get_last_lr(), schedule.get_last_lr(), schedule.last_epoch


@differential
def test_settings_are_kept_in_order(torch: Any) -> Any:
    """``defaults`` and ``state_dict`` list settings as PyTorch does, which is not the order of arguments."""
    x = torch.ones(2, 2, requires_grad=True)
    made = [getattr(torch.optim, name)([x]) for name in NAMES]
    return [(list(each.defaults), list(each.state_dict()["param_groups"][0])) for each in made]


@differential
def test_a_step_that_would_be_captured_is_refused(torch: Any) -> Any:
    """``capturable=True`` needs a GPU at the step; Adam takes no tensor as ``lr`` with ``foreach=True``."""

    def step(name: str, **settings: Any) -> None:
        x = torch.ones(2, requires_grad=True)
        x.grad = torch.ones(2)
        getattr(torch.optim, name)([x], **settings).step()

    names = ("Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Rprop", "ASGD", "Adadelta", "Adamax")
    unused = torch.optim.Adam([torch.ones(1, requires_grad=True)], capturable=True)
    unused.step()
    refused = [raises("must be on supported devices", step, name, capturable=True) for name in names]
    rate = "lr as a Tensor is not supported for capturable=False and foreach=True"
    refused += [raises(rate, step, name, lr=torch.tensor(0.1), foreach=True) for name in ("Adam", "AdamW")]
    step("SGD", lr=torch.tensor(0.1), foreach=True)
    return refused


@differential
def test_steps_by_signs_can_be_derived(torch: Any) -> Any:
    """``Rprop(differentiable=True)`` writes nothing that its steps have saved."""
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    moved = p.clone()
    optimizer = torch.optim.Rprop([moved], differentiable=True)
    moved.grad = p**2
    optimizer.step()
    return torch.autograd.grad(moved.sum(), p)
