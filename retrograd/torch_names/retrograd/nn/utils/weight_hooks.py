"""The older way to train length and direction of a weight: parameters ``name_g`` and ``name_v``, and a hook."""

from __future__ import annotations

import warnings
from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from ..module import Module


class WeightNorm:
    """The hook before ``forward`` that puts the weight together."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """``g * v / |v|``."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return FUNCTIONS["_weight_norm"](v, g, self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def hooks_of(kind: Any, module: Any, name: str) -> list[int]:
    """The numbers of a module's hooks of one kind for the parameter ``name``."""
    found = module._forward_pre_hooks.items()
    return [number for number, hook in found if isinstance(hook, kind) and hook.name == name]


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Module:
    """Train length and direction of a weight in place of the weight."""
    text = "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`."
    warnings.warn(text, FutureWarning, stacklevel=2)
    if hooks_of(WeightNorm, module, name):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook, weight = WeightNorm(name, dim), getattr(module, name)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(FUNCTIONS["norm_except_dim"](weight, 2, hook.dim).detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module  # type: ignore[no-any-return]


def remove_weight_norm(module: Any, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again."""
    for number in hooks_of(WeightNorm, module, name):
        weight = module._forward_pre_hooks.pop(number).compute_weight(module)
        delattr(module, name)
        del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
        setattr(module, name, Parameter(weight.detach()))
        return module  # type: ignore[no-any-return]
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
