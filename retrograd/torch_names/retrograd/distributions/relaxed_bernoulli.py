"""``torch.distributions.relaxed_bernoulli``: re-exports only."""

from .relaxed import RelaxedBernoulli

__all__ = ["RelaxedBernoulli"]
