"""``torch.utils``-shaped face: benchmarks, checkpointing, data sets, hook handles and nested containers."""

from . import _mode_utils, _python_dispatch, _pytree, benchmark, checkpoint, data, dlpack, hooks

__all__ = ["_mode_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "data", "dlpack", "hooks"]
