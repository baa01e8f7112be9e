"""What stands between operators and their computation: dispatch modes, ``ops.aten`` and selective checkpointing."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises

CALLS = {
    "arithmetic": lambda t, x: [x + 1, x + x, 1 - x, x * 2, x / x, x**2, -x, x % 2, x.pow(x)],
    "comparison": lambda t, x: [x == x, x > 1, x < x, t.where(x > 1, x, x), x.masked_fill(x > 1, 0.0)],
    "products": lambda t, x: [x @ x, t.matmul(x, x[0]), t.bmm(x[None], x[None]), t.addmm(x, x, x), t.mv(x, x[0])],
    "reductions": lambda t, x: [x.sum(), x.sum(0), x.mean(), x.max(0), x.var(), x.prod(), x.cumsum(0), x.norm()],
    "views": lambda t, x: [
        x.view(4),
        x.t(),
        x.transpose(0, 1),
        x[0],
        x[:, 1:],
        x.unbind(),
        x.split(1),
        x.expand(3, 2, 2),
    ],
    "functions": lambda t, x: [x.exp(), x.sin(), x.relu(), t.sigmoid(x), x.softmax(0), t.log_softmax(x, 1), x.tanh()],
    "losses": lambda t, x: [t.nn.functional.mse_loss(x, x * 2), t.nn.functional.gelu(x), t.nn.functional.linear(x, x)],
    "pieces": lambda t, x: [t.cat([x, x]), t.stack([x, x]), x.clone(), x.double(), x[t.tensor([0, 1])], x.flatten()],
}


@pytest.mark.parametrize("calls", sorted(CALLS))
def test_operators_have_their_names(calls: str) -> None:
    """A mode is asked about the same overloads in the same order, and results are unchanged."""

    @differential
    def test(torch: Any) -> Any:
        log: list[str] = []
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        with noting(torch, log):
            results = CALLS[calls](torch, x)
        flat = [w for v in results for w in (v if isinstance(v, tuple) else [v])]
        return [log, flat]

    test()


def noting(torch: Any, log: list[str], change: Any = None) -> Any:
    """A mode that notes each operator, and may put another result in its place."""
    base = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Noting(base):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(str(func))
            result = func(*args, **(kwargs or {}))
            return result if change is None else change(func, result)

    return Noting()


@differential
def test_modes_may_change_results(torch: Any) -> Any:
    """What a mode returns is the result, and backward's operators are asked about as well; modes nest."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    inner: list[str] = []
    outer: list[str] = []
    aten = torch.ops.aten

    def tripled(func: Any, result: Any) -> Any:
        return result * 3 if func is aten.mul.Tensor else result

    with noting(torch, outer), noting(torch, inner, tripled):
        y = (x * x).sum()
    with noting(torch, log := []):
        y.backward()
    with noting(torch, []):
        (g,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
    return [y, inner, outer, x.grad, [n for n in log if "mul" in n or "add" in n], g, h, y.grad_fn]


WRITES = {
    "numbers": lambda t, y, x: [y.add_(1), y.mul_(2.0), y.pow_(2), y.clamp_(0, 2), y.fill_(3), y.zero_()],
    "tensors": lambda t, y, x: [y.add_(x), y.sub_(x), y.div_(x + 1), y.copy_(x), y.exp_()],
    "operators": lambda t, y, x: [y.__iadd__(x), y.__imul__(x), y[:2].mul_(3), t.relu_(y)],
}


@pytest.mark.parametrize("writes", sorted(WRITES))
def test_writes_are_seen(writes: str) -> None:
    """A mode is asked about writes, which it may leave undone; versions, nodes and gradients are as without it."""

    @differential
    def test(torch: Any) -> Any:
        log: list[str] = []
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x.clone()
        with noting(torch, log):
            for _ in WRITES[writes](torch, y, x):
                pass
        y.sum().backward()
        names = [name for name in log if "_." in name]
        return names, y, y._version, x.grad, y.grad_fn, quiet_write(torch)

    test()


def quiet_write(torch: Any) -> Any:
    """A tensor about whose writes a mode was asked that does nothing, and one that is written by an optimizer."""
    base = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Nothing(base):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args[0]

    y, log = torch.ones(2), []
    with Nothing():
        y.mul_(5)
    with torch.no_grad(), noting(torch, log):
        y.sub_(torch.ones(2))
        torch.ops.aten.mul_.Tensor(y, 4)
    return y, log, str(torch.ops.aten.mul_.Tensor), torch.ops.aten.mul_.Tensor(torch.ones(1), 3)


@differential
def test_creation_is_seen(torch: Any) -> Any:
    """A mode is asked about functions that make tensors, and may return other ones."""
    log: list[str] = []
    base = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Zero(base):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {})) * 0

    with noting(torch, log):
        a, b = torch.ones(2, 3), torch.zeros((2,), requires_grad=True)
        made = [torch.full((2,), 3.0), torch.arange(3), torch.arange(0, 3), torch.arange(0, 4, 2), torch.ones_like(a),
                torch.eye(2), torch.tensor([1.0]), torch.linspace(0, 1, 3)]  # fmt: skip
        drawn = [torch.rand(2).shape, torch.randint(5, (2,)).shape, torch.empty(1).shape, torch.randn(2, 2).shape]
    with Zero():
        zero = torch.ones(2)
    return log, a, b, made, [tuple(shape) for shape in drawn], zero, torch.ones(2)


