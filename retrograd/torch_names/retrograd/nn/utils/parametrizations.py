"""Parametrizations to use: weights by length and direction, of spectral norm 1, orthogonal."""

from __future__ import annotations

from typing import Any

from ...engine.core.dtypes import finfo
from ...engine.methods import FUNCTIONS
from ...engine.switches.modes import no_grad
from ...engine.table.public import NAMESPACES
from .. import functional
from ..module import Module
from ..modules.conv import _ConvTransposeNd
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
        return (weight.movedim(self.dim, 0) if self.dim else weight).flatten(1)

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
    chosen = int(isinstance(module, _ConvTransposeNd)) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, chosen, eps))
    return module


_linalg = NAMESPACES["linalg"]
_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """An orthogonal matrix, or one with orthonormal rows or columns, out of the entries on and below the diagonal.

    ``matrix_exp`` and ``cayley`` map a skew-symmetric matrix, ``householder`` multiplies reflections.  With ``base``,
    the matrix that the parameter began with, the map is only how far it has been turned since.
    """

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Any) -> Any:
        """The matrix."""
        turned = x.shape[-2] < x.shape[-1]
        tall = x.mT if turned else x
        q = _reflected(tall) if self.orthogonal_map == "householder" else self._rotated(tall)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if turned else q

    def _rotated(self, x: Any) -> Any:
        """The exponential of a skew-symmetric matrix, or its Cayley transform; as many columns as ``x`` has."""
        rows, columns = x.shape[-2:]
        lower = functional.pad(x.tril(), (0, rows - columns))
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            q = _linalg["matrix_exp"](skew)
        else:
            identity = FUNCTIONS["eye"](rows, dtype=skew.dtype)
            add = FUNCTIONS["add"]
            q = _linalg["solve"](add(identity, skew, alpha=-0.5), add(identity, skew, alpha=0.5))
        return q if rows == columns else q[..., :columns]

    @no_grad()  # type: ignore[untyped-decorator]
    def right_inverse(self, value: Any) -> Any:
        """What gives ``value``, orthogonal or made so: with ``base`` the parameter starts at no turn."""
        if value.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        turned = value.shape[-2] < value.shape[-1]
        tall = value.mT if turned else value
        if hasattr(self, "base"):
            self.base = _completed(tall)
            start = FUNCTIONS["zeros_like"](value)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        made, tau = FUNCTIONS["geqrf"](tall)
        diagonal = made.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return made.mT if turned else made


def _reflected(x: Any) -> Any:
    """The product of a reflection for each column of ``x``, with the signs of its diagonal."""
    below = x.tril(-1)
    q = _linalg["householder_product"](below, 2.0 / (1.0 + (below * below).sum(-2)))
    return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def _completed(tall: Any) -> Any:
    """An orthogonal matrix whose first columns are those of ``tall``, as far as they are orthonormal."""
    rows, columns = tall.shape[-2:]
    if rows == columns and _is_orthogonal(tall):
        return tall.clone()
    more = tall.new_empty((*tall.shape[:-2], rows, rows - columns)).normal_() if rows > columns else None
    square = tall if more is None else FUNCTIONS["cat"]([tall, more], -1)
    made, tau = FUNCTIONS["geqrf"](square)
    return _linalg["householder_product"](made, tau) * made.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(q: Any) -> bool:
    size = q.shape[-1]
    gap = q.mH @ q - FUNCTIONS["eye"](size, dtype=q.dtype)
    eps = 10.0 * size * finfo(q.dtype).eps
    return bool((gap.abs() <= eps).all())


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix orthogonal, or its rows or columns orthonormal.

    ``ValueError`` for what is not a matrix, or for another map than ``matrix_exp`` (of square and complex matrices if
    none is given), ``cayley`` and ``householder`` (of all others).
    """
    weight: Any = getattr(module, name, None)
    if not hasattr(weight, "ndim"):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    usual = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or weight.is_complex() else "householder"
    chosen = usual if orthogonal_map is None else orthogonal_map
    if chosen not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {chosen}')
    register_parametrization(module, name, _Orthogonal(weight, chosen, use_trivialization), unsafe=True)
    return module
