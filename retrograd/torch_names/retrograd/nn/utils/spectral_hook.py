"""The older spectral norm: a weight divided by its largest singular value, by a hook before ``forward``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.switches.modes import no_grad
from ...engine.tensors.parameter import Parameter
from .. import functional
from ..module import Module
from ..modules.conv import _ConvTransposeNd
from ..uninitialized import is_lazy
from .weight_hooks import hooks_of

_mv, _dot = FUNCTIONS["mv"], FUNCTIONS["dot"]


class SpectralNorm:
    """The hook; ``name_u`` and ``name_v`` are the singular vectors as far as power iteration knows them."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """``dim`` first, all others together."""
        first = weight.movedim(self.dim, 0) if self.dim else weight
        return first.reshape(weight.shape[self.dim], -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight by its largest singular value, whose estimate is made better first if asked for."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(functional.normalize(_mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(functional.normalize(_mv(matrix, v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # the buffers change at the next call, before this one's backward perhaps
        return weight / _dot(u, _mv(matrix, v))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value whenever the module is called (Miyato et al. 2018).

    ``RuntimeError`` for a second hook on the weight, ``ValueError`` for a weight that is None or has no shape yet.
    """
    dim = int(isinstance(module, _ConvTransposeNd)) if dim is None else dim
    hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters.get(name)
    if hooks_of(SpectralNorm, module, name):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ValueError(
            "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
            "forward before applying spectral normalization"
        )
    with no_grad():
        sizes = hook.reshape_weight_to_matrix(weight).shape
        u, v = (functional.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in sizes)
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(_tell_version(name))
    return module  # type: ignore[no-any-return]


def _tell_version(name: str) -> Callable[..., None]:
    """A hook that says in a state's metadata how the vectors are kept: both of them."""

    def tell(module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        if hooks_of(SpectralNorm, module, name):
            local_metadata.setdefault("spectral_norm", {})[f"{name}.version"] = 1

    return tell


def remove_spectral_norm(module: Any, name: str = "weight") -> Module:
    """Make the weight, divided as it is now, an ordinary parameter again."""
    for number in hooks_of(SpectralNorm, module, name):
        with no_grad():
            weight = module._forward_pre_hooks.pop(number).compute_weight(module, False)
        for attribute in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
            delattr(module, attribute)
        module.register_parameter(name, Parameter(weight.detach()))
        return module  # type: ignore[no-any-return]
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
