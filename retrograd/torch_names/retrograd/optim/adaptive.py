"""Descent with a step for each element, from the squares of its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..engine.methods import FUNCTIONS
from .declared import Declared
from .real_parts import is_complex
from .updates import counted, decayed, places_and_values, zeros_of


class Adagrad(
    Declared,
    settings=True,
    keywords="maximize",
    positive={"lr_decay": "lr_decay value", "initial_accumulator_value": "initial_accumulator_value value"},
    last="weight_decay initial_accumulator_value foreach maximize differentiable fused",
):
    """Steps divided by the root of the sum of all squares (Duchi et al. 2011)."""

    __module__ = "retrograd.optim.adagrad"

    lr: Any = 1e-2
    lr_decay: float = 0
    weight_decay: float = 0
    initial_accumulator_value: float = 0
    eps: float = 1e-10
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False
    fused: bool | None = None

    _no_sparse = None

    def __init__(self, params: Iterable[Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(params, *args, **kwargs)
        for group in self.param_groups:
            for p in group["params"]:
                value = group["initial_accumulator_value"]
                start = p.detach().clone().fill_(complex(value, value) if is_complex(p) else value)
                self.state[p].update(step=FUNCTIONS["tensor"](0.0), sum=start)

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state = self.state[p]
        step = counted(state)
        if g.is_sparse and group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        g = decayed(p, g, group["weight_decay"])
        lr = float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        if g.is_sparse:
            places, g = places_and_values(g)
            state["sum"].index_put_(places, g.square(), accumulate=True)
            p.index_put_(places, g / state["sum"][places].sqrt().add(group["eps"]) * -lr, accumulate=True)
            return
        state["sum"].addcmul_(g, g, value=1)
        p.addcdiv_(g, state["sum"].sqrt().add(group["eps"]), value=-lr)


class Adadelta(Declared, settings=True, keywords="capturable", last="capturable foreach differentiable"):
    """Steps in the unit of the parameter, from running averages (Zeiler 2012)."""

    __module__ = "retrograd.optim.adadelta"

    lr: Any = 1.0
    rho: float = 0.9
    eps: float = 1e-6
    weight_decay: float = 0
    foreach: bool | None = None
    capturable: bool = False
    maximize: bool = False
    differentiable: bool = False

    def _check_settings(self, settings: dict[str, Any]) -> None:
        super()._check_settings(settings)
        if not 0.0 <= settings["rho"] <= 1.0:
            raise ValueError(f"Invalid rho value: {settings['rho']}")

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state, rho, eps = self.state[p], group["rho"], group["eps"]
        counted(state, square_avg=zeros_of(p), acc_delta=zeros_of(p))
        g = decayed(p, g, group["weight_decay"])
        state["square_avg"].mul_(rho).addcmul_(g, g, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt().div(state["square_avg"].add(eps).sqrt()).mul(g)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-float(group["lr"]))


class RMSprop(
    Declared,
    settings=True,
    positive={"momentum": "momentum value", "alpha": "alpha value"},
    last="momentum alpha eps centered weight_decay capturable foreach maximize differentiable",
):
    """Steps divided by the root of a running mean of squares (Tieleman and Hinton 2012)."""

    __module__ = "retrograd.optim.rmsprop"

    lr: Any = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0
    momentum: float = 0
    centered: bool = False
    capturable: bool = False
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        """RMSprop for one parameter: its gradient over the root of a running mean of squares."""
        state, alpha, lr = self.state[p], group["alpha"], float(group["lr"])
        kept = ["square_avg", *(["momentum_buffer"] if group["momentum"] > 0 else [])]
        kept += ["grad_avg"] if group["centered"] else []
        counted(state, **dict.fromkeys(kept, zeros_of(p)))
        g = decayed(p, g, group["weight_decay"])
        mean = state["square_avg"].mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if group["centered"]:
            state["grad_avg"].lerp_(g, 1 - alpha)
            mean = mean.addcmul(state["grad_avg"], state["grad_avg"], value=-1)
        scale = mean.sqrt().add(group["eps"])
        if group["momentum"] > 0:
            state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(g, scale)
            p.add_(state["momentum_buffer"], alpha=-lr)
        else:
            p.addcdiv_(g, scale, value=-lr)
