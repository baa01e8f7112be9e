"""F-50: within ``vmap`` nothing may depend on the values of one entry; what depends on none is as free as outside."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_engines import differential, raises

import retrograd

NUMBER = "It looks like you're calling .item() on a Tensor"
CHOICE = "in some data-dependent control flow"
DYNAMIC = "We do not support batching operators that can output dynamic shape"
MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"


def func(torch: Any) -> Any:
    """The module of one engine."""
    return importlib.import_module(f"{torch.__name__}.func")


def rows(torch: Any) -> Any:
    """A batch of three entries."""
    return torch.arange(6.0).reshape(3, 2)


@differential
def test_numbers_of_one_entry_are_refused(torch: Any) -> Any:
    """F-50: ``item``, ``float``, ``int``, an index, a size and a format ask for one entry's number."""
    vmap, x, n = func(torch).vmap, torch.arange(3.0), torch.tensor([1, 1, 1])
    asked: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (lambda v: v * v.item(), (x,)),
        (lambda v: v * float(v), (x,)),
        (lambda v: v * int(v), (x,)),
        (lambda v: (f"{v:.1f}", v)[1], (x,)),
        (lambda v: torch.full((2,), v), (x,)),
        (lambda v, i: v[:i], (rows(torch), n)),
        (lambda v, i: sum(v for _ in range(i)), (x, n)),
        (lambda v, i: v.roll(i), (rows(torch), n)),
        (lambda v: v if 2.0 in v else -v, (rows(torch),)),
    ]
    return [raises(NUMBER, vmap(f), *args) for f, args in asked]


@differential
def test_decisions_by_one_entry_are_refused(torch: Any) -> Any:
    """F-50: ``if``, ``while``, ``and``, ``assert``, ``max`` of Python and ``is_nonzero`` decide by one entry."""
    vmap, x = func(torch).vmap, torch.arange(3.0)

    def doubled(v: Any) -> Any:
        while v < 10:
            v = v * 2
        return v

    def checked(v: Any) -> Any:
        assert not torch.isnan(v).any()
        return v

    def leaky(v: Any) -> Any:
        return v if v.sum() > 1 else -v

    chosen = [doubled, checked, leaky, lambda v: (v > 0) and (v < 5), lambda v: max(v, v * 2)]
    found = [raises(CHOICE, vmap(f), x + 1) for f in chosen]
    return [*found, raises(CHOICE, vmap(lambda v: v if torch.is_nonzero(v) else -v), x)]


@differential
def test_other_transforms_within_and_around(torch: Any) -> Any:
    """F-50: marks go through ``grad`` and nested ``vmap``, and end with the ``vmap`` that set them."""
    f, x = func(torch), torch.arange(3.0)
    kept: list[Any] = []
    f.vmap(lambda v: (kept.append(v * 2), v)[1])(x)
    outside = torch.tensor([2.0, 3.0])
    return [
        raises("vmap: It looks like you're either (1) calling .item()", f.vmap(f.grad(lambda v: v * v.item())), x),
        raises("(2) attempting to use a Tensor", f.vmap(f.grad(lambda v: v if v > 0 else -v)), x),
        raises(NUMBER, f.grad(lambda t: f.vmap(lambda v: v * v.item())(t).sum()), x),
        raises(NUMBER, f.vmap(f.vmap(lambda v: v * v.item())), rows(torch)),
        f.grad(lambda v: v * v.item())(torch.tensor(2.0)),
        f.vmap(lambda v: v * outside[1].item())(x),
        f.vmap(lambda v, b: v if b else -v, in_dims=(0, None))(x, torch.tensor(True)),
        f.vmap(f.grad(lambda v: torch.where(v > 1, v * v, v)))(x),
        f.jacrev(lambda v: v if v.sum() > 0 else -v)(x + 1),
    ]


@differential
def test_sizes_by_values_are_refused(torch: Any) -> Any:
    """F-50: ``nonzero``, ``where`` of one argument, ``unique`` and masks give another size for each entry."""
    vmap, x = func(torch).vmap, rows(torch)
    mask = torch.tensor([True, False])

    def zeroed(v: Any) -> Any:
        v = v.clone()
        v[v > 1] = 0.0
        return v

    by_mask = "that can support dynamic shape. Attempting to batch over indexing with a boolean mask"
    return [
        raises(DYNAMIC, vmap(lambda v: v.nonzero()), x),
        raises(DYNAMIC, vmap(lambda v: torch.where(v > 1)), x),
        raises(DYNAMIC, vmap(lambda v: torch.unique(v)), x),
        raises("vmap", vmap(lambda v: torch.masked_select(v, v > -1)), x),
        raises(by_mask, vmap(lambda v: v[v >= 0]), x),
        raises(by_mask, vmap(zeroed), x),
        raises("vmap", vmap(lambda v: v if torch.allclose(v, v) else -v), x),
        raises("Batching rule not implemented for aten::equal", vmap(lambda v: torch.equal(v, v)), x),
        vmap(lambda v: v[mask])(x),
        vmap(lambda v: v.masked_select(mask))(x),
        vmap(lambda v: v.masked_fill(v > 1, 0.0))(x),
        vmap(lambda v, i: v[i])(torch.arange(12.0).reshape(3, 4), torch.tensor([0, 2, 1])),
        vmap(lambda i: torch.arange(5.0)[i])(torch.tensor([0, 4])),
    ]


