"""``finfo`` and ``iinfo``: the limits of number types, as ``torch`` names them."""

from __future__ import annotations

import math

import numpy as np

from .dtypes import dtype, get_default_dtype, to_numpy_dtype
from .narrow import kind_of, limits


class finfo:  # noqa: N801  (torch's name)
    """Limits of a floating dtype: ``bits eps max min tiny smallest_normal resolution``."""

    __module__ = "retrograd"

    def __init__(self, type: dtype | None = None) -> None:  # noqa: A002
        kind = to_numpy_dtype(get_default_dtype() if type is None else type)
        if kind_of(kind) not in "fc":
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type}'")
        found = limits(kind)
        self.dtype = found.dtype.name
        self.bits = int(found.bits)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.resolution = 10.0 ** -int(found.nmant * math.log10(2))

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        limits = ", ".join(f"{name}={getattr(self, name):.6g}" for name in names)
        return f"finfo({limits}, dtype={self.dtype})"


class iinfo:  # noqa: N801  (torch's name)
    """Limits of an integer dtype: ``bits max min``."""

    __module__ = "retrograd"

    def __init__(self, type: dtype) -> None:  # noqa: A002
        if kind_of(type.numpy) not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        found = np.iinfo(type.numpy)
        self.dtype = type.numpy.name
        self.bits, self.max, self.min = int(found.bits), int(found.max), int(found.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
