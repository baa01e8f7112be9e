"""F-50: writes beneath the transforms of ``torch.func``: to what is captured, to arguments, to what is made there."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_same, differential, plain

import retrograd

Write = Callable[[Any, Any, Any], Any]
WRITES: dict[str, Write] = {
    "mul_": lambda torch, t, v: t.mul_(2),
    "add_": lambda torch, t, v: t.add_(v),
    "operator": lambda torch, t, v: t.__isub__(v),
    "by index": lambda torch, t, v: t.__setitem__(0, v[0]),
    "by slice": lambda torch, t, v: t[:].copy_(v),
    "zero_": lambda torch, t, v: t.zero_(),
    "exp_": lambda torch, t, v: t.exp_(),
    "masked_fill_": lambda torch, t, v: t.masked_fill_(torch.tensor([True, False, True]), 9.0),
    "index_add_": lambda torch, t, v: t.index_add_(0, torch.tensor([0]), v[:1]),
    "relu": lambda torch, t, v: torch.nn.functional.relu(t, inplace=True),
    "no_grad": lambda torch, t, v: _unrecorded(torch, t),
    "t_": lambda torch, t, v: t.t_(),
}
TARGETS: dict[str, Callable[..., Any]] = {
    "captured": lambda torch, captured, v, other: captured,
    "view of captured": lambda torch, captured, v, other: captured.view(3),
    "detached captured": lambda torch, captured, v, other: captured.detach(),
    "argument": lambda torch, captured, v, other: v,
    "detached argument": lambda torch, captured, v, other: v.detach(),
    "other argument": lambda torch, captured, v, other: other,
    "made": lambda torch, captured, v, other: torch.zeros(3),
    "of captured": lambda torch, captured, v, other: captured * 2,
    "clone": lambda torch, captured, v, other: captured.clone(),
    "computed": lambda torch, captured, v, other: v * 1,
}
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": lambda torch, func, f, x, o: func.grad(f)(x, o),
    "vjp": lambda torch, func, f, x, o: _pulled(torch, func, f, x, o),
    "jvp": lambda torch, func, f, x, o: func.jvp(f, (x, o), (torch.ones(3), torch.ones(3))),
    "jacrev": lambda torch, func, f, x, o: func.jacrev(f)(x, o),
    "jacfwd": lambda torch, func, f, x, o: func.jacfwd(f)(x, o),
    "hessian": lambda torch, func, f, x, o: func.hessian(f)(x, o),
    "grad of grad": lambda torch, func, f, x, o: func.grad(lambda a, b: func.grad(f)(a, b).sum())(x, o),
    "vmap": lambda torch, func, f, x, o: func.vmap(f, (0, None))(torch.stack([x, x + 1]), o),
    "vmap of grad": lambda torch, func, f, x, o: func.vmap(func.grad(f), (0, None))(torch.stack([x, x + 1]), o),
    "grad in grad": lambda torch, func, f, x, o: func.grad(
        lambda z: func.grad(lambda v: f(v, o) * z.sum())(x).sum()
    )(x * 1),
}  # fmt: skip


def _unrecorded(torch: Any, t: Any) -> None:
    with torch.no_grad():
        t.add_(1)


def _pulled(torch: Any, func: Any, f: Any, x: Any, o: Any) -> Any:
    out, pull = func.vjp(lambda v: f(v, o), x)
    return out, pull(torch.tensor(1.0))


def outcome(torch: Any, transform: str, target: str, write: str, requires_grad: bool) -> Any:
    """The result and what is in the tensors afterwards, or why the write was refused."""
    func = importlib.import_module(f"{torch.__name__}.func")
    x, other = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 1.5, 2.5])
    captured = torch.tensor([4.0, 5.0, 6.0])
    if requires_grad:
        captured = captured.requires_grad_() * 1

    def f(v: Any, o: Any) -> Any:
        t = TARGETS[target](torch, captured, v, o)
        WRITES[write](torch, t, v)
        return (t * v).sum()

    try:
        result = TRANSFORMS[transform](torch, func, f, x, other)
        # the graph of PyTorch's second derivatives holds more than their numbers depend on
        result = plain(result.detach() if transform == "hessian" else result)
    except (RuntimeError, ValueError) as error:
        known = ("mutate a captured Tensor", "leaf Variable")
        return next((phrase for phrase in known if phrase in str(error)), "refused")
    return [result, plain([t.detach() for t in (x, other, captured)]), other.requires_grad]


def _differs(transform: str, target: str, write: str) -> bool:
    """What the documents name: entries of a batch may be written to what the function makes."""
    entries = "vmap" in transform and target in ("made", "of captured", "clone", "captured", "other argument")
    batched = write in ("add_", "operator", "by index", "by slice", "index_add_")
    overlapping = write == "index_add_" and "argument" in target and target != "other argument"
    return (entries and batched) or overlapping


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_writes(transform: str, requires_grad: bool) -> None:
    """F-50: captured tensors are not written beneath derivatives; elsewhere numbers and memory are PyTorch's."""
    torch = pytest.importorskip("torch")
    warnings.filterwarnings("ignore", message=r".*torch\.jit.*")
    wrong = {}
    for target, write in itertools.product(TARGETS, WRITES):
        if _differs(transform, target, write):
            continue
        wanted = outcome(torch, transform, target, write, requires_grad)
        found = outcome(retrograd, transform, target, write, requires_grad)
        try:
            assert_same(wanted, found, "")
        except AssertionError:
            wrong[target, write] = (wanted, found)
    assert not wrong


