"""Schedules made of other schedules, and the one that follows a metric."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..engine import observe
from .optimizer import Optimizer
from .schedules import LRScheduler, one_each, set_rate


class _Combined(LRScheduler):
    """Schedules that hold others; their states go along."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """With the states of the schedules."""
        state = {name: value for name, value in super().state_dict().items() if name != "_schedulers"}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """With the states of the schedules."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, kept in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(kept)


def _check_members(name: str, schedulers: Sequence[Any], optimizer: Any) -> None:
    """``TypeError`` for what is not a schedule, ``ValueError`` for one with a measure or another optimizer."""
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


class SequentialLR(_Combined):
    """One schedule after the other, each from a milestone on."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        _check_members("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for scheduler in schedulers:  # each has made its first step already
            scheduler.last_epoch -= 1
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """The next epoch of the schedule whose turn it is."""
        self.last_epoch += 1
        at = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[at]
        if at and self._milestones[at - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedules at once, each on top of the last."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        _check_members("ChainedScheduler", schedulers, optimizer)
        self._schedulers, self.optimizer = list(schedulers), optimizer
        self._last_lr = self._present()

    def step(self, epoch: int | None = None) -> None:
        """One step of every schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._present()


class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` when a measure has not become better for ``patience`` epochs."""

    __module__ = "retrograd.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != len(optimizer.param_groups):
            raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = one_each(min_lr, optimizer, "min_lr")
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = self._present()
        self.mode_worse = math.inf * (1 if mode == "min" else -1)
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether ``a`` is better than ``best`` by the threshold."""
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold * best if self.threshold_mode == "rel" else self.threshold
        return sign * a < sign * best - margin if math.isfinite(best) else sign * a < sign * best

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take a measure in."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self.is_better(current, self.best)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                lowered = max(group["lr"] * self.factor, least)
                if group["lr"] - lowered > self.eps:
                    set_rate(group, lowered)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            observe.notify("scheduled", self.optimizer)
        self._last_lr = self._present()
