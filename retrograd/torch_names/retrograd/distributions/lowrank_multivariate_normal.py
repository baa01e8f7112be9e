"""Normal vectors whose covariance is a few columns and a diagonal."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS
from ..engine.table.public import NAMESPACES
from . import constraints
from .gaussian import Gaussian
from .kl import register_kl
from .multivariate_normal import MultivariateNormal, gaussian_divergence
from .parameters import lazy_property

_LINALG = NAMESPACES["linalg"]


class LowRankMultivariateNormal(Gaussian):
    """Normal with mean ``loc`` and covariance ``cov_factor cov_factorᵀ + diag(cov_diag)``.

    Determinant and inverse are those of the small matrix ``I + Wᵀ D⁻¹ W`` (Sylvester's and Woodbury's identities).
    """

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        _check_shapes(loc, cov_factor, cov_diag)
        try:
            column, self.cov_factor, diagonal = FUNCTIONS["broadcast_tensors"](
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = column[..., 0], diagonal[..., 0]
        self._factor, self._diagonal = cov_factor, cov_diag
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        identity = FUNCTIONS["eye"](cov_factor.shape[-1], dtype=cov_factor.dtype)
        self._inner_root = _LINALG["cholesky"](scaled @ cov_factor + identity)
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        """``loc``."""
        return self.loc

    mode = mean

    def _spread(self, matrix: Any) -> Any:
        return matrix.expand(self._extended_shape() + self.event_shape)

    @property
    def variance(self) -> Any:
        """The diagonal of the covariance."""
        return (self._factor.pow(2).sum(-1) + self._diagonal).expand(self._extended_shape())

    @lazy_property
    def scale_tril(self) -> Any:
        """Lower Cholesky factor of the covariance, of a matrix whose eigenvalues are at least 1."""
        root = self._diagonal.sqrt().unsqueeze(-1)
        scaled = self._factor / root
        identity = FUNCTIONS["eye"](self.event_shape[0], dtype=scaled.dtype)
        return self._spread(root * _LINALG["cholesky"](scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """``W Wᵀ + D``."""
        return self._spread(self._factor @ self._factor.mT + self._diagonal.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Any:
        """``D⁻¹ - Aᵀ A``."""
        shrunk = self._shrinkage()
        return self._spread(self._diagonal.reciprocal().diag_embed() - shrunk.mT @ shrunk)

    def _shrinkage(self) -> Any:
        """``A``, by which the inverse covariance is less than ``D⁻¹``."""
        scaled = self._factor.mT / self._diagonal.unsqueeze(-2)
        return _LINALG["solve_triangular"](self._inner_root, scaled, upper=False)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``loc + W · noise + √D · noise``."""
        shape = self._extended_shape(sample_shape)
        few = FUNCTIONS["randn"]((*shape[:-1], self.cov_factor.shape[-1]), dtype=self.loc.dtype)
        each = FUNCTIONS["randn"](shape, dtype=self.loc.dtype)
        return self.loc + (self._factor @ few.unsqueeze(-1)).squeeze(-1) + self._diagonal.sqrt() * each

    def _half_log_det(self) -> Any:
        inner = self._inner_root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return inner + 0.5 * self._diagonal.log().sum(-1)

    def _columns(self) -> Any:
        """Columns whose squares add up to the covariance."""
        own = self._diagonal.sqrt().diag_embed()
        batch = FUNCTIONS["broadcast_shapes"](self._factor.shape[:-2], own.shape[:-2])
        parts = [matrix.expand(*batch, -1, -1) for matrix in (self._factor, own)]
        return FUNCTIONS["cat"](parts, -1)

    def _energy(self, columns: Any) -> Any:
        """``Σ cᵀ Σ⁻¹ c`` over the columns."""
        plain = (columns.pow(2) / self._diagonal.unsqueeze(-1)).sum((-2, -1))
        return plain - (self._shrinkage() @ columns).pow(2).sum((-2, -1))


def _check_shapes(loc: Any, cov_factor: Any, cov_diag: Any) -> None:
    if loc.dim() < 1:
        raise ValueError("loc must be at least one-dimensional.")
    event_shape = loc.shape[-1:]
    if cov_factor.dim() < 2:
        raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
    if cov_factor.shape[-2:-1] != event_shape:
        raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
    if cov_diag.shape[-1:] != event_shape:
        raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")


register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)(gaussian_divergence)
register_kl(LowRankMultivariateNormal, MultivariateNormal)(gaussian_divergence)
register_kl(MultivariateNormal, LowRankMultivariateNormal)(gaussian_divergence)

DISTRIBUTIONS = ("LowRankMultivariateNormal",)
