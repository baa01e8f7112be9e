"""Calls with a mixture of kinds or dtypes, taken and refused as in PyTorch."""

from __future__ import annotations

from both_engines import differential, raises


@differential
def test_bounds_of_two_kinds(torch):
    """``clamp`` takes two numbers or two tensors; a tensor that stands for a number is one."""
    x = torch.arange(5.0)
    bounds = torch.tensor([1.0])
    combination = "invalid combination"
    return [
        raises(combination, torch.clamp, x, bounds, 3.0), raises(combination, torch.clip, x, 1.0, bounds),
        raises(combination, x.clone().clamp_, bounds, 3), raises(combination, x.clamp, min=bounds, max=3.0),
        raises(combination, torch.clamp, x, torch.tensor(1.0, requires_grad=True), 3.0),
        torch.clamp(x, torch.tensor(1.0), 3.0), torch.clamp(x, torch.tensor(1.0), bounds), x.clamp(min=bounds),
    ]  # fmt: skip


@differential
def test_running_sums_in_place_of_another_dtype(torch):
    """``cumsum_`` and ``cumprod_`` write into the tensor, so they take no other dtype."""
    x = torch.ones(3)
    bad = "Bad in-place call"
    other = torch.float64
    refused = [raises(bad, x.cumsum_, 0, dtype=other), raises(bad, x.cumprod_, 0, dtype=other)]
    return [*refused, x, x.cumsum_(0, dtype=torch.float32)]


@differential
def test_losses_of_two_dtypes(torch):
    """Some losses have the dtype of the memory that they are computed into, some refuse."""
    functional = torch.nn.functional
    single, double = torch.full((3,), 0.25, requires_grad=True), torch.full((3,), 0.5, dtype=torch.float64)
    found = []
    for loss in (functional.huber_loss, functional.binary_cross_entropy_with_logits, functional.soft_margin_loss):
        for reduction in ("mean", "none"):
            value = loss(single, double, reduction=reduction)
            found.append(str(value.dtype))
            found.append(str(loss(double, single.detach(), reduction=reduction).dtype))
    refused = raises("Found dtype Double but expected Float", functional.binary_cross_entropy, single, double)
    return [*found, refused]


@differential
def test_windows_before_a_view(torch):
    """Aliases of a view know where its memory begins, and windows may begin before the view."""
    x = torch.arange(12.0)
    part, leaf = x[3:], x.clone().requires_grad_()
    window = (leaf * 1)[3:].as_strided((2,), (1,), 0)
    return [
        part.detach().storage_offset(), part.data.storage_offset(), part.detach().as_strided((2,), (1,), 0),
        part.as_strided((2,), (1,), 0), part.as_strided((2,), (1,)), x.clone()[3:].as_strided_((2,), (1,), 1),
        window, torch.autograd.grad(window.sum(), leaf),
        raises("invalid storage offset", x.as_strided, (2,), (1,), -1),
    ]  # fmt: skip


@differential
def test_tables_and_coins(torch):
    """``embedding_renorm_`` writes the rows it is asked for, ``bernoulli`` into ``out``."""
    table = torch.arange(12.0).view(4, 3)
    torch.manual_seed(0)
    drawn = torch.bernoulli(torch.full((5,), 0.5), out=torch.empty(5))
    same = torch.embedding_renorm_(table, torch.tensor([0, 1, 1, 3]), 2.0, 2.0) is table
    leaf = torch.ones(2, 2, requires_grad=True)
    return [
        drawn, same, table, raises("leaf Variable", torch.embedding_renorm_, leaf, torch.tensor([0]), 1.0, 2.0),
        raises("scalar types", torch.embedding_renorm_, table, torch.tensor([0.5]), 1.0, 2.0),
    ]  # fmt: skip
