"""``finfo`` and ``iinfo``: the limits of number types, as ``torch`` names them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import dtype, get_default_dtype


class finfo:  # noqa: N801  (torch's name)
    """Limits of a floating dtype: ``bits eps max min tiny smallest_normal resolution``."""

    def __init__(self, type: dtype | None = None) -> None:  # noqa: A002
        kind = (get_default_dtype() if type is None else type).numpy
        if kind.kind not in "fc":
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type}'")
        found = np.finfo(kind)
        self.dtype = found.dtype.name
        self.bits = int(found.bits)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.resolution = float(found.resolution)

    def __repr__(self) -> str:
        return f"finfo({_listed(self)})"


class iinfo:  # noqa: N801  (torch's name)
    """Limits of an integer dtype: ``bits max min``."""

    def __init__(self, type: dtype) -> None:  # noqa: A002
        if type.numpy.kind not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        found = np.iinfo(type.numpy)
        self.dtype = type.numpy.name
        self.bits, self.max, self.min = int(found.bits), int(found.max), int(found.min)

    def __repr__(self) -> str:
        return f"iinfo({_listed(self)})"


def _listed(limits: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in vars(limits).items())
