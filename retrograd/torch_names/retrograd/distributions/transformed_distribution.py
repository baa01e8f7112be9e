"""``torch.distributions.transformed_distribution``: re-exports only."""

from .transformed import TransformedDistribution

__all__ = ["TransformedDistribution"]
