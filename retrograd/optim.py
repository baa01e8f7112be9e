"""``SGD`` and ``Adam`` with torch's formulas and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .engine import observe
from .engine.functions.creating import zeros_like
from .engine.modes import enable_grad, no_grad
from .engine.tensor import Tensor


class Optimizer:
    """Updates parameters from their gradients; ``param_groups`` hold parameters and settings as in torch."""

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        self.defaults = defaults
        self.param_groups = [{**defaults, **g, "params": _as_list(g["params"])} for g in groups]
        self.state: dict[int, dict[str, Any]] = {}
        if observe.observers:
            observe.tell("optimizer", "made", self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        with observe.optimizer_call("zero_grad", self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad = None if set_to_none or p.grad is None else p.grad.detach() * 0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what ``closure`` (re-evaluation) returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with observe.optimizer_call("step", self), no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._update(p, p.grad, group, self.state.setdefault(id(p), {}))
        return loss

    def _update(self, p: Any, g: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        raise NotImplementedError


def _as_list(params: Any) -> list[Any]:
    found = [params] if isinstance(params, Tensor) else list(params)
    for p in found:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        if not p.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    return found


class SGD(Optimizer):
    """Gradient descent with momentum, dampening, weight decay and Nesterov's variant."""

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: float = 0.0, nesterov: bool = False,
    ) -> None:  # fmt: skip
        settings = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "nesterov": nesterov})

    def _update(self, p: Any, g: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        if group["momentum"]:
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = g.clone()
            else:
                state["momentum_buffer"].mul_(group["momentum"]).add_(g, alpha=1 - group["dampening"])
            buffer = state["momentum_buffer"]
            g = g.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        p.add_(g, alpha=-group["lr"])


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015) with torch's bias correction and L2 penalty."""

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _update(self, p: Any, g: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        state["step"] += 1
        first, second = group["betas"]
        state["exp_avg"].mul_(first).add_(g, alpha=1 - first)
        state["exp_avg_sq"].mul_(second).add_(g * g, alpha=1 - second)
        correction1, correction2 = 1 - first ** state["step"], 1 - second ** state["step"]
        scale = (state["exp_avg_sq"] / correction2).sqrt().add_(group["eps"])
        p.sub_(state["exp_avg"] / scale, alpha=group["lr"] / correction1)
