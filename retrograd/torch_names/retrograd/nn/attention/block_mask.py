"""``BlockMask``: which blocks of queries and keys a mask lets through, as lists of block numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ...engine.core.dtypes import bool_, int32
from ...engine.methods import FUNCTIONS
from .. import functional

_PARTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
          "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")  # fmt: skip

_Lists = tuple[Any, Any]
"""How many blocks of each row are meant, and the numbers of blocks, these first."""


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Every query may see every key."""
    return batch.new_ones((), dtype=bool_)


def _sliced_mask_mod_error(batch: Any, head: Any, token_q: Any, token_kv: Any) -> NoReturn:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: its batches and heads have other numbers there; make a mask of "
        "the function and these numbers by create_block_mask"
    )


class BlockMask:
    """A mask by its function, and for each row of blocks how many of them have entries, and which.

    ``kv_indices`` name the blocks with some entries, the first ``kv_num_blocks`` of each row; ``full_...`` those in
    which every entry is let through; ``q_...`` are the same by columns.
    """

    __module__ = "retrograd.nn.attention.flex_attention"

    def __init__(
        self, seq_lengths: tuple[int, int], partial: _Lists, full: _Lists, block_size: tuple[int, int],
        mask_mod: Callable[..., Any],
    ) -> None:  # fmt: skip
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, block_size, mask_mod
        self.kv_num_blocks, self.kv_indices = partial
        self.full_kv_num_blocks, self.full_kv_indices = full
        columns = -(-seq_lengths[1] // block_size[1])
        self.q_num_blocks, self.q_indices = _listed(_laid_out(*partial, columns).mT)
        by_columns: _Lists = (None, None) if full[0] is None else _listed(_laid_out(*full, columns).mT)
        self.full_q_num_blocks, self.full_q_indices = by_columns

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any = None, full_kv_indices: Any = None,
        BLOCK_SIZE: Any = 128, mask_mod: Callable[..., Any] | None = None,  # noqa: N803 - torch's names
        seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """The mask of lists of blocks."""
        if kv_indices.ndim < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        lengths = tuple(n * block for n, block in zip(kv_indices.shape[-2:], size, strict=True))
        full = full_kv_num_blocks, full_kv_indices
        return cls(seq_lengths or lengths, (kv_num_blocks, kv_indices), full, size, mask_mod or noop_mask)

    @classmethod
    def of_dense(cls, dense: Any, block_size: tuple[int, int], mask_mod: Callable[..., Any]) -> BlockMask:
        """The mask whose entries are given; blocks at the ends may reach over them, and are not full then."""
        entries = _entries_of_blocks(dense, *block_size)
        whole = entries == math.prod(block_size)
        lengths = (int(dense.shape[-2]), int(dense.shape[-1]))
        return cls(lengths, _listed((entries > 0) & ~whole), _listed(whole), block_size, mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, heads, queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many entries the mask has."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of the entries that are in no block with one that is let through."""
        counts = (self.kv_num_blocks, self.full_kv_num_blocks)
        used = sum(int(count.sum()) for count in counts if count is not None)
        return 100 * (1 - used * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Any:
        """1 for each block with an entry that is let through, else 0."""
        columns = self.kv_indices.shape[-1]
        dense = _laid_out(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is not None:
            dense = dense | _laid_out(self.full_kv_num_blocks, self.full_kv_indices, columns)
        return dense.to(int32)

    def to(self, device: Any) -> BlockMask:
        """The mask itself: there is one device."""
        return self

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches and heads; a number leaves the dimension in place."""
        given = index if isinstance(index, tuple) else (index,)
        chosen = tuple(_kept(i, n) for i, n in zip(given, self.shape, strict=False))
        parts = [None if part is None else part[chosen] for part in (getattr(self, name) for name in _PARTS[:4])]
        return BlockMask(
            self.seq_lengths, (parts[0], parts[1]), (parts[2], parts[3]), self.BLOCK_SIZE, _sliced_mask_mod_error
        )  # fmt: skip

    def to_string(self, grid_size: Any = (20, 20), limit: int = 4) -> str:
        """A picture of each batch and head, up to ``limit`` of them."""
        dense, drawn = self.to_dense(), []
        for count, at in enumerate(itertools.product(*(range(n) for n in dense.shape[:-2]))):
            if count == limit:
                drawn += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                          "You can also index (BlockMask[batch, head]) to choose a specific batch or head"]  # fmt: skip
                break
            drawn.append(f"{at}\n" + "".join(f"{line}\n" for line in _picture(dense[at], grid_size)))
        return "\n".join(drawn)

    def __repr__(self) -> str:
        sizes = [f"{name}={getattr(getattr(self, name), 'shape', None)}" for name in _PARTS]
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        said = [*sizes, f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        return "BlockMask(\n    " + ",\n    ".join([*said, f"mask_mod={name}"]) + "\n)"

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"


def _entries_of_blocks(dense: Any, rows: int, columns: int) -> Any:
    """How many entries of each block are let through."""
    over = (0, -dense.shape[-1] % columns, 0, -dense.shape[-2] % rows)
    padded = functional.pad(dense.to(int32), over)
    return padded.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-3, -1))


def _listed(dense: Any) -> _Lists:
    """How many blocks of each row are set, and the numbers of all, those that are set first."""
    marks = dense.to(int32)
    return marks.sum(-1).to(int32), marks.sort(dim=-1, descending=True, stable=True)[1].to(int32)


def _laid_out(counts: Any, numbers: Any, columns: int) -> Any:
    """Whether each block is among the first ``counts`` of its row."""
    width = numbers.shape[-1]
    listed = FUNCTIONS["arange"](width) < counts.unsqueeze(-1)
    empty = FUNCTIONS["zeros"]((*numbers.shape[:-1], columns), dtype=int32)
    return empty.scatter_add(-1, numbers.long(), listed.to(int32)) > 0


def _kept(index: Any, size: int) -> Any:
    """A number as the slice that has this one alone."""
    if not isinstance(index, int):
        return index
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension with size {size}")
    return slice(index % size, index % size + 1)


def _picture(dense: Any, grid_size: Any) -> Iterator[str]:
    """Lines of blocks: full, in part, or empty."""
    steps = [max(1, -(-n // most)) for n, most in zip(dense.shape, grid_size, strict=True)]
    for row in range(0, dense.shape[0], steps[0]):
        cells = [dense[row : row + steps[0], c : c + steps[1]] for c in range(0, dense.shape[1], steps[1])]
        shares = [int(cell.sum()) / cell.numel() for cell in cells]
        yield "".join("█" * 2 if share == 1 else "░" * 2 if share else "  " for share in shares)
