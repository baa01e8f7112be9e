"""What is remembered of a place of the program does not show: each call is told of as if it were the first there."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from retrograd.inspect.process.recorder import recording

torch = pytest.importorskip("torch")


def _attention(size: int, required: tuple[bool, ...]) -> Any:
    tensors = [torch.ones(2, 3, size, requires_grad=one) for one in required]
    return torch.nn.functional.scaled_dot_product_attention(*tensors)


def _product(size: int, required: tuple[bool, ...]) -> Any:
    first, second, third = (torch.ones(size, size, requires_grad=one) for one in required)
    return torch.einsum("ij,jk,kl->il", first, second, third)


def _multi_head(size: int, required: tuple[bool, ...]) -> Any:
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(4, 2 if size % 2 else 1, bias=size > 2)
    query, key, value = (torch.ones(size, 1, 4, requires_grad=one) for one in required)
    return attention(query, key, value, need_weights=size != 3)[0]


CASES = [
    (size, required)
    for size in (2, 3, 5, 2)
    for required in ((True, True, True), (False, True, False), (True, False, True), (True, True, True))
]


def _told(run: Callable[[], None]) -> list[Any]:
    """Calls, and bytes kept by nodes, of everything that runs in one recording."""
    with recording(level="full") as found:
        run()
    events = [event for event in found.events if event.kind in ("operation", "cut", "inplace")]
    shapes = [facts.shape for facts in found.tensors]
    calls = []
    for event in events:
        data = {key: event.data.get(key) for key in ("arguments", "names", "output_names", "range", "checksum")}
        kept = sorted(str(shapes[number]) for number in event.data.get("saves", ()))
        calls.append((event.kind, event.op, event.source, data, kept, [shapes[n] for n in event.data["outputs"]]))
    return calls + [snapshot.saved_bytes for snapshot in found.graphs]


@pytest.mark.parametrize("program", [_attention, _product, _multi_head])
def test_calls_from_one_place(program: Callable[..., Any]) -> None:
    """Other sizes, arguments and gradients wanted, at one line: one recording of all says what one of each says."""

    def step(case: tuple[int, tuple[bool, ...]]) -> None:
        program(*case).sum().backward()

    together: list[Any] = _told(lambda: [step(case) for case in CASES] and None)
    alone = [_told(lambda case=case: step(case)) for case in CASES]  # type: ignore[misc]

    calls = [entry for found in alone for entry in found if isinstance(entry, tuple)]
    sizes = [entry for found in alone for entry in found if isinstance(entry, list)]
    assert [entry for entry in together if isinstance(entry, tuple)] == calls
    assert [entry for entry in together if isinstance(entry, list)] == sizes


def test_arguments_that_change() -> None:
    """A list that the program changes between two calls, equal numbers of other types: each call says its own."""
    sizes = [2, 3]
    x = torch.ones(6, requires_grad=True)
    with recording(level="full") as found:
        for given in (sizes, sizes, [3, 2], (6, 1), True, 1, 1.0):
            if isinstance(given, (list, tuple)):
                x.reshape(given)
                sizes.reverse()
            else:
                x.mul(given)

    said = [event.data["arguments"]["1"] for event in found.events if event.kind == "operation"]
    assert [(type(one), one) for one in said] == [
        *((list, one) for one in ([2, 3], [3, 2], [3, 2], [6, 1])),
        *((type(one), one) for one in (True, 1, 1.0)),
    ]


def test_nothing_is_kept() -> None:
    """Tensors, modules and index tuples with tensors in them die when the program lets go, while it is recorded."""
    gc.collect()
    with recording(level="full"):
        x, index = torch.ones(4, 4, requires_grad=True), torch.tensor([0, 1])
        y = x[(index, 0)] * 2
        torch.stack([y, y]).sum().backward()
        watched = [weakref.ref(one) for one in (x, index, y)]
        del x, index, y

        assert [reference() for reference in watched] == [None, None, None]


def test_writes_after_memory_was_lent() -> None:
    """A NumPy array that shares memory with what backward needs is looked at, whoever made which first."""
    with recording(level="full") as found:
        x = torch.ones(3, requires_grad=True)
        first = torch.full((3,), 2.0)
        array = first.numpy()
        loss = (x * first).sum()
        array[0] = 7.0
        loss.backward()

    writes = [event for event in found.events if event.kind == "inplace" and event.data.get("through") == "numpy"]
    assert len({event.source for event in writes}) == 1


def test_sparse_operand_that_is_kept() -> None:
    """A product with a sparse tensor, which does not tell its bytes, is told of like any other."""
    with recording(level="full") as found:
        s = torch.eye(2).to_sparse()
        x = torch.ones(2, 2, requires_grad=True)
        torch.sparse.mm(s, x).sum().backward()

    assert [event.op for event in found.events if event.kind == "operation"][-3:] == ["ones", "sparse_mm", "sum"]