@differential
def test_memory_of_one_entry_is_refused(torch: Any) -> Any:
    """F-50: arrays, lists, addresses and copies outside of the engine would hold one entry."""
    import copy

    vmap, x = func(torch).vmap, rows(torch)
    return [
        raises(MEMORY, vmap(lambda v: torch.tensor(v.tolist())), x),
        raises(MEMORY, vmap(lambda v: torch.from_numpy(v.numpy())), x),
        raises(MEMORY, vmap(lambda v: v * v.data_ptr()), x),
        raises("Cannot access storage of BatchedTensorImpl", vmap(lambda v: v.untyped_storage()), x),
        raises("Cannot access storage of BatchedTensorImpl", vmap(copy.deepcopy), x),
    ]


@differential
def test_writes_of_entries_to_what_they_share(torch: Any) -> Any:
    """F-50: entries are written to memory of their own, not to what was made outside, running statistics included."""
    vmap, x = func(torch).vmap, rows(torch)
    shared, total = torch.zeros(2), torch.zeros(())

    def filled(v: Any) -> Any:
        own = v.new_zeros(3)
        own[0] = v[1]
        return own

    def into(t: Any) -> Any:
        def write(v: Any) -> Any:
            t[...] = v
            return t

        return write

    statistics = "Batch norm got a batched tensor as input while the running_mean or running_var"
    norm, without = torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2, track_running_stats=False)
    return [
        raises("vmap: inplace arithmetic(self, *extra_args) is not possible", vmap(into(shared)), x),
        raises("vmap: inplace arithmetic(self, *extra_args) is not possible", vmap(into(total)), torch.arange(3.0)),
        vmap(filled)(x),
        vmap(lambda v: v.clone().mul_(v))(x),
        vmap(lambda v: torch.zeros_like(v).copy_(v))(x),
        raises(statistics, vmap(norm), torch.ones(3, 4, 2)),
        vmap(without)(torch.arange(24.0).reshape(3, 4, 2)).shape,
        vmap(norm.eval())(torch.ones(3, 4, 2)).shape,
    ]


@differential
def test_results_without_a_batch_dimension(torch: Any) -> Any:
    """F-50: ``out_dims=None`` is for what depends on no entry, even where all entries have one value."""
    vmap, x, own = func(torch).vmap, rows(torch), torch.tensor([3.0, 4.0])
    refused = "can not return a BatchedTensor when out_dim is None"
    return [
        raises(refused, vmap(lambda v: v * 0, out_dims=None), x),
        raises(refused, vmap(lambda v: (v, v.sum() * 0), out_dims=(0, None)), x),
        vmap(lambda v: own * 2, out_dims=None)(x),
        vmap(lambda v: (v, 3), out_dims=(0, None))(x),
    ]


@differential
def test_kernels_of_programs_compute_by_any_means(torch: Any) -> Any:
    """F-50: a Function with a rule for batches, and a custom operator, may take arrays within any function."""

    class Sine(torch.autograd.Function):
        """By NumPy."""

        @staticmethod
        def forward(x: Any) -> Any:
            return torch.from_numpy(np.sin(x.numpy()))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Nothing is kept."""

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Sine.apply(x), in_dims[0]

    doubled = func(torch).vmap(lambda v: Sine.apply(v) * 2)(rows(torch))
    return [doubled, raises(NUMBER, func(torch).vmap(lambda v: Sine.apply(v)[0].item() * v), rows(torch))]


def test_nothing_is_left_behind() -> None:
    """F-50: outside of ``vmap``, and after one that failed, tensors are plain and nothing looks for marks."""
    from retrograd.engine.switches import state

    before, kept = state.MODE, []

    def keep(v: Any) -> Any:
        kept.append(v)
        return v * 2

    result = retrograd.func.vmap(keep)(retrograd.arange(3.0))
    with pytest.raises(RuntimeError, match="vmap"):
        retrograd.func.vmap(lambda v: v.item())(retrograd.arange(3.0))
    assert type(result) is retrograd.Tensor
    assert [v.item() for v in kept] == [0.0, 1.0, 2.0]
    assert (kept[1] + 1).item() == 2.0
    assert (state.MODE, state.STATE.batches) == (before, ())
