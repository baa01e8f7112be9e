"""``torch.cuda.nvtx``: marks for a profiler of GPUs, which is not there."""

from __future__ import annotations

from typing import Any, NoReturn


def _refused(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? Here everything is computed on the CPU: "
        "torch.profiler.record_function(name) marks a part of a program"
    )


mark = range = range_end = range_pop = range_push = range_start = _refused

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
