"""Parametrizations to use: weights by length and direction, of spectral norm 1, orthogonal."""

from __future__ import annotations

from typing import Any

from ...engine.switches.modes import no_grad
from ...engine.table.methods import FUNCTIONS
from ...engine.table.public import NAMESPACES
from .. import functional
from ..module import Module
from ..modules.conv import ConvTranspose1d
from .parametrize import register_parametrization


class _WeightNorm(Module):
    """Length ``g`` and direction ``v`` (Salimans and Kingma 2016)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """``g * v / |v|``."""
        return FUNCTIONS["_weight_norm"](weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        """Length and direction of a weight."""
        return FUNCTIONS["norm_except_dim"](weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train length and direction of a weight in place of the weight."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_older(state_dict: Any, prefix: str, *rest: Any) -> None:
        """States of ``nn.utils.weight_norm`` name length and direction otherwise."""
        older = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in older):
            for i, key in enumerate(older):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(load_older)
    return module


class _SpectralNorm(Module):
    """Division by the largest singular value, which power iteration follows while training (Miyato et al. 2018)."""

    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim if dim >= 0 else dim + weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, functional.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()  # type: ignore[untyped-decorator]
    def _iterate(self, matrix: Any, times: int) -> None:
        for _ in range(times):
            self._u.copy_(functional.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(functional.normalize(matrix.H.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        """The weight of norm 1."""
        if weight.ndim == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / FUNCTIONS["vdot"](u, matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        """The weight itself."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Keep the largest singular value of a weight at 1."""
    weight = getattr(module, name, None)
    if weight is None:
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    chosen = (1 if isinstance(module, ConvTranspose1d) else 0) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, chosen, eps))
    return module


class _Orthogonal(Module):
    """The exponential of a skew-symmetric matrix, times an orthogonal start; square or tall matrices."""

    base: Any

    def __init__(self, weight: Any) -> None:
        super().__init__()
        tall = weight if weight.shape[-2] >= weight.shape[-1] else weight.mT
        q, r = NAMESPACES["linalg"]["qr"](tall.detach(), mode="complete")
        signs = r.diagonal(dim1=-2, dim2=-1).sign()
        columns = tall.shape[-1]
        self.register_buffer("base", FUNCTIONS["cat"]([q[..., :columns] * signs.unsqueeze(-2), q[..., columns:]], -1))

    def forward(self, x: Any) -> Any:
        """An orthogonal matrix, or one with orthonormal rows or columns."""
        turned = x.shape[-2] < x.shape[-1]
        tall = x.mT if turned else x
        rows, columns = tall.shape[-2:]
        lower = functional.pad(tall, (0, rows - columns)).tril(-1)
        q = (self.base @ NAMESPACES["linalg"]["matrix_exp"](lower - lower.mT))[..., :columns]
        return q.mT if turned else q

    def right_inverse(self, value: Any) -> Any:
        """Zeros: the exponential's start."""
        return FUNCTIONS["zeros_like"](value)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix orthogonal; always by the matrix exponential, starting near the given matrix."""
    weight: Any = getattr(module, name, None)
    if not hasattr(weight, "ndim"):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map not in (None, "matrix_exp"):
        raise NotImplementedError(f"orthogonal_map={orthogonal_map!r} is not there; use 'matrix_exp'")
    register_parametrization(module, name, _Orthogonal(weight), unsafe=True)
    return module
