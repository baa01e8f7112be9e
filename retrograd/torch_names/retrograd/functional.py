"""``torch.functional``: functions that PyTorch writes in Python."""

from importlib import import_module
from typing import Any

_NAMES = (
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "block_diag",
    "cdist", "chain_matmul", "einsum", "istft", "lu", "norm", "meshgrid", "pca_lowrank", "split", "stft", "svd_lowrank",
    "tensordot", "unique", "unique_consecutive", "unravel_index",
)  # fmt: skip
__all__ = [*_NAMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(__package__), name)  # as it is now: modes may have put a wrapper there
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
