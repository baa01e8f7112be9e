"""Gradient descent: plain, averaged, and by signs alone."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS
from .declared import Declared
from .updates import counted, decayed, zeros_of


class SGD(Declared, settings=True, keywords="maximize", positive={"momentum": "momentum value"}):
    """Gradient descent with momentum, dampening, weight decay and Nesterov's variant."""

    __module__ = "retrograd.optim.sgd"

    lr: Any = 1e-3
    momentum: float = 0
    dampening: float = 0
    weight_decay: float = 0
    nesterov: bool = False
    maximize: bool = False
    foreach: bool | None = None
    differentiable: bool = False
    fused: bool | None = None

    _by_parts = False  # it takes no squares or signs
    _no_sparse = None

    def _check_settings(self, settings: dict[str, Any]) -> None:
        super()._check_settings(settings)
        if settings["nesterov"] and (settings["momentum"] <= 0 or settings["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _check_gradients(self, group: dict[str, Any]) -> None:
        if group["fused"] and any(p.grad is not None and p.grad.is_sparse for p in group["params"]):
            raise RuntimeError("`_fused_sgd` does not support sparse gradients")

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        g = decayed(p, g, group["weight_decay"])
        if group["momentum"]:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = g.detach().clone()
            else:
                buffer.mul_(group["momentum"]).add_(g, alpha=1 - group["dampening"])
            g = g.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        p.add_(g, alpha=-float(group["lr"]))


class ASGD(Declared, settings=True):
    """Gradient descent that also keeps the average of its way (Polyak and Juditsky 1992)."""

    __module__ = "retrograd.optim.asgd"

    lr: Any = 1e-2
    lambd: float = 1e-4
    alpha: float = 0.75
    t0: float = 1e6
    weight_decay: float = 0
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False
    capturable: bool = False

    _captured = "params, mus, etas, and state_steps"

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        """Averaged SGD for one parameter; ``ax`` is the mean of its values from step ``t0`` on."""
        state, lr, lambd = self.state[p], float(group["lr"]), group["lambd"]
        scalar = FUNCTIONS["tensor"]
        step = counted(state, eta=lambda: scalar(lr), mu=lambda: scalar(1.0), ax=zeros_of(p))
        eta, mu = state["eta"].item(), state["mu"].item()
        g = decayed(p, g, group["weight_decay"])
        p.mul_(1 - lambd * eta).add_(g, alpha=-eta)
        if mu == 1:
            state["ax"].copy_(p)
        else:
            state["ax"].add_(p.sub(state["ax"]).mul(mu))
        state["eta"].copy_(scalar(lr / (1 + lambd * lr * step) ** group["alpha"]))
        state["mu"].copy_(scalar(1 / max(1, step - group["t0"])))


class Rprop(Declared, settings=True, keywords="capturable", last="capturable"):
    """Steps by the sign of each gradient, longer while it stays (Riedmiller and Braun 1993)."""

    __module__ = "retrograd.optim.rprop"

    lr: Any = 1e-2
    etas: tuple[float, float] = (0.5, 1.2)
    step_sizes: tuple[float, float] = (1e-6, 50)
    capturable: bool = False
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False

    def _check_settings(self, settings: dict[str, Any]) -> None:
        super()._check_settings(settings)
        if not 0.0 < settings["etas"][0] < 1.0 < settings["etas"][1]:
            raise ValueError("Invalid eta values: {}, {}".format(*settings["etas"]))

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state, (shorter, longer) = self.state[p], group["etas"]
        counted(state, prev=zeros_of(p), step_size=lambda: p.detach().clone().fill_(float(group["lr"])))
        before = state["prev"].clone() if group["differentiable"] else state["prev"]  # which is written below
        sign = g.mul(before).sign()
        turned, kept = sign < 0, sign > 0
        lengths = sign.abs().neg().add(1).add(kept.to(p.dtype) * longer).add(turned.to(p.dtype) * shorter)
        state["step_size"].mul_(lengths)
        state["step_size"].clamp_(*group["step_sizes"])
        g = g.masked_fill(turned, 0)
        p.addcmul_(g.sign(), state["step_size"], value=-1)
        state["prev"].copy_(g)
