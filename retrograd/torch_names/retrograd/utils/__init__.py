"""``torch.utils``: benchmarks, checkpointing, data sets, hook handles and nested containers."""

from typing import Any

from .._absent import missing_attribute
from ..engine.core.swapping import swap_tensors
from . import _mode_utils, _python_dispatch, _pytree, benchmark, checkpoint, data, deterministic, dlpack, hooks

__all__ = [
    "_mode_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "data", "deterministic", "dlpack", "hooks",
    "swap_tensors",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise missing_attribute(__name__, name)
