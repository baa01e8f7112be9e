"""Maps of numbers into sets of matrices: triangular ones, positive definite ones, factors of correlations."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from ..engine.table.public import NAMESPACES
from ..nn import functional
from . import constraints
from .transform import Transform


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    __module__ = "retrograd.distributions.transforms"

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones: the square of a lower Cholesky factor."""

    __module__ = "retrograd.distributions.transforms"

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        root = LowerCholeskyTransform()(x)
        return root @ root.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(NAMESPACES["linalg"]["cholesky"](y))


def below_diagonal(order: int, diag: int) -> Any:
    """Rows and columns of the entries up to the ``diag``-th diagonal, row by row."""
    return tuple(FUNCTIONS["tril_indices"](order, order, offset=diag))


def order_of(count: int, diag: int) -> int:
    """How many rows a matrix has with ``count`` entries up to its ``diag``-th diagonal."""
    order = round((-(1 + 2 * diag) + math.sqrt((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1))) / 2)
    if below_diagonal(order, diag)[0].numel() != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    return order


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Lower triangular matrices of the numbers along the last dimension, row by row."""
    order = order_of(vec.shape[-1], diag)
    matrix = vec.new_zeros((*vec.shape[:-1], order, order))
    matrix[(..., *below_diagonal(order, diag))] = vec
    return matrix


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The entries of matrices up to the ``diag``-th diagonal, row by row."""
    order = mat.shape[-1]
    if diag < -order or diag >= order:
        raise ValueError(f"diag ({diag}) provided is outside [{-order}, {order - 1}].")
    return mat[(..., *below_diagonal(order, diag))]


class CorrCholeskyTransform(Transform):
    """Numbers to the lower Cholesky factor of correlations: each takes its part of what its row has left."""

    __module__ = "retrograd.distributions.transforms"

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        part = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), -1)
        left = (1 - part.square()).sqrt().cumprod(-1)
        identity = FUNCTIONS["eye"](part.shape[-1], dtype=x.dtype)
        return (part + identity) * functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = functional.pad(_left(y)[..., :-1], [1, 0], value=1)
        part = tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt()
        return (part.log1p() - (-part).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of the map to the entries below the diagonal."""
        shares = 0.5 * tril_matrix_to_vec(_left(y), -2).log().sum(-1)
        return shares - 2 * (x + functional.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """A matrix for its entries below the diagonal."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        order = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if order * (order - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], order, order)

    def inverse_shape(self, shape: Any) -> Any:
        """The entries below the diagonal of a matrix."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _left(rows: Any) -> Any:
    """What each row of squares has left of 1 after each entry."""
    return 1 - (rows * rows).cumsum(-1)
