"""``SGD`` and ``Adam`` with torch's formulas and arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from .engine import observe
from .engine.overloads.creating import zeros_like
from .engine.switches.modes import enable_grad, no_grad
from .engine.tensors.tensor import Tensor


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

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Update further parameters, with settings of their own where given."""
        added = {**self.defaults, **param_group, "params": _as_list(param_group["params"])}
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in added["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(added)

    def state_dict(self) -> dict[str, Any]:
        """Settings and state, with parameters as numbers in the order of the groups."""
        numbers = {id(p): i for i, p in enumerate(self._parameters())}
        groups = [{**g, "params": [numbers[id(p)] for p in g["params"]]} for g in self.param_groups]
        return {"state": {numbers[i]: state for i, state in self.state.items() if i in numbers}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over copies of what ``state_dict`` gave; ``ValueError`` for groups of other sizes."""
        saved = copy.deepcopy(state_dict)
        if [len(g["params"]) for g in saved["param_groups"]] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError(
                "loaded state dict has a different number of parameter groups, or contains a parameter group that "
                "doesn't match the size of optimizer's group"
            )
        for own, given in zip(self.param_groups, saved["param_groups"], strict=True):
            own.update({name: value for name, value in given.items() if name != "params"})
        parameters = self._parameters()
        self.state = {id(parameters[i]): state for i, state in saved["state"].items()}

    def _parameters(self) -> list[Any]:
        return [p for group in self.param_groups for p in group["params"]]

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
