"""``torch.utils``-shaped face: benchmarks, checkpointing, data sets, hook handles and nested containers."""

from ..engine.tensors.swapping import swap_tensors
from . import _mode_utils, _python_dispatch, _pytree, benchmark, checkpoint, data, dlpack, hooks

__all__ = [
    "_mode_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "data", "dlpack", "hooks", "swap_tensors",
]  # fmt: skip
