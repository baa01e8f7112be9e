"""Reductions of consecutive segments of a dimension."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ....calls.refusals import refuse_kind
from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.absent import known_values
from ....tensors.base import wrap

_EMPTY = {"sum": 0.0, "prod": 1.0, "mean": math.nan, "max": -math.inf, "min": math.inf}


@public("segment_reduce", method=False)
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """Sum, product, mean, maximum or minimum of consecutive segments of a dimension.

    ``lengths`` (or ``offsets``) have the shape of ``data`` up to ``axis``, where they say how long the segments are (or
    where they begin, and the last one ends).  ``initial`` stands before each segment; ``unsafe`` leaves out the test
    that lengths are not negative and that segments reach to the end.  Raises ``RuntimeError`` where they do not fit.
    """
    check_tensor("segment_reduce", data, name="data")
    refuse_kind("_segment_reduce_cpu", data._sig.numpy, "f")
    if reduce not in _EMPTY:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(_EMPTY)}, but got {reduce}")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): exactly one of lengths and offsets must be given")
    given = lengths if offsets is None else offsets
    refuse_kind("_segment_reduce_lengths_cpu_kernel1", given._sig.numpy, "iu")
    if given.ndim != axis + 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    counts = None if lengths is None else _counts(lengths, data.shape[axis])
    if counts is not None and not unsafe and (counts < 0).any():
        raise RuntimeError("lengths contains negative value!")
    to_the_end = lengths is not None and not unsafe
    ends = known_values(offsets) if counts is None else _ends(counts)
    return _rows_reduced(data, ends, reduce, initial, to_the_end)


def _counts(lengths: Any, size: int) -> Any:
    """The lengths of segments; of those that nobody knows the first has all."""
    counts = known_values(lengths)
    if lengths.is_meta:
        counts = counts.copy()
        counts[..., :1] = size
    return counts


def _ends(lengths: Any) -> Any:
    """Where segments begin and end, of their lengths along the last dimension."""
    before = np.zeros((*lengths.shape[:-1], 1), np.int64)
    return np.concatenate([before, lengths], -1).cumsum(-1)


def _rows_reduced(data: Any, ends: Any, reduce: str, initial: Any, to_the_end: bool) -> Any:
    """Reduce the segments of each row of ``data`` down to the dimension in which ``ends`` tell them apart."""
    if ends.ndim > 1:
        rows = range(data.shape[0])
        return F.stack([_rows_reduced(data[i], ends[i], reduce, initial, to_the_end) for i in rows], 0)
    size, points = data.shape[0], ends.tolist()
    if (to_the_end and points[-1] != size) or points[-1] > size or any(b < a for a, b in itertools.pairwise(points)):
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(0)")
    return F.stack([_reduced(data, reduce, a, b, initial) for a, b in itertools.pairwise(points)], 0)


def _reduced(data: Any, reduce: str, start: int, end: int, initial: Any) -> Any:
    part = F._slice(data, 0, start, end)
    if start == end or initial is not None:
        first = np.full((1, *data.shape[1:]), _EMPTY[reduce] if initial is None else initial, data._sig.numpy)
        part = F.cat([wrap(first).to(data.device), part], 0)
    if reduce in ("max", "min"):
        return (F.amax if reduce == "max" else F.amin)(part, 0, False)
    if reduce == "prod":
        return F._prod_dim(part, 0, False, None)
    total = F._sum_dim(part, 0)
    return total / (end - start) if reduce == "mean" and end > start else total
