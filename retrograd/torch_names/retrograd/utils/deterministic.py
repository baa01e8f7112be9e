"""``torch.utils.deterministic``: a setting of PyTorch's kernels, noted only: what is computed here never varies."""

fill_uninitialized_memory = True
"""Whether memory that nothing was written to yet is filled."""

__all__ = ["fill_uninitialized_memory"]
