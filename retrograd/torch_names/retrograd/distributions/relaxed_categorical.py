"""``torch.distributions.relaxed_categorical``: re-exports only."""

from .relaxed import RelaxedOneHotCategorical

__all__ = ["RelaxedOneHotCategorical"]