@pytest.mark.parametrize("package", ["retrograd", "torch"])
def test_the_first_mode_of_a_process_sees_creation(package: str) -> None:
    """A mode that is entered before any function was used is asked about the first one."""
    pytest.importorskip(package)
    code = f"""
import {package} as torch
from {package}.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {{}}))
with Mode():
    torch.ones(2)
    hasattr(torch, "nothing_of_this_name")
    torch.ones(2)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert told == "aten.ones.default\n" * 2


@differential
def test_custom_operators_are_seen(torch: Any) -> Any:
    """A mode is asked about a custom operator once, above its kernel, and its gradient is the registered one."""

    twice = torch.library.custom_op(
        "seen_by_modes::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    twice.register_autograd(lambda ctx, g: g * 7)
    log: list[str] = []
    x = torch.ones(2, requires_grad=True)
    with noting(torch, log):
        y = twice(x)
    y.sum().backward()
    return log[:1], y, x.grad


@differential
def test_operators_by_name(torch: Any) -> Any:
    """Overloads are found, called, compared and printed."""
    aten = torch.ops.aten
    x = torch.ones(2, 2, requires_grad=True)
    return [
        aten.mm.default(x, x), aten.mm(x, x).grad_fn, str(aten.mm.default), repr(aten.add.Tensor), str(aten.mm),
        aten.mm.default is aten.mm.default, aten.mm.default in {aten.mm.default: 1}, aten.add.Tensor.name(),
        aten.mm.default.overloadpacket is aten.mm,
        raises("has no overload name 'nothing'", getattr, aten.mm, "nothing"),
        raises("object has no attribute 'nosuchoperator'", getattr, aten, "nosuchoperator"), aten.mm.default.__name__,
    ]  # fmt: skip


def test_names_are_those_of_torch() -> None:
    """Every public row has a name in torch's dispatcher, whichever of its overloads is meant."""
    torch = pytest.importorskip("torch")
    import retrograd
    from retrograd.engine.core.registry import OPS
    from retrograd.engine.overriding.aten import names_of

    assert retrograd.ones(1).shape
    public = [row for row in OPS.values() if row.public and "empty_like" not in row.name]
    unknown = [n for row in public for n in names_of(row)[:1] if not hasattr(torch.ops.aten, n.partition(".")[0])]
    wrong = [n for row in public for n in names_of(row)[:1] if n not in unknown and not _has(torch.ops.aten, n)]
    assert (unknown, wrong) == ([], [])


def _has(aten: Any, name: str) -> bool:
    operator, _, overload = name.partition(".")
    return hasattr(getattr(aten, operator), overload)


