"""``torch.optim.sparse_adam``: re-exports only."""

from .adam import SparseAdam

__all__ = ["SparseAdam"]
