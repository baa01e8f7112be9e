"""Schedules of learning rates that go on from an epoch, and ``get_lr`` asked by programs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from both_engines import differential

MADE = {
    "exponential": lambda s, o, at: s.ExponentialLR(o, 0.5, last_epoch=at),
    "cosine": lambda s, o, at: s.CosineAnnealingLR(o, 4, last_epoch=at),
    "polynomial": lambda s, o, at: s.PolynomialLR(o, 5, 2.0, last_epoch=at),
    "multiplicative": lambda s, o, at: s.MultiplicativeLR(o, lambda epoch: 0.5 + epoch, last_epoch=at),
    "linear": lambda s, o, at: s.LinearLR(o, 0.5, 1.0, last_epoch=at),
    "constant": lambda s, o, at: s.ConstantLR(o, 0.5, 3, last_epoch=at),
    "steps": lambda s, o, at: s.StepLR(o, 2, last_epoch=at),
    "restarts": lambda s, o, at: s.CosineAnnealingWarmRestarts(o, 3, last_epoch=at),
}


@pytest.mark.parametrize("name", sorted(MADE))
def test_rates(name: str) -> None:
    """Rates after ``last_epoch=``, three steps, and a step back to epoch 0; a program's ``get_lr`` is warned of."""

    @differential
    def test(torch: Any) -> Any:
        found: list[Any] = []
        for at in (-1, 0, 1, 2, 3):
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
            optimizer.param_groups[0]["initial_lr"] = 1.0
            schedule = MADE[name](torch.optim.lr_scheduler, optimizer, at)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found += [schedule.get_last_lr(), schedule.get_lr()]
                found.append([str(w.message) for w in caught])
                for epoch in (None, None, None, 0, None):
                    optimizer.step()
                    schedule.step(*() if epoch is None else (epoch,))
                    found.append(schedule.get_last_lr())
        return found

    test()