@pytest.mark.parametrize("name", ["exp_", "sigmoid_", "tanh_", "sqrt_", "reciprocal_"])
def test_directions_of_writes_have_a_derivative(name: str) -> None:
    """F-40: the tangent of an in-place operator whose rule asks for its result is differentiated as out of place."""
    func = importlib.import_module("retrograd.func")
    x, u = retrograd.tensor([0.5, 1.5], dtype=retrograd.float64), retrograd.tensor([1.0, -2.0], dtype=retrograd.float64)

    def second(f: Callable[[Any], Any]) -> Any:
        return func.grad(lambda v: (func.jvp(f, (v,), (u,))[1] * v).sum())(x)

    wanted = second(lambda v: getattr(v, name[:-1])())
    found = second(lambda v: getattr(v * 1, name)())
    assert retrograd.allclose(found, wanted, rtol=1e-12)


@differential
def test_entries_find_what_the_first_one_found(torch: Any) -> Any:
    """F-50: what entries write to captured tensors, also as ``out`` and in parts of a batch, is written once a call."""
    func = importlib.import_module(f"{torch.__name__}.func")
    x, counter, buffer = torch.arange(4.0), torch.zeros(2), torch.ones(2)

    def f(v: Any) -> Any:
        counter.add_(1)
        torch.add(counter, counter, out=buffer)
        return v * counter.sum() + buffer[0]

    first = func.vmap(f)(x)
    state = [counter.tolist(), buffer.tolist()]
    parts = func.vmap(f, chunk_size=2)(x)
    return first, state, parts, counter, buffer


@differential
def test_layers_that_count_are_counted_once(torch: Any) -> Any:
    """F-50: a module's buffer that counts calls goes up by one for a batch."""
    func = importlib.import_module(f"{torch.__name__}.func")

    class Counting(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, v: Any) -> Any:
            self.calls += 1
            return v * self.calls

    layer = Counting()
    return func.vmap(layer)(torch.arange(3.0)), layer.calls, func.vmap(layer)(torch.arange(3.0)), layer.calls


@differential
def test_what_the_function_makes_may_be_written(torch: Any) -> Any:
    """F-50: however a tensor comes about within the function, it is the function's own."""
    func = importlib.import_module(f"{torch.__name__}.func")
    x = torch.tensor([3.0, 1.0, 2.0])
    makers: dict[str, Callable[[], Any]] = {
        "sorted": lambda: x.sort()[0],
        "places": lambda: torch.nonzero(x),
        "triangle": lambda: torch.tril_indices(2, 2),
        "uniform": lambda: torch.rand(3),
        "like": lambda: torch.empty_like(x),
        "data": lambda: torch.tensor([1.0, 2.0]),
        "layer": lambda: torch.nn.Linear(2, 2).weight.data,
        "transposed": lambda: torch.ones(2, 3).t(),
        "derivative": lambda: func.grad(lambda v: (v**2).sum())(x),
        "batch": lambda: func.vmap(lambda v: v * 2)(x),
        "rows": lambda: torch.searchsorted(x, x),
        "decomposed": lambda: torch.linalg.cholesky_ex(torch.eye(2))[0],
        "embedded": lambda: torch.nn.functional.embedding(torch.tensor([0]), torch.ones(2, 2)),
    }

    def written(make: Callable[[], Any]) -> Callable[[Any], Any]:
        def f(v: Any) -> Any:
            t = make()
            t.zero_()
            return v * (1 + t.sum())

        return f

    one = torch.tensor(2.0)
    return [[func.grad(written(m))(one), func.jvp(written(m), (one,), (one,))] for m in makers.values()]


@differential
def test_derivatives_within_derivatives_leave_no_history(torch: Any) -> Any:
    """F-50: a result depends on the program's own leaves alone, however many derivatives were taken within."""
    func = importlib.import_module(f"{torch.__name__}.func")
    x, leaf = torch.tensor([1.0, 2.0]), torch.tensor(3.0, requires_grad=True)
    inner = func.grad(lambda z: func.grad(lambda v: (v**2).sum() * z.sum())(x).sum())(x)
    reaching = func.grad(lambda z: func.grad(lambda v: (v**2).sum() * z.sum() * leaf)(x).sum())(x)
    return inner.requires_grad, inner, reaching.requires_grad, torch.autograd.grad(reaching.sum(), leaf)


@differential
def test_jacobians_of_functions_that_write_their_argument(torch: Any) -> Any:
    """F-50: along directions an argument is no leaf: it may be written, and the caller's tensor with it."""
    func = importlib.import_module(f"{torch.__name__}.func")
    x = torch.tensor([1.0, 2.0])
    return func.jacfwd(lambda v: v.mul_(2) * v)(x), x, func.jvp(lambda v: v.exp_(), (x,), (torch.ones(2),)), x