def kept_by(torch: Any, choose: Any, log: list[str]) -> Any:
    """A ``context_fn`` whose policy notes what it is asked about and keeps what ``choose`` says."""
    checkpoint = torch.utils.checkpoint

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        log.append(f"{op} {len(args)} {ctx.is_recompute} {tuple(ctx.op_output.shape)}")
        return choose(checkpoint.CheckpointPolicy, op)

    return functools.partial(checkpoint.create_selective_checkpoint_contexts, policy)


def block(torch: Any) -> Any:
    """Two products, a sigmoid and a product of elements."""
    return lambda x, y: torch.sigmoid(torch.matmul(torch.matmul(x, y), y)) * y


def run_checkpointed(torch: Any, context: Any, function: Any) -> Any:
    """Output and gradients of a checkpointed function of two matrices."""
    x = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    y = torch.tensor([[1.0, 0.5], [0.2, 0.1]], requires_grad=True)
    out = torch.utils.checkpoint.checkpoint(function, x, y, use_reentrant=False, context_fn=context)
    return out, (x, y)


@differential
def test_policies(torch: Any) -> Any:
    """The policy is asked in forward only; gradients do not depend on it; kept operators are not repeated."""
    found: list[Any] = []
    aten = torch.ops.aten
    for choose in (
        lambda p, op: p.MUST_SAVE if op is aten.mm.default else p.PREFER_RECOMPUTE,
        lambda p, op: p.PREFER_SAVE,
        lambda p, op: False,
        lambda p, op: op is aten.sigmoid.default,
    ):
        log: list[str] = []
        out, leaves = run_checkpointed(torch, kept_by(torch, choose, log), block(torch))
        again: list[str] = []
        with noting(torch, again):
            grads = torch.autograd.grad(out.sum(), leaves)
        found += [out, grads, log]
    return found


@differential
def test_kept_results(torch: Any) -> Any:
    """Kept once: a second backward is refused, and so is one after a kept result was written."""
    aten = torch.ops.aten
    selective = torch.utils.checkpoint.create_selective_checkpoint_contexts
    keep = functools.partial(selective, [aten.sin.default])

    def written(x: Any, y: Any) -> Any:
        return (x * 2).sin().mul_(y).exp()

    def other(x: Any, y: Any) -> Any:
        calls.append(1)
        return x.sin().exp() * y if len(calls) % 2 else x.cos().exp() * y

    calls: list[int] = []
    out, leaves = run_checkpointed(torch, keep, lambda x, y: x.sin().exp() * y)
    first = torch.autograd.grad(out.sum(), leaves, retain_graph=True)
    twice = raises("Trying to backward an extra time", torch.autograd.grad, out.sum(), leaves)
    out, leaves = run_checkpointed(torch, keep, written)
    mutated = raises("has been mutated", torch.autograd.grad, out.sum(), leaves)
    out, leaves = run_checkpointed(torch, keep, other)
    missing = raises("encountered during backward but not found in storage", torch.autograd.grad, out.sum(), leaves)
    return [
        first, twice, mutated, missing, raises("must be either a function or a list", selective, 3),
        raises("to be an OpOverload but got", selective, [aten.mm]), raises("to be an OpOverload", selective, ["mm"]),
    ]  # fmt: skip


def test_kept_operators_do_not_run_again() -> None:
    """Counted by the operator's own computation, which its derivative does not use: once if kept, else twice."""
    import retrograd as torch
    from retrograd.engine.core.registry import OPS

    kept = torch.ops.aten.sigmoid.default
    run_checkpointed(torch, torch.utils.checkpoint.noop_context_fn, block(torch))  # a first use also tries kernels
    row, runs = OPS["sigmoid"], []
    forward = row.forward
    row.forward = lambda *args: runs.append(1) or forward(*args)  # type: ignore[func-returns-value]
    try:
        for keep, wanted in (([kept], 1), ([], 2)):
            runs.clear()
            context = functools.partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, keep)
            out, _ = run_checkpointed(torch, context, block(torch))
            assert len(runs) == 1
            out.sum().backward()
            assert len(runs) == wanted
    finally:
        row.forward = forward


