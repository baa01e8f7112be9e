"""``torch.optim.swa_utils``: running averages of models, plain or exponential (Izmailov et al. 2018)."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from ..nn import Module
from ..nn.modules.normalization import _BatchNorm
from .optimizer import Optimizer
from .schedules import LRScheduler, one_each

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def _checked(decay: float) -> float:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """Exponential average of one parameter."""
    _checked(decay)

    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """Mean of one parameter over all updates."""

    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def _each(update: Callable[..., Any]) -> Callable[..., None]:
    """The same for lists of parameters, in place."""

    def update_all(averaged: Any, current: Any, num_averaged: Any) -> None:
        for kept, new in zip(averaged, current, strict=True):
            counts = not (kept.is_floating_point() or kept.is_complex())  # of batches, for example
            with no_grad():
                kept.copy_(new if counts else update(kept, new, num_averaged))

    return update_all


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """Exponential average of lists of parameters, in place."""
    return _each(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., Any]:
    """Mean of lists of parameters over all updates, in place."""
    return _each(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model (``module``) whose parameters are averages over ``update_parameters`` calls.

    ``avg_fn(averaged, current, number)`` says the average of one parameter, ``multi_avg_fn`` writes those of lists;
    with ``use_buffers`` buffers are averaged too, otherwise they are copied.
    """

    n_averaged: Any

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", FUNCTIONS["tensor"](0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """That of the averaged model."""
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> list[Any]:
        buffers = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in itertools.chain(model.parameters(), buffers)]

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of ``model`` into the averages."""
        averaged, current = self._averaged(self.module), self._averaged(model)
        if int(self.n_averaged) == 0:
            for kept, new in zip(averaged, current, strict=True):
                kept.copy_(new)
        else:
            write = self.multi_avg_fn or _each(self.avg_fn or get_swa_avg_fn())
            write(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for kept, new in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(new.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Take running statistics of batch normalization anew, from one pass over ``loader``."""
    norms = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not norms:
        return
    training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    with no_grad():
        for batch in loader:
            given = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(given if device is None else given.to(device))
    for norm, momentum in norms.items():
        norm.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """From the present rates to ``swa_lr`` in ``anneal_epochs`` epochs, then constant."""

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for group, rate in zip(optimizer.param_groups, one_each(swa_lr, optimizer, "swa_lr"), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        """How much of the way is done, from 0 to 1."""
        part = max(0.0, min(1.0, epoch / self.anneal_epochs))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> list[Any]:
        """Present rates, moved on from where they must have started."""
        self._warn_outside_step()
        at = self._step_count - 1
        before, now = (self._share(max(0, at - 1)), self._share(at)) if self.anneal_epochs else (0.0, 1.0)
        started = [
            group["swa_lr"] if before == 1 else (group["lr"] - group["swa_lr"] * before) / (1 - before)
            for group in self.optimizer.param_groups
        ]
        pairs = zip(self.optimizer.param_groups, started, strict=True)
        return [group["swa_lr"] * now + start * (1 - now) for group, start in pairs]
