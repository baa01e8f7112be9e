"""``__torch_function__``: subclasses of Tensor, things like tensors, and modes are asked as in PyTorch."""

from __future__ import annotations

import copy
import importlib
import operator
import pickle
import subprocess
import sys
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd

BINARY = "add sub mul truediv floordiv mod pow eq ne lt le gt ge iadd isub imul itruediv ifloordiv imod ipow"
WHOLE = "and_ or_ xor lshift rshift"


def logging_class(torch: Any) -> tuple[Any, list[str]]:
    """A subclass that notes what it is asked about."""
    log: list[str] = []

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = func.__self__.__name__ if func.__name__ in ("__get__", "__set__") else func.__name__
            log.append(name + "".join(t.__name__[0] for t in types))
            return super().__torch_function__(func, types, args, kwargs)

    return Logging, log


@differential
def test_operators_are_asked_about(torch: Any) -> Any:
    """Every operator asks under the name of the method that it stands for."""
    kind, log = logging_class(torch)
    x, i = kind([1.0, 2.0]), kind([1.0, 2.0]).long()
    results = [getattr(operator, name)(x.clone(), x) for name in BINARY.split()]
    results += [getattr(operator, n)(2, x) for n in BINARY.split() if n[0] != "i"]
    results += [getattr(operator, name)(i, i) for name in WHOLE.split()]
    results += [-x, +x, ~i, abs(x), x @ x, x[0]]
    kinds = {type(r).__name__ for r in results}
    return log, sorted(kinds), [r.as_subclass(torch.Tensor) for r in results]


USES = {
    "attributes": lambda t, x: [x.shape, x.dtype, x.requires_grad, x.is_leaf, x.ndim, x._version, x.grad_fn, x.T],
    "numbers": lambda t, x: [len(x), bool(x[0, 0]), float(x[0, 1]), x.tolist(), x[0, 0].item(), 1.0 in x],
    "functions": lambda t, x: [t.add(x, 1), t.sum(x), t.cat([x, x]), t.stack((x, x)), t.where(x > 1, x, 0)],
    "further": lambda t, x: [t.nn.functional.relu(x), t.linalg.norm(x), t.fft.fft(x), t.einsum("ij,ij", x, x)],
    "several results": lambda t, x: [x.max(0), x.split(1), x.unbind(), t.var_mean(x)],
    "creation": lambda t, x: [t.ones_like(x), x.new_zeros(2), t.empty_like(x).fill_(3), x.clone(), x.detach()],
    "conversion": lambda t, x: [x.to(t.float64), x.double(), x.numpy().tolist(), x.type()],
    "setting": lambda t, x: [x.requires_grad_(), setattr(x, "grad", None), x.detach().__setitem__(0, 3)],
}


@pytest.mark.parametrize("use", sorted(USES))
def test_uses(use: str) -> None:
    """The same functions ask, and the same results are of the subclass."""

    @differential
    def test(torch: Any) -> Any:
        kind, log = logging_class(torch)
        values = USES[use](torch, kind([[1.0, 2.0], [3.0, 4.0]]))
        flat = [w for v in values for w in (v if isinstance(v, tuple) and hasattr(v[0], "shape") else [v])]
        return [list(log), [isinstance(v, kind) for v in flat]]

    test()


