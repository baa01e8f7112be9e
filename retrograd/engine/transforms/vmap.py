"""``vmap``, and random numbers within it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import get_ident
from typing import Any

import numpy as np

from ..aliasing.strided import element_strides
from ..aliasing.versions import storage_of
from ..core.batches import Batch, is_of, mark, open_batch
from ..core.bits import memory_of
from ..core.narrow import kind_of
from ..core.registry import F
from ..pytree.trees import broadcast_to, tree_flatten, tree_unflatten
from ..random import default_generator, get_rng_state, set_rng_state
from ..switches.state import STATE
from ..tensors.tensor import Tensor
from .captures import Repetition, opened
from .function_rules import VmapInfo, by_rule, by_rule_of_entry, rule_of, transforming

# Random numbers under `vmap` and `jacfwd`, where the program must say whether entries draw their own.


@contextmanager
def drawing_refused() -> Iterator[None]:
    """``RuntimeError`` where the block draws random numbers, before it has them."""
    refused, here = default_generator.refused_on, get_ident()
    outer = here in refused
    refused.add(here)
    try:
        yield
    finally:
        if not outer:
            refused.discard(here)


def check_randomness(randomness: str) -> None:
    """``RuntimeError`` for an unknown ``randomness``."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def drawing_alike(entries: Iterator[Any]) -> Iterator[Any]:
    """The entries; for each of them random numbers begin where they began for the first one."""
    start = get_rng_state()
    for i, entry in enumerate(entries):
        if i:
            set_rng_state(start)
        yield entry


