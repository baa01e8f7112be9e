"""``torch.distributions.studentT``: re-exports only."""

from .heavy_tails import StudentT

__all__ = ["StudentT"]
