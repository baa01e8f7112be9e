"""Random matrices of correlations, as their Cholesky factors (Lewandowski, Kurowicka and Joe 2009)."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from . import constraints
from .dirichlet import Beta
from .distribution import Distribution
from .parameters import broadcast_all


class LKJCholesky(Distribution):
    """Factors of matrices whose density is a power, ``concentration - 1``, of their determinant."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        row = FUNCTIONS["arange"](-1, dim - 1, dtype=self.concentration.dtype).clamp(min=0)
        rest = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * row
        self._beta = Beta(row + 0.5, rest)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made._beta = self._beta.expand((*batch_shape, self.dim))
        return made

    def sample(self, sample_shape: Any = ()) -> Any:
        """Row by row a point in the unit ball: its squared length is beta-distributed, its direction uniform."""
        with no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = FUNCTIONS["randn"](self._extended_shape(sample_shape), dtype=lengths.dtype).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0  # no entry stands left of the first diagonal one
            below = lengths.sqrt() * directions
            rest = (1 - (below**2).sum(-1)).clamp(min=finfo(below.dtype).tiny)
            return below + rest.sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        """``Σ (2 concentration - 2 + dim - i) log Lᵢᵢ``, normalized."""
        self._validate_sample(value)
        rows = FUNCTIONS["arange"](2, self.dim + 1)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        density = (order * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + (alpha - 0.5).mvlgamma(less) - alpha.lgamma() * less
        return density - normalizer


DISTRIBUTIONS = ("LKJCholesky",)
