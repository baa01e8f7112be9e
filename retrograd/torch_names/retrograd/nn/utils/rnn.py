"""Sequences of several lengths: padded to one tensor, or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partialmethod
from typing import Any, NamedTuple

from ...engine.methods import FUNCTIONS
from ...engine.tensors.tensor import Tensor


class PackedSequence(NamedTuple):
    """Steps of all sequences: ``data`` (sum of lengths, …) and how many sequences have each step, longest first.

    ``sorted_indices`` holds the sequence in each position, ``unsorted_indices`` the position of each sequence.
    """

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with data of another dtype; itself where they have it."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._replace(data=data)

    def _cast(self, name: str) -> PackedSequence:
        return self.to(getattr(FUNCTIONS["empty"](0), name)().dtype)

    def cpu(self) -> PackedSequence:
        """The sequence itself."""
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on a GPU."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Whether the data are in memory from which a GPU copies faster."""
        return bool(self.data.is_pinned())


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, partialmethod(PackedSequence._cast, _name))


def invert_permutation(permutation: Any) -> Any:
    """Where each index went; ``None`` for ``None``."""
    if permutation is None:
        return None
    places = FUNCTIONS["empty_like"](permutation)
    places.scatter_(0, permutation, FUNCTIONS["arange"](0, permutation.numel()))
    return places


def pack_padded_sequence(
    input: Any,  # noqa: A002
    lengths: Any,
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack ``(time, batch, …)`` (or batch first) by lengths, which decrease unless ``enforce_sorted=False``."""
    if not isinstance(lengths, Tensor):
        lengths = FUNCTIONS["as_tensor"](list(lengths), dtype=_int64())
    order = None
    if not enforce_sorted:
        lengths, order = FUNCTIONS["sort"](lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, order)  # noqa: A001
    data, sizes = FUNCTIONS["_pack_padded_sequence"](input, lengths, batch_first)
    return PackedSequence(data, sizes, order, invert_permutation(order))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Padded sequences in their original order, and their lengths; ``ValueError`` for a ``total_length`` too small."""
    longest = sequence.batch_sizes.numel()
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = FUNCTIONS["_pad_packed_sequence"](
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length or -1
    )
    places = sequence.unsorted_indices
    if places is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, places), lengths[places]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Tensors ``(length, …)`` padded to the longest and stacked: ``(time, batch, …)``, or batch first."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    parts = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(len(p) for p in parts)
    outer = (len(parts), longest) if batch_first else (longest, len(parts))
    made = FUNCTIONS["full"]((*outer, *parts[0].shape[1:]), padding_value, dtype=parts[0].dtype)
    for i, part in enumerate(parts):
        start = longest - len(part) if padding_side == "left" else 0
        steps = slice(start, start + len(part))
        made[(i, steps) if batch_first else (steps, i)] = part
    return made


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The tensors that ``pad_sequence`` padded."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)  # of the caller's tensor, as PyTorch does
    steps = FUNCTIONS["arange"](padded_sequences.shape[1])
    return [row[steps < n] for row, n in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors ``(length, …)``; lengths decrease unless ``enforce_sorted=False``."""
    lengths = FUNCTIONS["as_tensor"]([len(s) for s in sequences], dtype=_int64())
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The tensors that ``pack_sequence`` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _int64() -> Any:
    return FUNCTIONS["arange"](0).dtype
