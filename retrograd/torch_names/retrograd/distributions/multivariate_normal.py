"""Normal vectors with a covariance matrix."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS
from ..engine.table.public import NAMESPACES
from . import constraints
from .gaussian import Gaussian
from .kl import register_kl
from .parameters import lazy_property

_LINALG = NAMESPACES["linalg"]


class MultivariateNormal(Gaussian):
    """Normal with mean ``loc`` and one of covariance matrix, its inverse, or its lower Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {
            "covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix,
        }  # fmt: skip
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        shape = tuple(FUNCTIONS["broadcast_shapes"](matrix.shape[:-2], loc.shape[:-1]))
        self.loc = loc.expand(*shape, -1)
        setattr(self, name, matrix.expand(*shape, -1, -1))
        super().__init__(shape, self.loc.shape[-1:], validate_args)
        self._root = matrix if name == "scale_tril" else root_of(matrix, name)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        return super().expand(batch_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """Lower Cholesky factor of the covariance."""
        return self._root.expand(self._extended_shape() + self.event_shape)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """``L Lᵀ``."""
        return (self._root @ self._root.mT).expand(self._extended_shape() + self.event_shape)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return FUNCTIONS["cholesky_inverse"](self._root).expand(self._extended_shape() + self.event_shape)

    @property
    def mean(self) -> Any:
        """``loc``."""
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        """The diagonal of the covariance."""
        return self._root.pow(2).sum(-1).expand(self._extended_shape())

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``loc + L · noise``."""
        noise = self._standard_normal(sample_shape, self.loc)
        return self.loc + (self._root @ noise.unsqueeze(-1)).squeeze(-1)

    def _columns(self) -> Any:
        """Columns whose squares add up to the covariance."""
        return self._root

    def _energy(self, columns: Any) -> Any:
        """``Σ cᵀ Σ⁻¹ c`` over the columns."""
        return _LINALG["solve_triangular"](self._root, columns, upper=False).pow(2).sum((-2, -1))

    def _half_log_det(self) -> Any:
        return half_log_det(self._root)


def half_log_det(root: Any) -> Any:
    """Half the logarithm of the determinant of a matrix whose lower Cholesky factor is ``root``."""
    return root.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def root_of(matrix: Any, name: str) -> Any:
    """The lower Cholesky factor of a covariance, or of what a precision is the inverse of."""
    if name == "covariance_matrix":
        return _LINALG["cholesky"](matrix)
    turned = _LINALG["cholesky"](matrix.flip((-2, -1)))
    upper = turned.flip((-2, -1)).mT
    identity = FUNCTIONS["eye"](matrix.shape[-1], dtype=matrix.dtype)
    return _LINALG["solve_triangular"](upper, identity, upper=False)


@register_kl(MultivariateNormal, MultivariateNormal)
def gaussian_divergence(p: Any, q: Any) -> Any:
    """The divergence of normal vectors, however their covariance is given."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    distance = q._energy(p._columns()) + q._energy((q.loc - p.loc).unsqueeze(-1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (distance - p.event_shape[0])


DISTRIBUTIONS = ("MultivariateNormal",)
