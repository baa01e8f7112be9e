"""Adam and its kin: running means of gradients and of their squares, with bias correction."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.layouts import strided
from ..engine.methods import FUNCTIONS
from ..engine.tensors.tensor import Tensor
from .declared import Declared
from .updates import counted, decayed, places_and_values, zeros_of


def _moments(optimizer: Declared, p: Any, g: Any, group: dict[str, Any], **more: Any) -> tuple[Any, Any, int]:
    """State, gradient and number of this step, after weight decay and with both running means updated."""
    state, (first, second) = optimizer.state[p], group["betas"]
    largest = {"max_exp_avg_sq": zeros_of(p)} if group.get("amsgrad") else {}
    step = counted(state, **more, exp_avg=zeros_of(p), exp_avg_sq=zeros_of(p), **largest)
    if group.get("decoupled_weight_decay"):
        p.mul_(1 - float(group["lr"]) * group["weight_decay"])
    else:
        g = decayed(p, g, group["weight_decay"])
    state["exp_avg"].lerp_(g, 1 - float(first))
    state["exp_avg_sq"].mul_(float(second)).addcmul_(g, g, value=1 - float(second))
    return state, g, step


class Adam(
    Declared,
    settings=True,
    keywords="foreach",
    last="foreach capturable differentiable fused decoupled_weight_decay",
):
    """Adam (Kingma and Ba 2015) with torch's bias correction and L2 penalty."""

    lr: Any = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    amsgrad: bool = False
    foreach: bool | None = None
    maximize: bool = False
    capturable: bool = False
    differentiable: bool = False
    fused: bool | None = None
    decoupled_weight_decay: bool = False

    _no_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def _check_settings(self, settings: dict[str, Any]) -> None:
        super()._check_settings(settings)
        if isinstance(settings["lr"], Tensor) and settings["foreach"] and not settings["capturable"]:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state, _, step = _moments(self, p, g, group)
        mean = state["exp_avg_sq"]
        if group["amsgrad"]:
            mean = state["max_exp_avg_sq"].copy_(FUNCTIONS["maximum"](state["max_exp_avg_sq"], mean))
        correction1, correction2 = (1 - float(beta) ** step for beta in group["betas"])
        scale = (mean.sqrt() / math.sqrt(correction2)).add_(group["eps"])
        p.addcdiv_(state["exp_avg"], scale, value=-float(group["lr"]) / correction1)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself (Loshchilov and Hutter 2019)."""

    __module__ = "retrograd.optim.adamw"

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip


class Adamax(Declared, settings=True, keywords="maximize"):
    """Adam with the maximum in place of the mean square (Kingma and Ba 2015, section 7)."""

    __module__ = "retrograd.optim.adamax"

    lr: Any = 2e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False
    capturable: bool = False

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state, (first, second) = self.state[p], group["betas"]
        step = counted(state, exp_avg=zeros_of(p), exp_inf=zeros_of(p))
        g = decayed(p, g, group["weight_decay"])
        state["exp_avg"].lerp_(g, 1 - first)
        state["exp_inf"].copy_(FUNCTIONS["maximum"](state["exp_inf"].mul(second), g.abs().add(group["eps"])))
        p.addcdiv_(state["exp_avg"], state["exp_inf"], value=-float(group["lr"]) / (1 - first**step))


class NAdam(
    Declared,
    settings=True,
    keywords="foreach",
    positive={"momentum_decay": "momentum_decay value"},
    last="foreach capturable differentiable",
):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    __module__ = "retrograd.optim.nadam"

    lr: Any = 2e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    momentum_decay: float = 4e-3
    decoupled_weight_decay: bool = False
    foreach: bool | None = None
    maximize: bool = False
    capturable: bool = False
    differentiable: bool = False

    _captured = "params, mu_products and state_steps"

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state, g, step = _moments(self, p, g, group, mu_product=lambda: FUNCTIONS["ones"](()))
        (first, second), lr = group["betas"], float(group["lr"])
        mu, following = (first * (1 - 0.5 * 0.96 ** (k * group["momentum_decay"])) for k in (step, step + 1))
        state["mu_product"] *= mu
        product = state["mu_product"].item()
        scale = state["exp_avg_sq"].div(1 - second**step).sqrt().add(group["eps"])
        p.addcdiv_(g, scale, value=-lr * (1 - mu) / (1 - product))
        p.addcdiv_(state["exp_avg"], scale, value=-lr * following / (1 - product * following))


class SparseAdam(Declared, settings=True):
    """Adam of the entries that sparse gradients have; what else the parameters and moments hold stays as it is."""

    __module__ = "retrograd.optim.sparse_adam"

    lr: Any = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    maximize: bool = False

    _by_parts = False
    _no_sparse = None

    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(params, *args, **kwargs)
        groups = enumerate(self.param_groups)
        sparse = [[i, k] for i, group in groups for k, p in enumerate(group["params"]) if p.layout is not strided]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        groups = enumerate(self.param_groups)
        wide = [[i, k] for i, group in groups for k, p in enumerate(group["params"]) if p.is_complex()]
        if wide:
            raise ValueError(f"Complex params at indices {wide}: SparseAdam does not support complex parameters")

    def _check_settings(self, settings: dict[str, Any]) -> None:
        if settings["eps"] <= 0:
            raise ValueError(f"Invalid epsilon value: {settings['eps']}")
        super()._check_settings(settings)

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        if not g.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state, (first, second) = self.state[p], group["betas"]
        if not state:
            state.update(step=0, exp_avg=zeros_of(p)(), exp_avg_sq=zeros_of(p)())
        state["step"] += 1
        places, g = places_and_values(g)
        mean = _moved(state["exp_avg"], places, g, 1 - first)
        square = _moved(state["exp_avg_sq"], places, g.square(), 1 - second)
        length = float(group["lr"]) * math.sqrt(1 - second ** state["step"]) / (1 - first ** state["step"])
        p.index_put_(places, mean / square.sqrt().add(group["eps"]) * -length, accumulate=True)


def _moved(kept: Any, places: Any, towards: Any, share: float) -> Any:
    """What some entries of ``kept`` are after a step of this share of the way; they are written, too."""
    moved = kept[places]
    moved += (towards - moved) * share
    kept[places] = moved
    return moved


class RAdam(
    Declared,
    settings=True,
    keywords="foreach",
    last="foreach capturable decoupled_weight_decay differentiable",
):
    """Adam with the variance of its first steps rectified (Liu et al. 2020)."""

    __module__ = "retrograd.optim.radam"

    lr: Any = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    decoupled_weight_decay: bool = False
    foreach: bool | None = None
    maximize: bool = False
    capturable: bool = False
    differentiable: bool = False

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state, g, step = _moments(self, p, g, group)
        (first, second), lr = group["betas"], float(group["lr"])
        correction1, correction2 = 1 - first**step, 1 - second**step
        mean = state["exp_avg"].div(correction1)
        longest = 2 / (1 - second) - 1
        length = longest - 2 * step * second**step / correction2
        if length > 5:
            rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            scale = state["exp_avg_sq"].sqrt().add(group["eps"])
            mean = mean.mul(math.sqrt(rectified)).mul(math.sqrt(correction2)).div(scale)
        p.add_(mean, alpha=-lr)
