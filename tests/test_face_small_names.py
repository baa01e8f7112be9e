"""Names that programs use in passing: settings, questions, Python functions on elements, names that are missing."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import differential, raises

import retrograd


@differential
def test_python_functions_on_elements(torch: Any) -> Any:
    """``apply_`` and its like write in place, without history and without a new version."""
    x, y, leaf = torch.ones(2, 3), torch.arange(3.0), torch.ones(2, requires_grad=True)
    x.map_(y, lambda a, b: a + b).map2_(y, y, lambda a, b, c: a * b - c).apply_(lambda v: v + 0.5)
    return [
        x, x._version, torch.ones(2, dtype=torch.int64).apply_(lambda v: v + 0.5),
        raises("Variable that requires grad", leaf.apply_, abs),
        raises("Variable that requires grad", y.map_, leaf, max),
        raises("must match the existing size", y.map_, torch.ones(2), max),
        raises("expected torch.FloatTensor for 'other'", y.map_, torch.ones(3, dtype=torch.int64), max),
    ]  # fmt: skip


@differential
def test_questions(torch: Any) -> Any:
    """Questions about layout, type and memory."""
    x = torch.ones(2, 3)
    return [
        x.dim_order(), x.t().dim_order(), x.is_set_to(x.view(2, 3)), x.is_set_to(x.view(3, 2)), x.to_dense() is x,
        x.dense_dim(), x.sparse_dim(), x.share_memory_() is x, torch.is_distributed(x), torch.typename(x),
        torch.typename(3), torch.is_storage(x.untyped_storage()), torch.is_storage(x),
        raises("sparse coordinate tensor layout but got Strided", x.coalesce),
        raises("sparse tensor layout but got Strided", x.values),
    ]  # fmt: skip


@differential
def test_settings_of_the_machine(torch: Any) -> Any:
    """Precision of products, the device that a tensor is on, and ``detach_`` as a function."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    asked = torch.get_float32_matmul_precision()
    with pytest.warns(UserWarning, match="call has no effect"):
        torch.set_float32_matmul_precision("low")
    torch.set_float32_matmul_precision(before)
    left = torch.detach_(torch.ones(2, requires_grad=True) * 2)
    return [before, asked, torch.get_device(torch.ones(1)), torch.is_autocast_enabled(), left.requires_grad]


@differential
def test_settings(torch: Any) -> Any:
    """Settings are kept; wrong ones are refused."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    modes = [torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()]
    torch.set_deterministic_debug_mode("default")
    return [
        modes, torch.get_deterministic_debug_mode(), str(torch.get_default_device()),
        raises("expected one of", torch.set_deterministic_debug_mode, "loud"),
        raises("positive integer", torch.set_num_threads, 0),
    ]  # fmt: skip


@differential
def test_copies_of_pieces(torch: Any) -> Any:
    """Pieces of a tensor as copies, with nodes of their own."""
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    pieces = [*torch.split_copy(x, 2), *torch.split_with_sizes_copy(x, [1, 2]), *torch.unbind_copy(x, 1)]
    (sum(p.sum() for p in pieces) + pieces[0].prod()).backward()
    return [pieces, [p._is_view() for p in pieces], x.grad, raises("non-negative", torch.split_copy, x, -1)]


@differential
def test_flags_of_backward_are_numbers(torch: Any) -> Any:
    """``retain_graph`` and ``create_graph`` may be whole numbers; other types are refused and switch nothing."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = (x**3).sum()
    (g,) = torch.autograd.grad(z, x, create_graph=1)
    torch.autograd.grad(z, x, retain_graph=1)
    return [
        g, raises("cannot be interpreted as an integer", torch.autograd.grad, z, x, retain_graph="yes"),
        raises("cannot be interpreted as an integer", z.backward, None, None, "yes"), torch.is_grad_enabled(),
        (x * 2).requires_grad,
    ]  # fmt: skip


@differential
def test_saved_parameters(torch: Any) -> Any:
    """``_saved_*`` shows parameters as PyTorch does: sizes and dimensions as tuples, -1 wrapped around."""
    x = torch.ones(2, 3, requires_grad=True)
    picked = x[:, torch.tensor([0, 2])].grad_fn
    loss = torch.nn.functional.mse_loss(x, torch.ones(2, 3)).grad_fn
    return [
        x.sum(-1).grad_fn._saved_dim, x.amax(0).grad_fn._saved_dim, x.transpose(0, -1).grad_fn._saved_dim1,
        type(x[0].grad_fn._saved_self_sym_sizes), loss._saved_reduction, picked._saved_indices,
        x.cumsum(-1).grad_fn._saved_dim, sorted(n for n in dir(x.select(0, 1).grad_fn) if n.startswith("_saved")),
    ]  # fmt: skip


@differential
def test_only_indices_are_saved(torch: Any) -> Any:
    """Operators that pick elements keep where those were, not the values: writing to the values is harmless."""
    results: list[Any] = []
    for pick in ("max", "min", "sort", "median", "mode", "cummax"):
        x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
        values, indices = getattr(x * 1, pick)(0)
        kept = values.grad_fn._saved_indices
        values.mul_(2)
        values.sum().backward()
        again, indices = getattr(x * 1, pick)(0)
        indices.add_(0)
        results += [kept, x.grad, raises("modified by an inplace operation", again.sum().backward)]
    return results


def test_missing_method_names_the_way_out() -> None:
    """Tensor methods that are not here say why, and count as missing."""
    x = retrograd.ones(2)

    assert not hasattr(x, "to_sparse_csc")
    with pytest.raises(AttributeError, match="no attribute 'hpu'; there is only the CPU"):
        x.hpu()
    with pytest.raises(AttributeError, match="nearest names are half"):
        x.chalf()


@differential
def test_unsafe_pieces(torch: Any) -> Any:
    """Pieces that are no views share memory but neither history nor versions, so each may be written in place."""
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    first, second = y.unsafe_chunk(2)
    names = [first.grad_fn, y.unsafe_split(3)[1].grad_fn, y.unsafe_split_with_sizes([1, 3])[0].grad_fn]
    first.mul_(5)
    (first.sum() + second.sum()).backward()
    return [names, y, y._version, first._is_view(), x.grad, raises("greater than 0", x.unsafe_chunk, 0)]


@differential
def test_primals_are_free_of_tangents(torch: Any) -> Any:
    """What ``unpack_dual`` gives as primal has no tangent, whichever operator made the dual; nor have its views."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2))
        primals = [fw.unpack_dual(t).primal for t in (dual, dual * dual, dual[:1])]
        tangents = [fw.unpack_dual(t).tangent for p in primals for t in (p, p[:1], p * 2)]
        return tangents, [repr(p.detach()) for p in primals], dual.grad_fn, fw.unpack_dual((dual * dual)[:1]).tangent


def test_plain_tensors_are_loaded_with_weights_only(tmp_path: Any) -> None:
    """A plain tensor's file names no class, so that ``load`` trusts it."""
    retrograd.save({"w": retrograd.ones(2), "p": retrograd.nn.Parameter(retrograd.zeros(1))}, tmp_path / "state")
    assert list(retrograd.load(tmp_path / "state")) == ["w", "p"]
