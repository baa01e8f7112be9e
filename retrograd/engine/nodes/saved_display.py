"""How saved parameters look to a user: as PyTorch shows them, where our rows keep them in a handier form."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensors.base import wrap
from ..tensors.dtypes import Size

_LISTS = frozenset({
    "SumBackward1", "MeanBackward1", "NansumBackward0", "VarBackward0", "StdBackward0", "VarMeanBackward0",
    "StdMeanBackward0", "AmaxBackward0", "AminBackward0", "LogsumexpBackward0", "LinalgVectorNormBackward0",
    "FlipBackward0", "RollBackward0", "SqueezeBackward2", "NormBackward1", "NormBackward3", "NormBackward4",
})  # fmt: skip
"""Nodes whose dimensions are a list in PyTorch, also when there is one."""
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def shown_parameter(node_name: str, name: str, value: Any) -> Any:
    """A saved parameter as ``_saved_<name>`` gives it: sizes and indices as tuples, negative numbers wrapped around.

    PyTorch reads dimensions and ``ignore_index`` as unsigned numbers of 64 bits: -1 is 18446744073709551615.
    """
    if name == "indices" and not isinstance(value, np.ndarray):
        return shown_indices(value)
    if name == "reduction":
        return _REDUCTIONS.get(value, value)
    if isinstance(value, Size):
        return tuple(value)
    if name in ("dim", "dims", "dim0", "dim1", "dim2", "shifts", "ignore_index"):
        if node_name in _LISTS and isinstance(value, int):
            value = (value,)
        return tuple([_unsigned(v) for v in value]) if isinstance(value, (tuple, list)) else _unsigned(value)
    return value


def _unsigned(value: Any) -> Any:
    return value + 2**64 if isinstance(value, int) and value < 0 else value


def shown_indices(value: Any) -> tuple[Any, ...]:
    """The tensors among the indices of ``x[...]``, ``None`` for whole dimensions."""
    parts = value if isinstance(value, tuple) else (value,)
    return tuple([wrap(np.asarray(p)) if isinstance(p, (np.ndarray, list, np.generic)) else None for p in parts])
