"""``torch.utils.data.distributed``: re-exports only."""

from .sampler import DistributedSampler

__all__ = ["DistributedSampler"]