@differential
def test_gradients_of_subclasses(torch: Any) -> Any:
    """Backward runs beneath: gradients are plain, second order asks nobody, Functions get what they are given."""
    kind, log = logging_class(torch)

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            log.append("forward of " + type(x).__name__)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            log.append("backward of " + type(g).__name__ + type(ctx.saved_tensors[0]).__name__)
            return g * 2

    x = kind([1.0, 2.0]).requires_grad_()
    y = (x.sin() * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
    Double.apply(x).sum().backward()
    return log, type(g).__name__, type(x.grad).__name__, g, x.grad, y.grad_fn, type(y).__name__


@differential
def test_as_subclass(torch: Any) -> Any:
    """A tensor as a subclass shares memory and history; a subclass is made, copied, pickled and printed as itself."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).as_subclass(Plain(torch))
    y.sum().backward()
    z = torch.Tensor._make_subclass(Plain(torch), x, True)
    p = torch.nn.Parameter(torch.ones(2).as_subclass(Plain(torch)))
    return [
        y.grad_fn.name(), y.data_ptr() == y._base.data_ptr(), x.grad, type(y + 1).__name__, z.is_leaf, z.requires_grad,
        type(z).__name__, repr(z), repr(y), type(copy.copy(z)).__name__, type(p).__name__,
        isinstance(p, torch.nn.Parameter), repr(p), isinstance(y, torch.Tensor),
        type(y.as_subclass(torch.Tensor)) is torch.Tensor,
        raises("does not inherit from Tensor is not possible", x.as_subclass, int),
        torch.is_tensor(y),
    ]  # fmt: skip


def Plain(torch: Any) -> Any:  # noqa: N802 - a class
    """One subclass for each engine."""
    if torch.__name__ not in _MADE:
        _MADE[torch.__name__] = type("Plain", (torch.Tensor,), {})
    return _MADE[torch.__name__]


_MADE: dict[str, Any] = {}


class Kept(retrograd.Tensor):
    """At the top level, so that it can be pickled."""

    def new_empty(self, *args: Any, **kwargs: Any) -> Any:
        """Of its own class, as deep copies ask."""
        return super().new_empty(*args, **kwargs).as_subclass(Kept)


def test_copies_keep_the_class() -> None:
    """Deep copies and pickles are of the same class, with what was stored on the tensor."""
    x = Kept([1.0, 2.0]).requires_grad_()
    x.note = "here"

    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Kept
        assert (made.note, made.requires_grad, made.tolist()) == ("here", True, [1.0, 2.0])


@differential
def test_who_is_asked_first(torch: Any) -> Any:
    """Subclasses before their bases, else from left to right; disabled classes are not asked; else TypeError."""
    log: list[str] = []

    def refusing(name: str, *bases: Any) -> Any:
        def ask(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(name + ":" + ",".join(t.__name__ for t in types))
            return NotImplemented

        return type(name, bases, {"__torch_function__": classmethod(ask)})

    a = refusing("A", torch.Tensor)
    b, c = refusing("B", a), refusing("C", torch.Tensor)
    off = type("Off", (torch.Tensor,), {"__torch_function__": torch._C._disabled_torch_function_impl})
    values = [k([1.0]) for k in (c, a, b, off)]
    errors = [raises("", torch.add, values[i], values[j]) for i, j in
              ((0, 1), (1, 2), (2, 1), (0, 0), (3, 1))]  # fmt: skip
    return log, errors, type(torch.add(values[3], values[3])).__name__


@differential
def test_like_a_tensor(torch: Any) -> Any:
    """Something that is no tensor answers for functions that it registered for, and helpers know it."""
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    handled: dict[Any, Any] = {}

    class Scalar:
        def __init__(self, value: float) -> None:
            self.value = value

        @classmethod
        def __torch_function__(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return handled[func](*args, **(kwargs or {})) if func in handled else NotImplemented

    handled[torch.mean] = lambda s: s.value
    handled[torch.add] = lambda a, b: (type(a).__name__, type(b).__name__)

    def mine(value: Any) -> Any:
        if overrides.has_torch_function_unary(value):
            return overrides.handle_torch_function(mine, (value,), value)
        return "plain"

    handled[mine] = lambda value: "handled"
    s = Scalar(3.0)
    return [
        torch.mean(s), torch.add(s, torch.ones(2)), torch.add(torch.ones(2), s), mine(s), mine(torch.ones(2)),
        raises("", torch.sum, s), overrides.is_tensor_like(s), overrides.is_tensor_like(3),
        overrides.has_torch_function((torch.ones(1), s)), overrides.has_torch_function((torch.ones(1),)),
    ]  # fmt: skip


@differential
def test_modes(torch: Any) -> Any:
    """A mode is asked about everything, also creation; the inner one first; in it, it is off."""
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    log: list[str] = []

    class Noting(overrides.TorchFunctionMode):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(self.name + func.__name__)
            torch.ones(1)
            return func(*args, **(kwargs or {}))

    with Noting("a"), Noting("b"):
        x = torch.ones(2, requires_grad=True)
        y = torch.nn.functional.relu(x).sum()
        with torch._C.DisableTorchFunctionSubclass():
            y.backward()
        with torch._C.DisableTorchFunction():
            y = x + 1
    z = x * 2
    with Noting("c"):
        torch.autograd.grad(z.sum(), x)
    return log, x.grad, y


def test_programs_without_pay_nothing() -> None:
    """Until somebody asks, Tensor's own methods stand there, not ones that look around."""
    program = (
        "import retrograd as t; before = dict(vars(t.Tensor)); x = t.ones(2, requires_grad=True);"
        "(x + 1).sum().backward();"
        "assert dict(vars(t.Tensor)) == before and t.add is t._face.NAMES['add'];"
        "C = type('C', (t.Tensor,), {}); assert vars(t.Tensor)['add'] is not before['add'];"
        "assert t.add is not t._face.NAMES['add'] and type(C([1.0]) + 1) is C"
    )

    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@differential
def test_autograd_asks_outputs_and_inputs(torch: Any) -> Any:
    """``grad`` and ``backward`` ask the classes of their outputs and inputs, not those of given gradients."""
    log = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(getattr(func, "__name__", ""))
            return super().__torch_function__(func, types, args, kwargs or {})

    own = torch.ones(3).as_subclass(Asked).requires_grad_()
    leaf = torch.ones(3, requires_grad=True)
    found = []
    for call in (
        lambda: torch.autograd.grad((leaf * 2).sum(), [leaf, own], allow_unused=True),
        lambda: torch.autograd.grad(leaf * 2, leaf, torch.ones(3).as_subclass(Asked)),
        lambda: torch.autograd.backward((leaf * 2).sum(), inputs=[own]),
        lambda: torch.autograd.backward([(leaf * 2).sum()]),
    ):
        log.clear()
        call()
        found.append([name for name in log if name in ("grad", "backward")])
    return found


@differential
def test_derivatives_of_functions_keep_the_class(torch: Any) -> Any:
    """E-37: ``autograd.functional`` and ``parameters_to_vector`` ask classes about ``grad``, ``stack`` and ``cat``."""
    functional, kept = torch.autograd.functional, type("Kept", (torch.Tensor,), {})

    def new() -> Any:
        return torch.tensor([1.0, 2.0]).as_subclass(kept)

    def total(x: Any) -> Any:
        return (x**2).sum()

    found = [functional.jacobian(total, new()), functional.hessian(total, new())]
    found += [functional.jacobian(lambda x: x**2, new(), vectorize=vectorize) for vectorize in (False, True)]
    found += [*functional.vjp(total, new()), *functional.jvp(lambda x: x**2, new(), new())]
    found += [*functional.hvp(total, new(), new()), *functional.vhp(total, new(), new())]
    found.append(torch.nn.utils.parameters_to_vector([new(), new()]))
    return [(type(t).__name__, t.detach().as_subclass(torch.Tensor)) for t in found]


HANDED: dict[str, Any] = {
    "activations": lambda F, x, t: [
        F.relu(x), F.leaky_relu(x, 0.2), F.softmax(x, -1), F.elu(x), F.glu(x), F.dropout(x),
    ],
    "losses": lambda F, x, t: [
        F.cross_entropy(x, t), F.mse_loss(x, x), F.l1_loss(x, x), F.nll_loss(x, t), F.kl_div(x, x, reduction="sum"),
        F.binary_cross_entropy_with_logits(x, x), F.smooth_l1_loss(x, x), F.multi_margin_loss(x, t),
    ],
    "layers": lambda F, x, t: [
        F.layer_norm(x, (2,)), F.batch_norm(x, None, None, None, None, True), F.embedding(t, x), F.pad(x, (1, 1)),
        F.max_pool1d(x, 2), F.interpolate(x[None], scale_factor=2), F.normalize(x), F.gelu(x), F.linear(x, x),
    ],
    "methods": lambda F, x, t: [
        x.split(1), x.norm(dim=1), x.sum().backward(), x.relu(), -x, x.sum(), x.sum(0), x.shape, 2 - x, 2 / x, x**2,
        x.detach(), x.dim(), x.view(4), x.T, repr(x), x.register_hook(print).remove(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", sorted(HANDED))
@pytest.mark.parametrize("by_mode", [False, True])
def test_what_handlers_get(calls: str, by_mode: bool) -> None:
    """Functions that PyTorch writes in Python hand on all arguments, most by name; others what the caller gave."""

    @differential
    def test(torch: Any) -> Any:
        log: list[Any] = []

        def note(func: Any, types: Any, args: Any, kwargs: Any) -> None:
            if by_mode or any(issubclass(kind, Named) for kind in types):
                log.append((func.__name__, [kind.__name__ for kind in types], len(args), sorted(kwargs)))

        class Named(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                note(func, types, args, kwargs or {})
                return super().__torch_function__(func, types, args, kwargs or {})

        class Noting(importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                note(func, types, args, kwargs or {})
                return func(*args, **(kwargs or {}))

        x, t = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1])
        if by_mode:
            x.requires_grad_()
            with Noting():
                HANDED[calls](torch.nn.functional, x, t)
        else:
            HANDED[calls](torch.nn.functional, x.as_subclass(Named).requires_grad_(), t)
        return log

    test()


@differential
def test_handlers_get_defaults(torch: Any) -> Any:
    """What the caller left out of such a function comes with the values that it has then."""
    seen: list[Any] = []

    class Kept(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.__name__ in ("gumbel_softmax", "hardtanh", "ctc_loss", "interpolate", "celu"):
                seen.append({name: repr(value) for name, value in (kwargs or {}).items()})
            return super().__torch_function__(func, types, args, kwargs or {})

    functional = torch.nn.functional
    x = torch.ones(2, 3, 4).as_subclass(Kept)
    (
        functional.hardtanh(x),
        functional.celu(x, 2.0),
        functional.interpolate(x, 2),
        functional.gumbel_softmax(x, hard=True),
    )
    return seen, raises("unexpected keyword argument", functional.dropout, x, nothing=1)
