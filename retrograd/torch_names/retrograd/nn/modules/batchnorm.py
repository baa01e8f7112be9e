"""``torch.nn.modules.batchnorm``, and what takes running statistics away."""

from typing import Any

from .normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm, _BatchNorm, _NormBase


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """``root``, whose batch norms keep no running statistics from here on, so that calls of it have no side effect."""
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "_BatchNorm", "_NormBase"]