def test_modes_leave_nothing_behind() -> None:
    """After an error in a mode nothing special is on any more."""
    import retrograd as torch
    from retrograd.engine.switches import state

    before = state.MODE, state.DISPATCH_MODES
    x = torch.ones(2)
    with pytest.raises(ZeroDivisionError), noting(torch, [], lambda func, result: 1 / 0):
        x.exp()
    assert (state.MODE, state.DISPATCH_MODES, state.STATE.dispatch_modes) == (*before, [])
    with pytest.raises(TypeError, match="must return tensors"), noting(torch, [], lambda func, result: "x"):
        x.exp()
    with pytest.raises(TypeError, match="must return tensors"), noting(torch, [], lambda func, result: "x"):
        torch.ones(2)


def test_conjugates_are_called_as_in_pytorch() -> None:
    """Handlers compare what they get with ``ops.aten._conj.default``."""
    import retrograd as torch

    told: list[Any] = []
    x = torch.tensor([1 + 2j])
    with noting(torch, told):
        x.conj().imag
    assert told[0] == "aten._conj.default"
    assert "aten._neg_view.default" in told
    assert str(torch.ops.aten._conj.default) == told[0]


def test_nested_modes_hear_of_tensors_that_are_made() -> None:
    """What the inner mode passes on, of functions that make tensors too, the outer one is asked about."""

    def program(engine: Any) -> Any:
        heard: list[Any] = []
        mode = importlib.import_module(f"{engine.__name__}.utils._python_dispatch").TorchDispatchMode

        class Heard(mode):  # type: ignore[misc, valid-type]
            def __init__(self, name: str) -> None:
                super().__init__()
                self.name = name

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                heard.append((self.name, str(func)))
                return func(*args, **(kwargs or {}))

        with Heard("outer"), Heard("inner"):
            made = engine.ones(2, 3, requires_grad=True)
            engine.zeros_like(made)
            engine.arange(3) + 1
        return [heard, made]

    assert_agree(program)


@differential
def test_V_11_a_gradient_that_is_taken_over_is_not_copied(t: Any) -> Any:
    """Row V-11: a mode sees a gradient that nobody else holds detached into ``.grad``, and no copy of it."""
    found = []
    for loss in (lambda x: (x * x).sum(), lambda x: (x @ x).sum(), lambda x: x.exp().sum(), lambda x: (x + 1).sum()):
        log = _log(t)
        x = t.ones(2, 2, requires_grad=True)
        y = loss(x)
        with log:
            y.backward()
        found.append((log.seen.count("aten.copy_.default"), x.grad, x.grad._version))
    return found


@differential
def test_tuples_of_one_stay_tuples(t: Any) -> Any:
    """Row F-45: under a mode the only piece of a tensor is still in a tuple: an LSTM over one step runs back."""
    x = t.ones(1, 2, 3, dtype=t.float64, requires_grad=True)
    t.manual_seed(0)
    lstm = t.nn.LSTM(3, 2, bias=False).double()
    for parameter in lstm.parameters():
        t.nn.init.constant_(parameter, 0.5)
    found = []
    with _log(t):
        pieces = [x.unbind(), x.split(1), x.chunk(1), t.split(x, [1])]
        found = [(len(piece), tuple(piece[0].shape)) for piece in pieces]
        t.stack([x[0]]).sum().backward()
        lstm(x)[0].sum().backward()
    return found, x.grad


@differential
def test_medians_have_overloads(t: Any) -> Any:
    """Row F-45: medians of everything and along a dimension are two overloads, also of tensors without memory."""
    x = t.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]])
    with _log(t) as mode:
        found = [x.median(), *x.median(1), x.nanmedian(), *x.nanmedian(0)]
    blank = x.to("meta")
    shapes = [tuple(m.shape) for m in (blank.median(), *blank.median(1), *blank.nanmedian(0, keepdim=True))]
    return found, mode.seen, shapes


def _log(t: Any) -> Any:
    """A mode that writes the names of operators down."""

    class Log(importlib.import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Log()
