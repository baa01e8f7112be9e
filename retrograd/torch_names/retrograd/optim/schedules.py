"""Learning-rate schedules: ``step()`` after each epoch (or batch) sets the ``lr`` of every group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from ..engine import observe
from ..engine.tensors.tensor import Tensor
from ..engine.warning import warn
from .optimizer import Optimizer


def rate_of(group: dict[str, Any]) -> Any:
    """The learning rate of a group of parameters, as it is now: a tensor may be written later."""
    rate = group["lr"]
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Change it; a tensor is written, as the program may hold it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(rate))
    else:
        group["lr"] = rate


class LRScheduler:
    """Base of schedules: ``get_lr`` says the rates of ``last_epoch``, from the present ones or from ``base_lrs``."""

    __module__ = "retrograd.optim.lr_scheduler"

    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", rate_of(group))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0: load the optimizer's state first, or leave last_epoch out where training begins"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch, self._step_count = last_epoch, 0
        # Both are in PyTorch's states, which other programs read.
        self._is_initial = self._get_lr_called_within_step = False
        self._initial_step()

    def _initial_step(self) -> None:
        """The step that sets the first rates; a schedule that continues finds them changed already."""
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what ``state_dict`` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates last set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of this epoch; for subclasses."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[Any] | None:
        """The rates of this epoch from ``base_lrs`` alone, whatever they were before; where there is a formula."""
        return None

    def _of_base(self, factor: float) -> list[Any]:
        return [rate * factor for rate in self.base_lrs]

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of a given one, which is discouraged."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
                "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the "
                "learning rate schedule is skipped."
            )
        self._step_count += 1
        if epoch is not None:
            warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
                "Please use `scheduler.step()` to step the scheduler; with an epoch the closed form is used, where "
                "there is one."
            )
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None) -> None:
        """``step`` without a word."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else self._get_closed_form_lr()
        self._set(self._rates() if closed is None else closed)

    def _rates(self) -> list[Any]:
        """``get_lr`` as a step asks it."""
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        """``get_lr`` says what comes next; programs mostly mean ``get_last_lr``."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._present()
        observe.notify("scheduled", self.optimizer)

    def _present(self) -> list[Any]:
        return [rate_of(group) for group in self.optimizer.param_groups]

    def _times(self, factor: float) -> list[Any]:
        return [rate * factor for rate in self._present()]


class _LRScheduler(LRScheduler):
    """The old name, for subclasses of programs; no schedule here is one."""

    __module__ = "retrograd.optim.lr_scheduler"


class LambdaLR(LRScheduler):
    """The first rates times a function of the epoch, one for all groups or one for each."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)) and len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = one_each(lr_lambda, optimizer, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """First rates times the functions."""
        self._warn_outside_step()
        factors = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in factors]

    def state_dict(self) -> dict[str, Any]:
        """Without functions; objects among them give their attributes."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        return {**state, "lr_lambdas": [attributes_of(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Functions stay as they are; objects among them take their attributes."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if kept is not None:
                function.__dict__.update(kept)


class MultiplicativeLR(LambdaLR):
    """The present rates times a function of the epoch."""

    __module__ = "retrograd.optim.lr_scheduler"

    def get_lr(self) -> list[Any]:
        """Present rates times the functions."""
        self._warn_outside_step()
        if self._is_initial:
            return self._present()
        factors = zip(self._present(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in factors]


def attributes_of(function: Any) -> dict[str, Any] | None:
    """What a state keeps of a function that a program gave: the attributes of an object, nothing of a function."""
    return None if function is None or isinstance(function, FunctionType) else dict(function.__dict__)


def one_each(given: Any, optimizer: Optimizer, name: str) -> list[Any]:
    """One value for each group, from one for all or a list."""
    groups = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * groups
    if len(given) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(given)} values, param_groups "
            f"has {groups}."
        )
    return list(given)


class StepLR(LRScheduler):
    """Times ``gamma`` every ``step_size`` epochs."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Present rates, times gamma where the epoch is a multiple."""
        self._warn_outside_step()
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._times(self.gamma) if due else self._present()

    def _get_closed_form_lr(self) -> list[Any]:
        return self._of_base(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """Times ``gamma`` at each milestone."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Present rates, times gamma for each milestone that this epoch is."""
        self._warn_outside_step()
        return self._times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        return self._of_base(self.gamma ** sum(n for at, n in self.milestones.items() if at <= self.last_epoch))


class ConstantLR(LRScheduler):
    """Times ``factor`` for the first ``total_iters`` epochs."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Times the factor at the start, back at the end."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._times(self.factor)
        return self._times(1.0 / self.factor) if self.last_epoch == self.total_iters else self._present()

    def _get_closed_form_lr(self) -> list[Any]:
        return self._of_base(self.factor if self.last_epoch < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """From ``start_factor`` to ``end_factor`` in ``total_iters`` even steps."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Present rates times the quotient of this factor and the last."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        span = self.end_factor - self.start_factor
        return self._times(1.0 + span / (self.total_iters * self.start_factor + (self.last_epoch - 1) * span))

    def _get_closed_form_lr(self) -> list[Any]:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return self._of_base(self.start_factor + (self.end_factor - self.start_factor) * part)


class ExponentialLR(LRScheduler):
    """Times ``gamma`` every epoch."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Present rates times gamma, from the second on."""
        self._warn_outside_step()
        return self._present() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return self._of_base(self.gamma**self.last_epoch)


class PolynomialLR(LRScheduler):
    """A power of the part of ``total_iters`` that is left."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Present rates times the quotient of this power and the last."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        left = [1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1)]
        return self._times((left[0] / left[1]) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return self._of_base(left**self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to ``eta_min`` in ``T_max`` epochs, and back."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """What is above the minimum, times the quotient of this cosine and the last."""
        self._warn_outside_step()
        epoch, present = self.last_epoch, self._present()
        if self._is_initial:
            return present
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self.base_lrs, present, strict=True)
            return [rate + (base - self.eta_min) * rise for base, rate in pairs]
        now, before = (1 + math.cos(math.pi * k / self.T_max) for k in (epoch, epoch - 1))
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in present]

    def _get_closed_form_lr(self) -> list[Any]:
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]
