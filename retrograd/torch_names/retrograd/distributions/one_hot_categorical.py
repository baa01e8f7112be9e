"""``torch.distributions.one_hot_categorical``: re-exports only."""

from .categorical import OneHotCategorical

__all__ = ["OneHotCategorical"]
