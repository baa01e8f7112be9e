"""``torch.nn.modules.distance``: re-exports only."""

from .shaping import CosineSimilarity, PairwiseDistance

__all__ = ["CosineSimilarity", "PairwiseDistance"]
