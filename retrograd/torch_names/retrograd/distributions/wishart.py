"""Random positive definite matrices: the Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from ..engine.table.public import NAMESPACES
from . import constraints
from .exp_family import ExponentialFamily
from .gamma import Chi2
from .multivariate_normal import half_log_det, root_of
from .parameters import lazy_property

_LINALG = NAMESPACES["linalg"]


class Wishart(ExponentialFamily):
    """The sum of ``df`` squares of normal vectors with a covariance (or its inverse, or its lower Cholesky factor)."""

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(0),
    }  # fmt: skip
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        matrices = {
            "covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix,
        }  # fmt: skip
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        shape = tuple(matrix.shape[:-2])
        if isinstance(df, Number):
            self.df = FUNCTIONS["tensor"](df, dtype=matrix.dtype)
        else:
            shape = tuple(FUNCTIONS["broadcast_shapes"](shape, df.shape))
            self.df = df.expand(shape)
        _check_degrees(df, self.df, matrix.shape[-1])
        self.__dict__[name] = matrix.expand(*shape, -1, -1)
        super().__init__(shape, matrix.shape[-2:], validate_args)
        self._root = matrix if name == "scale_tril" else root_of(matrix, name)

    def _own_constraints(self) -> dict[str, Any]:
        return {**self.arg_constraints, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made._root = self._root.expand(*batch_shape, *self.event_shape)
        return made

    @lazy_property
    def scale_tril(self) -> Any:
        """Lower Cholesky factor of the covariance."""
        return self._root.expand(self._extended_shape())

    @lazy_property
    def covariance_matrix(self) -> Any:
        """``L Lᵀ``."""
        return (self._root @ self._root.mT).expand(self._extended_shape())

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return FUNCTIONS["cholesky_inverse"](self._root).expand(self._extended_shape())

    def _scaled(self, factor: Any, matrix: Any) -> Any:
        return factor.expand(self.batch_shape).unsqueeze(-1).unsqueeze(-1) * matrix

    @property
    def mean(self) -> Any:
        """``df`` times the covariance."""
        return self._scaled(self.df, self.covariance_matrix)

    @property
    def mode(self) -> Any:
        """``df - n - 1`` times the covariance; NaN where that is not positive."""
        factor = self.df - self.event_shape[-1] - 1
        return self._scaled(factor.masked_fill(factor <= 0, math.nan), self.covariance_matrix)

    @property
    def variance(self) -> Any:
        """``df (Vᵢⱼ² + Vᵢᵢ Vⱼⱼ)``."""
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._scaled(self.df, self.covariance_matrix.pow(2) + products)

    def _bartlett(self, sample_shape: Any) -> Any:
        """``L A Aᵀ Lᵀ`` with chi numbers on the diagonal of ``A`` and normal ones below."""
        size = self.event_shape[-1]
        degrees = self.df.unsqueeze(-1) - FUNCTIONS["arange"](size, dtype=self.df.dtype)
        chi = Chi2(degrees.expand(*self.batch_shape, size)).rsample(sample_shape).sqrt()
        diagonal = chi.clamp(min=finfo(chi.dtype).eps).diag_embed()
        rows, columns = FUNCTIONS["tril_indices"](size, size, offset=-1)
        below = FUNCTIONS["randn"]((*sample_shape, *self.batch_shape, rows.numel()), dtype=chi.dtype)
        diagonal[..., rows, columns] = below
        root = self._root @ diagonal
        return root @ root.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """Matrices. As PyTorch does (2.13), those that are positive definite, too, are drawn a second time."""
        sample = self._bartlett(sample_shape)
        again = self._all_of_batch(self.support.check(sample))
        if not bool(again.any()):
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            drawn = self._bartlett(again[again].shape)
            sample[again] = drawn
            again[again.clone()] = self._all_of_batch(~self.support.check(drawn))
            if not bool(again.any()):
                break
        return sample

    def _all_of_batch(self, flags: Any) -> Any:
        """Whether any distribution of the batch has the flag, for each sample."""
        return flags.amax(tuple(range(-len(self.batch_shape), 0))) if self.batch_shape else flags

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        self._validate_sample(value)
        df, n = self.df, self.event_shape[-1]
        trace = FUNCTIONS["cholesky_solve"](value, self._root).diagonal(dim1=-2, dim2=-1).sum(-1)
        normalizer = df * (n * math.log(2) / 2 + half_log_det(self._root)) + (df / 2).mvlgamma(n)
        return (df - n - 1) / 2 * _LINALG["slogdet"](value).logabsdet - trace / 2 - normalizer

    def entropy(self) -> Any:
        """By multivariate gamma and digamma functions."""
        df, n = self.df, self.event_shape[-1]
        shifted = (df / 2).unsqueeze(-1) - FUNCTIONS["arange"](n, dtype=df.dtype) / 2
        slopes = (df - n - 1) / 2 * shifted.digamma().sum(-1)
        normalizer = (n + 1) * (n * math.log(2) / 2 + half_log_det(self._root)) + (df / 2).mvlgamma(n)
        return normalizer - slopes + df * n / 2

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self.event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        n = self.event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - _LINALG["slogdet"](-2 * x).logabsdet) + half.mvlgamma(n)


def _check_degrees(given: Any, df: Any, n: int) -> None:
    if bool((df <= n - 1).any()):
        raise ValueError(f"Value of df={given} expected to be greater than ndim - 1 = {n - 1}.")
    if bool((df < n).any()):
        warnings.warn(
            "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
            stacklevel=3,
        )


DISTRIBUTIONS = ("Wishart",)