# `vmap`: applies a function of single entries to batches, one call for each entry, results stacked.


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """``func`` for every entry of dimension ``in_dims`` of its arguments (``None``: the same for all).

    ``in_dims`` and ``out_dims`` are numbers, or nested like arguments and results.  ``randomness`` says whether
    entries may draw random numbers, each its own or all the same.  ``ValueError`` for dimensions that do not fit,
    ``RuntimeError`` for random numbers under ``"error"``, and for what may not depend on one entry's values: Python
    numbers and decisions, sizes, writes to what is shared.  Each entry is one call, so ``chunk_size`` changes nothing
    but where ``as_strided`` counts from;
    only where ``func`` is a custom operator with a rule for batches, or the ``apply`` of a custom Function with a
    ``vmap`` of its own, is that called, once; a Function that ``func`` calls has its ``vmap`` called for each entry.

    >>> import retrograd as torch
    >>> torch.func.vmap(torch.dot)(torch.ones(5, 3), torch.ones(5, 3)).shape
    torch.Size([5])
    """
    check_randomness(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        batch = _Batch(_name_of(func), in_dims, args, kwargs)
        part = chunk_size or batch.size
        rule = rule_of(func)
        if rule is not None:
            return by_rule(rule, VmapInfo(batch.size, randomness), batch.dims, args, out_dims)
        with (
            transforming("vmap"),
            open_batch(part, randomness, by_rule_of_entry) as run,
            opened(batch.repetition()) as repetition,
        ):
            results = batch.results(func, randomness, run, repetition)
        return _stacked(_name_of(func), results, out_dims, batch.size, run)

    return mapped


def _name_of(func: Callable[..., Any]) -> str:
    return str(getattr(func, "__name__", repr(func)))


class _Batch:
    """The arguments of one call, and over which dimension of each it goes."""

    def __init__(self, name: str, in_dims: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"{self.where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                f"inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"{self.where}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                "function with no inputs. The latter is unsupported."
            )
        self.leaves, self.spec = tree_flatten(args)
        self.keywords = kwargs
        dims = broadcast_to(in_dims, self.spec)
        if dims is None:
            raise ValueError(
                f"{self.where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{tree_flatten(in_dims)[1]} but inputs has structure {self.spec}."
            )
        self.dims = [self._checked(leaf, dim) for leaf, dim in zip(self.leaves, dims, strict=True)]
        self.size = self._size()

    def _checked(self, leaf: Any, dim: Any) -> int | None:
        """A leaf's batch dimension, or None; ``ValueError`` for one that the leaf cannot have."""
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(
                f"{self.where}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{self.where}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap "
                "over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ValueError(
                f"{self.where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                f"{leaf.ndim} so expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
        return dim % leaf.ndim

    def _size(self) -> int:
        """The size that all batch dimensions have; ``ValueError`` where they differ or there is none."""
        sizes = [int(leaf.shape[dim]) for leaf, dim in zip(self.leaves, self.dims, strict=True) if dim is not None]
        if not sizes:
            raise ValueError(f"{self.where}: at least one input must have a batch dimension; all in_dims are None.")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        return sizes[0]

    def repetition(self) -> Repetition:
        """What undoes the writes of one entry before the next: not those to entries, each of which has its own part."""
        return Repetition([leaf for leaf, dim in zip(self.leaves, self.dims, strict=True) if dim is not None])

    def entries(self, run: Batch, repetition: Repetition) -> Iterator[Any]:
        """Positional arguments of each call; one of zeros where the batch is empty, to see the results."""
        for i in range(self.size or 1):
            run.entry = i
            repetition.begin(anew=not i % max(run.part, 1))
            args = [_entry(leaf, dim, i, run) for leaf, dim in zip(self.leaves, self.dims, strict=True)]
            yield tree_unflatten(args, self.spec)

    def results(self, func: Callable[..., Any], randomness: str, run: Batch, repetition: Repetition) -> list[Any]:
        """What ``func`` returns for each entry; keyword arguments are the same for all.

        Until the last one, graphs that entries share must stay: PyTorch runs backward through them once.
        """
        above, found = STATE.repeating, []
        entries = self.entries(run, repetition)
        try:
            with drawing_refused() if randomness == "error" else nullcontext():
                for i, own in enumerate(drawing_alike(entries) if randomness == "same" else entries):
                    STATE.repeating = above or i < self.size - 1
                    found.append(func(*own, **self.keywords))
        finally:
            STATE.repeating = above
        return found


def _entry(leaf: Any, dim: int | None, index: int, run: Batch) -> Any:
    if dim is None:
        return leaf
    entry = F.select(leaf, dim, index) if leaf.shape[dim] else leaf.sum(dim, dtype=leaf.dtype)
    mark(entry, {run: _skipped_bytes(leaf, dim, index % run.part) if storage_of(entry) is storage_of(leaf) else 0})
    return entry


def _skipped_bytes(leaf: Any, dim: int, entries: int) -> int:
    """What lies before an entry in its memory because of the ``entries`` before it."""
    memory = memory_of(leaf)
    return entries * element_strides(memory)[dim] * int(memory.itemsize)


def _stacked(name: str, results: list[Any], out_dims: Any, size: int, run: Batch) -> Any:
    """The results of all calls, each stacked along its dimension, which has ``size`` entries."""
    flat = [tree_flatten(result) for result in results]
    spec = flat[0][1]
    dims = broadcast_to(out_dims, spec)
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf():
        dims = [out_dims[0]]
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"outputs. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    columns = zip(*[leaves for leaves, _ in flat], strict=True)
    return tree_unflatten([_joined(name, c, dim, size, run) for c, dim in zip(columns, dims, strict=True)], spec)


def _joined(name: str, column: tuple[Any, ...], dim: Any, size: int, run: Batch) -> Any:
    if dim is None:
        return _common(name, column, run)
    for value in column:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
                "out_dims= to None for output?"
            )
    if not isinstance(dim, int):
        raise ValueError(
            f"vmap({name}, ..., out_dims={dim}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    joined = F.stack(list(column), dim)
    return joined if size else joined.narrow(dim, 0, 0)


def _common(name: str, column: tuple[Any, ...], run: Batch) -> Any:
    """What all entries returned; ``ValueError`` for tensors that depend on the entry."""
    first = column[0]
    if isinstance(first, Tensor) and any(
        is_of(value, run)
        or (
            value is not first
            and not np.array_equal(value._array, first._array, equal_nan=kind_of(value._array.dtype) in "fc")
        )
        for value in column
    ):
        raise ValueError(
            f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: what it returned may "
            "differ from entry to entry."
        )
    return first
