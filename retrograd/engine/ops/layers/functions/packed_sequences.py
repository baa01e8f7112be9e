"""Packed sequences: converts padded ``(time, batch, …)`` with lengths to the steps of all sequences, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.base import TensorBase, wrap


def _places(sizes: Any) -> tuple[Any, Any]:
    """Step and entry of each row of packed data."""
    steps = np.repeat(np.arange(len(sizes)), sizes)
    entries = np.concatenate([np.arange(n) for n in sizes]) if len(sizes) else np.zeros(0, np.int64)
    return steps, entries


@public("_pack_padded_sequence", method=False)
def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> Any:  # noqa: A002
    """Packed data and how many sequences have each step; lengths must not increase."""
    check_tensor("_pack_padded_sequence", input)
    given = np.asarray(lengths._array if isinstance(lengths, TensorBase) else lengths)
    x = input.transpose(0, 1) if batch_first else input
    refuse(not x.numel(), "Cannot pack empty tensors.")
    refuse(given.ndim != 1, f"lengths must be one-dimensional, got {given.ndim} dimensions")
    refuse(
        len(given) != x.shape[1],
        f"Expected `len(lengths)` to be equal to batch_size, but got {len(given)} (batch_size={x.shape[1]})",
    )
    refuse(
        bool((given <= 0).any()),
        "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
    )
    refuse(
        bool((given[1:] > given[:-1]).any()),
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
        "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do "
        "not need ONNX exportability.",
    )
    refuse(
        int(given[0]) > x.shape[0], f"Expected lengths of at most {x.shape[0]}, the steps of input, but got {given[0]}"
    )
    sizes = (given[None, :] > np.arange(int(given[0]))[:, None]).sum(1)
    return F._pack_padded(x, *_places(sizes)), wrap(sizes.astype(np.int64))


@public("_pad_packed_sequence", method=False)
def pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: float, total_length: int = -1
) -> Any:
    """Padded sequences and their lengths."""
    sizes = batch_sizes._array
    longest = len(sizes)
    refuse(
        0 < total_length < longest,
        f"Expected total_length to be at least the length of the longest sequence in input, but got "
        f"total_length={total_length} and max sequence length being {longest}",
    )
    shape = (max(longest, total_length), int(sizes[0]) if longest else 0)
    padded = F._pad_packed(data, *_places(sizes), shape, float(padding_value))
    lengths = (sizes[:, None] > np.arange(shape[1])).sum(0)
    return (padded.transpose(0, 1) if batch_first else padded), wrap(lengths.astype(np.int64))
