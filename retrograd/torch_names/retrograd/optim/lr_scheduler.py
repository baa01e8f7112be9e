"""``torch.optim.lr_scheduler``: re-exports only."""

from __future__ import annotations

import math
from typing import Any

from .combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from .optimizer import Optimizer
from .schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
    _LRScheduler,
    attributes_of,
    one_each,
    rate_of,
    set_rate,
)

# Schedules that go up and down: cosines with restarts, one cycle, many cycles.


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosines that start again, each ``T_mult`` times as long as the last (Loshchilov and Hutter 2017)."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1  # noqa: N803
    ) -> None:  # fmt: skip
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The cosine of how much of this stretch is over."""
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """The next epoch, or a given one, which may be a fraction."""
        at = self.last_epoch + 1 if epoch is None else epoch
        if at < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self.T_i, start = self.T_0, 0
        while at - start >= self.T_i:
            start += self.T_i
            self.T_i *= self.T_mult
        self.T_cur, self.last_epoch = at - start, math.floor(at)
        self._set(self._rates())


class OneCycleLR(LRScheduler):
    """Up to ``max_lr`` and down far below the start in one cycle (Smith and Topin 2019)."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
        cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95, div_factor: float = 25.0,
        final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.total_steps = _count_of_steps(total_steps, epochs, steps_per_epoch)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        if cycle_momentum:
            self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, one_each(max_lr, optimizer, "max_lr"), strict=True):
                start = high / div_factor
                group.update(initial_lr=start, max_lr=high, min_lr=start / final_div_factor)
            if cycle_momentum:
                _start_momenta(optimizer, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))

    def get_lr(self) -> list[Any]:
        """The point of the phase that this step is in; momentum goes the other way."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        phases = self._schedule_phases
        at = next((i for i, phase in enumerate(phases) if self.last_epoch <= phase["end_step"]), len(phases) - 1)
        end, *names = phases[at].values()
        begun = phases[at - 1]["end_step"] if at else 0
        part, rates = (self.last_epoch - begun) / (end - begun), []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[names[0]], group[names[1]], part))
            if self.cycle_momentum:
                _set_momentum(group, self._between(group[names[2]], group[names[3]], part))
        return rates


Phase = dict[str, Any]
"""When a phase ends, and the names in a group from which to which learning rate and momentum go in it."""

_PHASE = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")


def _count_of_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """How long the cycle is; ``ValueError`` where that is not said, or not in positive integers."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = (
        {"epochs": epochs, "steps_per_epoch": steps_per_epoch} if total_steps is None else {"total_steps": total_steps}
    )
    for name, count in given.items():
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {count}")
    return math.prod(count for count in given.values() if count)


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[Phase]:
    """Return the phases of one cycle: up and down, the way down perhaps in two."""
    up = float(pct_start * total_steps) - 1
    rates, momenta = ["initial_lr", "max_lr"], ["max_momentum", "base_momentum"]
    if three_phase:
        ends = [up, float(2 * pct_start * total_steps) - 2, total_steps - 1]
        rates, momenta = [*rates, "initial_lr", "min_lr"], [*momenta, "max_momentum", "max_momentum"]
    else:
        ends = [up, total_steps - 1]
        rates, momenta = [*rates, "min_lr"], [*momenta, "max_momentum"]
    rows = zip(ends, rates, rates[1:], momenta, momenta[1:], strict=False)
    return [dict(zip(_PHASE, row, strict=True)) for row in rows]


def _start_momenta(optimizer: Optimizer, base_momentum: Any, max_momentum: Any) -> None:
    """Give every group the momenta between which it goes; it starts at the greatest."""
    lows = one_each(base_momentum, optimizer, "base_momentum")
    tops = one_each(max_momentum, optimizer, "max_momentum")
    for group, low, top in zip(optimizer.param_groups, lows, tops, strict=True):
        _set_momentum(group, top)
        group.update(max_momentum=top, base_momentum=low)


def _set_momentum(group: dict[str, Any], value: float) -> None:
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    elif "momentum" in group:
        group["momentum"] = value
    else:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")


class CyclicLR(LRScheduler):
    """Up and down between ``base_lr`` and ``max_lr`` (Smith 2017)."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Any = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: Any = 0.8, max_momentum: Any = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        for group, low in zip(optimizer.param_groups, one_each(base_lr, optimizer, "base_lr"), strict=True):
            set_rate(group, low)
            group["initial_lr"] = rate_of(group)
        self.max_lrs = one_each(max_lr, optimizer, "max_lr")
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if not {"momentum", "betas"} & set(optimizer.defaults):
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = one_each(base_momentum, optimizer, "base_momentum")
            self.max_momentums = one_each(max_momentum, optimizer, "max_momentum")
        super().__init__(optimizer, last_epoch)

    def scale_fn(self, x: float) -> Any:
        """How high the triangle is: a cycle's, or an iteration's by ``scale_mode``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return float(1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def state_dict(self) -> dict[str, Any]:
        """Without the function given for the height; an object gives its attributes."""
        state = {name: value for name, value in super().state_dict().items() if name != "_scale_fn_custom"}
        return {**state, "_scale_fn_custom": attributes_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The function given for the height stays; an object takes its attributes."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])

    def get_lr(self) -> list[Any]:
        """The point of the triangle that this step is at; momentum goes the other way."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momenta = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in momenta:
                _set_momentum(group, high - (high - low) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]


__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]
