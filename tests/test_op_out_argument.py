"""``out=``: what may be written into, and what is refused, on both engines."""

from __future__ import annotations

import warnings
from typing import Any

from both_engines import differential, raises


@differential
def test_dtypes_and_overlap(torch: Any) -> Any:
    """Results are cast upwards only; memory that is read or shared by elements is not written."""
    x = torch.arange(4.0)
    wide, whole = torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)
    torch.exp(x, out=wide)
    torch.add(torch.tensor([1, 2]), 1, out=x[2:])
    return [
        wide, x, raises("can't be cast to the desired output type Long", torch.exp, x, out=whole),
        raises("refers to a single memory", torch.exp, x, out=torch.zeros(1).expand(4)),
        raises("refer to a single memory", torch.exp, x[:3], out=x[1:]), torch.neg(x, out=x),
        raises("", torch.exp, x, out=3),
    ]  # fmt: skip


@differential
def test_sizes(torch: Any) -> Any:
    """An empty target takes the result's size, another one too, with a warning."""
    empty, other = torch.zeros(0), torch.zeros(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.exp(torch.zeros(2), out=empty)
        before = len(caught)
        torch.exp(torch.zeros(2), out=other)
        made = torch.ones(2, out=torch.zeros(0, dtype=torch.int64))
    return [empty, other, before, [str(w.message)[:51] for w in caught], made]


@differential
def test_gradients(torch: Any) -> Any:
    """Neither side may take a gradient in either mode."""
    x, leaf = torch.ones(2), torch.ones(2, requires_grad=True)
    refused = [
        raises("don't support automatic differentiation", torch.exp, leaf, out=x),
        raises("don't support automatic differentiation", torch.exp, x, out=leaf),
    ]
    with torch.no_grad():
        torch.exp(x, out=leaf)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(2))
        refused += [raises("it is an out= function", torch.exp, a, out=b) for a, b in ((x, dual), (dual, x))]
    return [refused, leaf]


@differential
def test_named_results(torch: Any) -> Any:
    """The tensors that were given come back under the names of the results."""
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    values, indices = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    found = torch.max(x, 0, out=(values, indices))
    pair = torch.linalg.eigh(x, out=[torch.zeros(0), torch.zeros(0)])
    return [
        found.values is values, found.indices is indices, values, indices, type(found).__name__,
        type(pair).__name__, type(torch.frexp(x, out=(torch.zeros(0), torch.zeros(0).int()))).__name__,
    ]  # fmt: skip


@differential
def test_random_numbers(torch: Any) -> Any:
    """Draws go into tensors of another size, too; indices are of one dtype."""
    torch.manual_seed(3)
    chosen, drawn = torch.zeros(0, dtype=torch.int64), torch.zeros(0)
    weights = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return [
        torch.multinomial(weights, 2, out=chosen) is chosen, chosen, torch.normal(0.0, 1.0, (3,), out=drawn) is drawn,
        drawn.shape,
        raises("expects Long tensor out", torch.multinomial, weights, 2, out=drawn),
    ]  # fmt: skip


@differential
def test_view_of_another_dtype(torch: Any) -> Any:
    """``view(dtype)`` reads the same memory as other numbers and counts versions with it."""
    x = torch.arange(4.0).reshape(2, 2)
    seen = x.view(torch.int32)
    seen[0, 1] = 0
    return [
        seen, x, x._version, seen._is_view(), x.view(torch.float64).shape, x.view(dtype=torch.int16).shape,
        x.requires_grad_().view(torch.float64).grad_fn,
        raises("must be 1 to view Float as Double", x.t().view, torch.float64),
        raises("must be divisible by 2", torch.ones(2, 3).view, torch.float64),
        raises("cannot be 0 to view", torch.tensor(1.0).view, torch.int16), raises("", x.view, "a"),
    ]  # fmt: skip
