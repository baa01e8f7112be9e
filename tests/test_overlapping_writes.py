"""Writes into expanded tensors: refused, or tolerated with a warning, as PyTorch does (V-rows on in-place writes)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")


def expanded(t: Any, *sizes: int) -> Any:
    """Distinct values along the first dimension, one along the others, and no second along the last."""
    return t.arange(1.0, 1.0 + sizes[0]).reshape(-1, *[1] * (len(sizes) - 1)).expand(*sizes)


def assign(index: Callable[[Any], Any], value: Callable[[Any], Any] | float) -> Callable[[Any, Any], Any]:
    """A write by ``x[index] = value``."""

    def write(t: Any, x: Any) -> None:
        x[index(t)] = value(t) if callable(value) else value

    return write


PICKED = [[0, 1], [1, 2], [2, 0]]
WRITES: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "indices": (assign(lambda t: t.tensor([0, 1]), 0.0), (3, 4)),
    "last of several": (assign(lambda t: (0, t.tensor([0, 1])), lambda t: t.tensor([5.0, 6.0])), (3, 4)),
    "mask": (assign(lambda t: t.tensor([[True, False]] * 3), 0.0), (3, 2)),
    "nothing picked": (assign(lambda t: t.zeros(3, 2, dtype=t.bool), 9.0), (3, 2)),
    "masked_fill_": (lambda t, x: x.masked_fill_(t.tensor([False, True]), 2.0), (3, 2)),
    "NaN": (lambda t, x: x.masked_fill_(t.tensor([False, True]), float("nan")), (3, 2)),
    "index_fill_": (lambda t, x: x.index_fill_(1, t.tensor([1]), t.tensor(7.0)), (2, 3)),
    "added": (lambda t, x: x.index_put_((t.tensor([0]),), t.tensor(1.0), accumulate=False), (2, 1, 3)),
    "slice": (assign(lambda t: slice(0, 2), 0.0), (3, 4)),
    "slice of a 0-d tensor": (assign(lambda t: slice(0, 2), lambda t: t.tensor(0.0)), (3, 4)),
    "everything": (assign(lambda t: Ellipsis, 0.0), (3, 4)),
    "one element": (assign(lambda t: (0, 0), 0.0), (3, 4)),
    "fill_": (lambda t, x: x.fill_(2.0), (3, 4)),
    "mul_": (lambda t, x: x.mul_(2.0), (3, 4)),
    "index_copy_": (lambda t, x: x.index_copy_(0, t.tensor([0]), t.zeros(1, 4)), (3, 4)),
    "no element": (assign(lambda t: t.tensor([0, 1]), 0.0), (3, 0)),
}


def outcome(t: Any, name: str) -> list[Any]:
    """What a write leaves, warns of or raises."""
    write, sizes = WRITES[name]
    x = expanded(t, *sizes)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            write(t, x)
        except RuntimeError as error:
            return [str(error)[:80]]
    told = {(one.category, "on expanded tensors is deprecated" in str(one.message)) for one in seen}
    return [repr(x.tolist()), told]


@pytest.mark.parametrize("name", WRITES)
def test_write_to_expanded_tensor(name: str) -> None:
    """Values, warnings and refusals are PyTorch's."""
    assert outcome(retrograd, name) == outcome(torch, name)


def test_hook_may_write_to_the_gradient_of_a_sum() -> None:
    """The expanded gradient of a sum is written by a hook, and the warning names the hook's line."""
    x = retrograd.ones(4, requires_grad=True)

    def forget_two(gradient: Any) -> None:
        gradient[retrograd.tensor([0, 1])] = 0

    x.register_hook(forget_two)
    with pytest.warns(UserWarning, match="index_put_ on expanded tensors") as caught:
        x.sum().backward()

    assert x.grad.tolist() == [0.0] * 4
    assert caught[0].filename == __file__


