"""Tracks which tensors vary over the batch that ``vmap`` goes through, one call for each entry.

An entry is marked with its batch, and so is what operators compute from it (``spread``), until the batch is done.
Outside ``vmap`` nothing looks for marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from .. import late
from ..aliasing.versions import storage_of
from ..switches.state import STATE, enter_mode, leave_mode
from .base import TensorBase

RuleCall = Callable[["Batch", Any, tuple[Any, ...]], Any]


class Batch:
    """One run of ``vmap``."""

    def __init__(self, part: int, randomness: str, by_rule: RuleCall | None = None) -> None:
        self.is_open = True
        self.randomness = randomness
        self.by_rule = by_rule
        """Computes, by a rule for batches, what a call makes of one entry."""
        self.depth = len(STATE.transforms)
        self.part = part
        """How many entries PyTorch would compute by one call."""
        self.entry = 0
        """The number of the entry that is computed."""

    def is_innermost(self) -> bool:
        """Whether no other transform is beneath it."""
        return len(STATE.transforms) == self.depth


@contextmanager
def open_batch(part: int, randomness: str, by_rule: RuleCall | None = None) -> Iterator[Batch]:
    """A batch whose entries keep their mark until the end of the block."""
    batch = Batch(part, randomness, by_rule)
    STATE.batches = (*STATE.batches, batch)
    enter_mode()
    try:
        yield batch
    finally:
        batch.is_open = False
        STATE.batches = STATE.batches[:-1]
        leave_mode()


@contextmanager
def between_batches() -> Iterator[None]:
    """Within the block entries are plain tensors, as for code that a program brings for whole batches."""
    before, STATE.batches = STATE.batches, ()
    try:
        yield
    finally:
        STATE.batches = before


@contextmanager
def around_batch(batch: Batch) -> Iterator[None]:
    """Within the block only the transforms around a batch are running."""
    batches, transforms = STATE.batches, STATE.transforms
    STATE.batches, STATE.transforms = batches[: batches.index(batch)], transforms[: batch.depth - 1]
    try:
        yield
    finally:
        STATE.batches, STATE.transforms = batches, transforms


def batches_of(t: Any) -> frozenset[Batch]:
    """The open batches that a tensor differs in from entry to entry."""
    if t._meta is None or not t._meta.batches:
        return frozenset()
    return frozenset(_marks_of(t))


def _marks_of(t: Any) -> dict[Batch, int]:
    if t._meta is None or not t._meta.batches:
        return {}
    return {batch: skipped for batch, skipped in t._meta.batches.items() if batch.is_open}


def skipped_elements(t: Any) -> int:
    """How many elements of earlier entries precede an entry's memory.

    PyTorch counts offsets as for the first entry of all, which is where its only call begins to read.
    """
    return sum(_marks_of(t).values()) // (t._array.itemsize or 1) if STATE.batches else 0


def is_of(t: Any, batch: Batch) -> bool:
    """Whether a tensor is an entry of a batch, or made of one."""
    return t._meta is not None and batch in t._meta.batches


def mark(t: Any, batches: Mapping[Batch, int]) -> None:
    """Let a tensor count as an entry of these batches, too; one of a program's own class keeps it.

    The numbers are bytes of its memory that belong to entries before it.
    """
    meta = t.need_meta()
    meta.batches = {**batches, **meta.batches}
    if t.__class__ is late.tensor_class:
        t.__class__ = late.batched_class


def mark_alias(alias: Any, t: Any) -> None:
    """Let an alias count as an entry of the batches that ``t``, whose memory it is, is one of."""
    marks = _marks_of(t)
    if marks:
        mark(alias, marks)


def spread(sources: Iterable[Any], results: Iterable[Any]) -> None:
    """Mark what was computed from entries as they are marked; a view of one is in its memory."""
    marked = [(storage_of(t), marks) for t in sources if (marks := _marks_of(t))]
    if not marked:
        return
    found = dict.fromkeys([batch for _, marks in marked for batch in marks], 0)
    for t in results:
        own = storage_of(t)
        mark(t, found | next((marks for storage, marks in marked if storage is own), {}))


def check_write(t: Any, operands: Iterable[Any], operator: str = "inplace arithmetic") -> None:
    """``RuntimeError`` for a write of entries into a tensor that all entries share, wherever it was made."""
    of_operands: frozenset[Batch] = frozenset()
    for operand in operands:
        of_operands |= batches_of(operand)
    if of_operands - batches_of(t):
        raise RuntimeError(
            f"vmap: {operator}(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`: `other` is being vmapped over, and `self` is not. Use the "
            "out-of-place operator, make `self` of an entry (for example other.new_zeros(...)), or pass it to the "
            "function."
        )


def check_drawing(into: Any, by: Iterable[Any]) -> None:
    """``RuntimeError`` for equal draws with batched parameters, or different ones into an unbatched tensor."""
    own: frozenset[Batch] = frozenset() if into is None else batches_of(into)
    for batch in STATE.batches:
        if batch.randomness == "different" and into is not None and batch not in own:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. Fill a tensor made of an entry, for example x.new_empty(...)."
            )
        if batch.randomness == "same" and any(isinstance(p, TensorBase) and batch in batches_of(p) for p in by):
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input. Draw uniform or normal "
                "numbers with rand or randn and transform them."
            )


def is_batched(*values: Any) -> bool:
    """Whether any of some values is an entry of an open batch."""
    return bool(STATE.batches) and any(isinstance(v, TensorBase) and batches_of(v) for v in values)


def refuse_dynamic(operator: str, *operands: Any) -> None:
    """``RuntimeError`` for an operator whose result has another shape for each entry."""
    if is_batched(*operands):
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"aten::{operator}. Keep the shape and choose by values instead, for example with where(mask, x, 0)."
        )


def refuse_mask(*operands: Any) -> None:
    """``RuntimeError`` for an index by truth values that differ from entry to entry."""
    if is_batched(*operands):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
            "indexing with a boolean mask. Use where(mask, x, other) or masked_fill instead."
        )


def refuse_comparison(operator: str, *operands: Any) -> None:
    """``RuntimeError`` for one truth value of tensors that differ from entry to entry."""
    if is_batched(*operands):
        raise RuntimeError(
            f"Batching rule not implemented for aten::{operator}. vmap over torch.{operator} isn't supported: it gives "
            "one Python value for all entries. Compare with (a == b).all() or isclose(a, b).all()."
        )


def refuse_number() -> NoReturn:
    """``RuntimeError`` for a Python number asked of an entry."""
    _refuse_value(
        "you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to "
        "rewrite what you're doing with other operations: all entries share one result here."
    )


def refuse_choice() -> NoReturn:
    """``RuntimeError`` for the truth of an entry."""
    _refuse_value(
        "you're attempting to use a Tensor in some data-dependent control flow. We don't support that: entries could "
        "go different ways. Compute both and choose with where(condition, a, b)."
    )


def _refuse_value(words: str) -> NoReturn:
    """Raise PyTorch's error, which cannot distinguish the two cases if another transform is above ``vmap``."""
    if STATE.transforms and STATE.transforms[-1] != "vmap":
        words = (
            "you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor in some data-dependent "
            "control flow. We don't support vmap over either: choose with where(condition, a, b)."
        )
    raise RuntimeError(f"vmap: It looks like {words}")
