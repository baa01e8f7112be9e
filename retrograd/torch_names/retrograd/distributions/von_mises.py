"""The von Mises distribution: angles around a direction."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core import dtypes
from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from ..engine.table.public import NAMESPACES
from . import constraints
from .distribution import Distribution
from .parameters import broadcast_all


class VonMises(Distribution):
    """Angles around ``loc``, the closer the larger ``concentration`` is; a full turn means the same angle."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.size(), (), validate_args)

    @property
    def mean(self) -> Any:
        """The mean direction, ``loc``."""
        return self.loc

    @property
    def mode(self) -> Any:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The circular one, ``1 - I₁ / I₀``."""
        special = NAMESPACES["special"]
        return 1 - special["i1e"](self.concentration) / special["i0e"](self.concentration)

    def log_prob(self, value: Any) -> Any:
        """``concentration cos(value - loc) - log 2π I₀``."""
        self._validate_sample(value)
        log_bessel = NAMESPACES["special"]["i0e"](self.concentration).log() + self.concentration
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - log_bessel

    def sample(self, sample_shape: Any = ()) -> Any:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher 1979), in double precision."""
        with no_grad():
            loc, kappa = self.loc.to(dtypes.float64), self.concentration.to(dtypes.float64)
            drawn = _rejection(kappa, _envelope(kappa), self._extended_shape(sample_shape))
            return ((drawn + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


def _envelope(kappa: Any) -> Any:
    """The parameter of the Cauchy distribution that lies closest above; for small ``kappa`` by its series."""
    tau = 1 + (1 + 4 * kappa**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
    return (1 / kappa + kappa).where(kappa < 1e-5, (1 + rho**2) / (2 * rho))


def _rejection(kappa: Any, envelope: Any, shape: Any) -> Any:
    """Angles around 0. All are proposed anew until each was accepted, as PyTorch's, so that streams agree."""
    angles = kappa.new_zeros(shape)
    accepted = angles.isnan()
    while not bool(accepted.all()):
        u1, u2, u3 = FUNCTIONS["rand"]((3, *shape), dtype=dtypes.float64).unbind()
        z = (math.pi * u1).cos()
        cosine = (1 + envelope * z) / (envelope + z)
        c = kappa * (envelope - cosine)
        fits = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
        angles = ((u3 - 0.5).sign() * cosine.acos()).where(fits, angles)
        accepted = accepted | fits
    return angles


DISTRIBUTIONS = ("VonMises",)