def shared(t: Any, way: str, dtype: Any, *sizes: int) -> tuple[Any, Any]:
    """What is written, and what is read: the same tensor, one that begins a row later, or one that is apart."""
    rows = t.arange(2 * sizes[0] * sizes[-1] ** (len(sizes) - 1)).to(dtype).reshape(2 * sizes[0], *sizes[1:])
    start = {"same": 0, "a row later": 1, "apart": sizes[0]}[way]
    return rows[: sizes[0]], rows[start : start + sizes[0]]


SHARED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "index_add_": lambda t, a, b: a.index_add_(0, t.arange(4), b),
    "index_copy_": lambda t, a, b: a.index_copy_(0, t.arange(4), b),
    "index_put_": lambda t, a, b: a.index_put_((t.arange(4),), b),
    "index_put_, added": lambda t, a, b: a.index_put_((t.arange(4),), b, accumulate=True),
    "assigned": lambda t, a, b: a.__setitem__(t.arange(4), b),
    "scatter_": lambda t, a, b: a.scatter_(0, t.zeros(4, 3, dtype=t.int64), b),
    "scatter_add_": lambda t, a, b: a.scatter_add_(0, t.zeros(4, 3, dtype=t.int64), b),
    "scatter_reduce_": lambda t, a, b: a.scatter_reduce_(0, t.zeros(4, 3, dtype=t.int64), b, "sum"),
    "put_": lambda t, a, b: a.put_(t.arange(12), b),
    "masked_scatter_": lambda t, a, b: a.masked_scatter_(t.ones(4, 3, dtype=t.bool), b),
    "copy_": lambda t, a, b: a.copy_(b),
    "add_": lambda t, a, b: a.add_(b),
    "take(out=)": lambda t, a, b: t.take(b, t.arange(12).view(4, 3), out=a),
    "index_select(out=)": lambda t, a, b: t.index_select(b, 0, t.arange(4), out=a),
    "gather(out=)": lambda t, a, b: t.gather(b, 0, t.zeros(4, 3, dtype=t.int64), out=a),
    "cat(out=)": lambda t, a, b: t.cat([b], out=a),
    "add(out=)": lambda t, a, b: t.add(b, b, out=a),
}
SHARED_PLACES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "index_fill_": lambda t, a, b: a.index_fill_(0, b, 9),
    "index_put_": lambda t, a, b: a.index_put_((b,), t.tensor(7)),
    "index_add_": lambda t, a, b: a.index_add_(0, b, t.zeros(4, dtype=t.int64)),
    "put_": lambda t, a, b: a.put_(b, t.zeros(4, dtype=t.int64)),
}


@pytest.mark.parametrize("way", ["same", "a row later", "apart"])
def test_operands_that_share_memory_with_what_is_written(way: str) -> None:
    """Refused or written as by PyTorch, whether values or places share memory, as a whole or in part."""
    different = {}
    for kinds, sizes, dtype in ((SHARED, (4, 3), "float32"), (SHARED_PLACES, (4,), "int64")):
        for name, write in kinds.items():
            found = []
            for t in (torch, retrograd):
                a, b = shared(t, way, getattr(t, dtype), *sizes)
                try:
                    write(t, a, b)
                except (RuntimeError, IndexError) as error:
                    found.append("single memory location" in str(error) or type(error))
                else:
                    found.append(a.tolist())
            if found[0] != found[1] and not (way == "a row later" and kinds is SHARED_PLACES):  # those lie outside
                different[name] = found
    assert different == {}


def test_additions_to_one_place() -> None:
    """``accumulate=True`` adds all rows to the one that an expanded tensor has."""
    for t in (torch, retrograd):
        x = t.ones(1, 3).expand(4, 3)
        with pytest.warns(UserWarning, match="expanded tensors is deprecated"):
            x.index_put_((t.arange(4),), t.ones(4, 3), accumulate=True)
        assert x.tolist() == [[5.0] * 3] * 4
