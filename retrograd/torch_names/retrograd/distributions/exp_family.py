"""Exponential families: densities ``exp(⟨t(x), θ⟩ - F(θ) + k(x))``, known by their log normalizer ``F``."""

from __future__ import annotations

from typing import Any

from ..engine.execution.backward import grad
from .distribution import Distribution
from .kl import register_kl
from .parameters import sum_rightmost


class ExponentialFamily(Distribution):
    """A family that says its natural parameters and log normalizer; entropy and divergence follow by autograd."""

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        """The parameters ``θ``."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        """``F(θ)``."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The expected value of ``k(x)``."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """``F(θ) - ⟨θ, ∇F(θ)⟩ - E[k(x)]``."""
        carrier = self._mean_carrier_measure
        parameters, normalizer, slopes = _sloped(self)
        entropy = normalizer - carrier
        for parameter, slope in zip(parameters, slopes, strict=True):
            entropy = entropy - (parameter * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return entropy


def _sloped(family: Any) -> tuple[Any, Any, Any]:
    """Natural parameters as leaves, the log normalizer there, and its gradients."""
    parameters = [parameter.detach().requires_grad_() for parameter in family._natural_params]
    normalizer = family._log_normalizer(*parameters)
    return parameters, normalizer, grad(normalizer.sum(), parameters, create_graph=True)


@register_kl(ExponentialFamily, ExponentialFamily)
def _family_family(p: Any, q: Any) -> Any:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    parameters, normalizer, slopes = _sloped(p)
    divergence = q._log_normalizer(*q._natural_params) - normalizer
    for own, other, slope in zip(parameters, q._natural_params, slopes, strict=True):
        divergence = divergence - sum_rightmost((other - own) * slope, len(q.event_shape))
    return divergence


DISTRIBUTIONS = ("ExponentialFamily",)
