"""``use_deterministic_algorithms``: what it refuses, and memory that nobody has written, which it fills."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..warning import warn

level = 0
"""0: not asked for; 1: what PyTorch's kernels do differently each time is warned of; 2: it is refused."""
fills = True
"""Whether memory that nobody has written is filled meanwhile."""


def fill(array: Any) -> None:
    """Write what is noticed, NaN or the largest integer, into memory that nobody has written."""
    if level and fills and array.size:
        kind = array.dtype.kind
        array[...] = np.iinfo(array.dtype).max if kind in "iu" else True if kind == "b" else np.nan


def check(name: str) -> None:
    """Refuse, or warn of, an operator whose kernel in PyTorch is not deterministic."""
    if not level:
        return
    said = f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    if level == 1:
        warn(
            f"{said}, warn_only=True)'. You can file an issue at https://github.com/pytorch/pytorch/issues to help us "
            "prioritize adding deterministic support for this operation."
        )
        return
    raise RuntimeError(
        f"{said})'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, "
        "if that's acceptable for your application. You can also file an issue at "
        "https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this "
        "operation."
    )
