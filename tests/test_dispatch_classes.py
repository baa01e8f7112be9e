"""Tensors whose class has a ``__torch_dispatch__``, with and without data of their own, against PyTorch."""

from __future__ import annotations

import copy
import gc
import importlib
import warnings
from typing import Any

import pytest
from both_engines import differential, raises


def module(torch: Any, name: str) -> Any:
    """A module of the engine under its own name."""
    return importlib.import_module(f"{torch.__name__}.{name}")


def wrapper_class(torch: Any, log: list[str] | None = None) -> Any:
    """Wraps a tensor; notes each operator."""
    tree_map = module(torch, "utils._pytree").tree_map
    noted: list[str] = [] if log is None else log

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, elem: Any, requires_grad: bool = False) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                layout=elem.layout, device=elem.device, requires_grad=requires_grad,
            )  # fmt: skip

        def __init__(self, elem: Any, requires_grad: bool = False) -> None:
            self.elem = elem

        def __repr__(self) -> str:
            return super().__repr__(tensor_contents=f"{self.elem}")

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            def inner(t: Any) -> Any:
                return t.elem if isinstance(t, Wrapper) else t

            def outer(t: Any) -> Any:
                return cls(t) if isinstance(t, torch.Tensor) else t

            noted.append(str(func))
            return tree_map(outer, func(*tree_map(inner, args), **tree_map(inner, kwargs or {})))

    return Wrapper


def content(value: Any) -> Any:
    """What wrappers hold, as plain values."""
    if hasattr(value, "elem"):
        return [type(value).__name__, value.elem]
    return [content(v) for v in value] if isinstance(value, (list, tuple)) else value


def leaf(torch: Any, log: list[str] | None = None) -> Any:
    """A wrapper of two numbers that requires grad."""
    return wrapper_class(torch, log)(torch.tensor([1.0, 2.0]), True)


def without_detach(log: list[str]) -> list[str]:
    """Names of operators; how often the engines detach is their own business."""
    return [name for name in log if "detach" not in name]


CALLS = {
    "arithmetic": lambda t, x: [x + 1, x * x, 1 - x, x / 2, x**2, -x, torch_add(t, x), x @ x],
    "comparison": lambda t, x: [x > 1, x == x, t.maximum(x, x), x.max(), x.argmax()],
    "functions": lambda t, x: [x.exp(), x.sin(), x.relu(), x.sigmoid(), x.softmax(0), t.log_softmax(x, 0), x.tanh()],
    "reductions": lambda t, x: [x.sum(), x.mean(), x.prod(), x.var(), x.sum(0, dtype=t.float64), x.cumsum(0)],
    "views": lambda t, x: [x.view(2, 1), x[0], x[:1], x.unbind(), x.expand(3, 2), x.reshape(1, 2), x.t(), x.split(1)],
    "pieces": lambda t, x: [t.cat([x, x]), t.stack([x, x]), x.clone(), x.double(), x[t.tensor([0, 1])], x.flatten()],
    "creation": lambda t, x: [t.zeros_like(x), t.ones_like(x), x.new_zeros(3), x.new_full((2,), 5.0)],
    "questions": lambda t, x: [
        t.equal(x, x),
        t.allclose(x, x),
        (x * 1)[0].item(),
        bool(x[1] > 1),
        float(x.detach()[0]),
    ],
    "layers": lambda t, x: [
        t.nn.functional.linear(x[None], t.ones(3, 2), t.ones(3)),
        t.nn.functional.layer_norm(x, (2,)),
        t.nn.functional.max_pool2d(x.view(1, 1, 2), (1, 2)),
        t.nn.functional.gelu(x),
        t.nn.functional.mse_loss(x, x + 1),
        t.nn.functional.cross_entropy(x[None], t.tensor([1])),
        t.nn.functional.conv1d(x.view(1, 1, 2), t.ones(1, 1, 2)),
    ],
}


def torch_add(torch: Any, x: Any) -> Any:
    """With an argument that is given by keyword only."""
    return torch.add(x, x, alpha=3)


@pytest.mark.parametrize("calls", sorted(CALLS))
def test_operators(calls: str) -> None:
    """The class is asked about the operators that PyTorch asks about; results are wrapped; gradients flow."""

    @differential
    def test(torch: Any) -> Any:
        log: list[str] = []
        x = leaf(torch, log)
        results = CALLS[calls](torch, x)
        forward = without_detach(log)
        flat = [w for v in results for w in (v if isinstance(v, (list, tuple)) else [v])]
        for v in flat:
            if isinstance(v, torch.Tensor) and v.requires_grad:
                v.sum().backward()
        return forward, content(flat), [getattr(v, "grad_fn", None) for v in flat], content(x.grad)

    test()


LAYERS = {
    "choosing": lambda t, x: [
        x.max(), x.median(), x.sort()[0], x.topk(2)[0], x.cummax(0)[0], x.prod(), x.cumprod(0), x.aminmax()[1],
        t.nn.functional.max_pool1d(x.view(1, 1, 3), 2), t.nn.functional.adaptive_max_pool1d(x.view(1, 1, 3), 1),
    ],
    "normalising": lambda t, x: [
        t.nn.functional.batch_norm(x.view(3, 1), None, None, training=True),
        t.nn.functional.group_norm(x.view(1, 3), 1), x.norm(), x.std(),
        t.nn.functional.batch_norm(x.view(3, 1), t.zeros(1), t.ones(1), t.ones(1), t.ones(1)),
    ],
    "matrices": lambda t, x: [
        t.linalg.det(t.diag(x)), t.linalg.inv(t.diag(x)), t.outer(x, x), t.einsum("i,i->", x, x),
        t.cdist(x[:, None], x[:, None] + 1),
    ],
    "places": lambda t, x: [
        x[t.tensor([0, 2])], x[x.detach().elem > 1], (x * 1).index_put_((t.tensor([0]),), t.ones(1)),
        x.gather(0, t.tensor([1])), t.zeros(3).scatter(0, t.tensor([0, 1, 2]), x), x.flip(0), x.roll(1),
        x.index_add(0, t.tensor([0]), t.ones(1)), x.masked_fill(t.tensor([True, False, False]), 0.0), x.nonzero(),
        t.bucketize(x.detach(), t.tensor([1.5])),
    ],
}  # fmt: skip


@pytest.mark.parametrize("layers", sorted(LAYERS))
def test_values_and_gradients(layers: str) -> None:
    """Operators whose rules look at values or positions, where only the class can."""

    @differential
    def test(torch: Any) -> Any:
        x = wrapper_class(torch)(torch.tensor([3.0, 1.0, 2.0]), True)
        results = LAYERS[layers](torch, x)
        for v in results:
            if v.requires_grad:
                v.sum().backward()
        return content(results), content(x.grad)

    test()


@differential
def test_overloads_say_what_they_are(torch: Any) -> Any:
    """``func`` tells its names, its arguments, whether it writes and whether it makes views."""
    add, written, view = torch.ops.aten.add.Tensor, torch.ops.aten.mul_.Tensor, torch.ops.aten.view.default
    return [
        add._opname, add._overloadname, add._schema.name, [a.name for a in add._schema.arguments],
        [f._schema.is_mutable for f in (add, written)], [f.is_view for f in (add, view)],
        [torch.Tag.inplace_view in f.tags for f in (add, torch.ops.aten.t_.default)],
        isinstance(add, module(torch, "_ops").OpOverload),
        isinstance(torch.ops.aten.add, module(torch, "_ops").OpOverloadPacket),
    ]  # fmt: skip


@differential
def test_anomaly_mode(torch: Any) -> Any:
    """The search for NaN asks the class."""
    x = wrapper_class(torch)(torch.tensor([-1.0, 1.0]), True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            return raises("returned nan values in its 0th output", x.sqrt().sum().backward)


@differential
def test_log_of_backward(torch: Any) -> Any:
    """Backward asks the class as well; gradients are wrappers; a second one is added in place."""
    log: list[str] = []
    x = leaf(torch, log)
    y = (x * x).exp().sum()
    forward = list(log)
    log.clear()
    y.backward()
    first = list(log)
    log.clear()
    (x * 2 + 1).sum().backward()
    return forward, first, list(log), content(x.grad), x.grad.requires_grad, x.is_leaf, y.grad_fn


@differential
def test_higher_order(torch: Any) -> Any:
    """Gradients of gradients, a Jacobian and a Hessian product through wrappers."""
    x = leaf(torch)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, retain_graph=True)
    (again,) = torch.autograd.grad(g, x, torch.ones(2))
    out, vjp = torch.autograd.functional.vjp(lambda a: a.sin(), x, torch.ones(2))
    return content([g, h, again, out, vjp]), g.grad_fn


@differential
def test_writes(torch: Any) -> Any:
    """Writes change what the wrapper holds, raise its version and become its history."""
    x = leaf(torch)
    y = x * 1
    same = y.mul_(3) is y, y.add_(x) is y, y.pow_(2) is y, y.clamp_(min=1) is y
    names = [str(y.grad_fn.name()), y._version]
    y.sum().backward()
    z = x * 1
    w = z.exp()
    w.add_(1)
    failed = raises("modified by an inplace operation", w.sum().backward)
    refused = raises("a leaf Variable that requires grad", x.add_, 1)
    return same, names, content(y), content(x.grad), failed, refused


@differential
def test_views(torch: Any) -> Any:
    """Views know their base and its version; a write to a view reaches the base's history."""
    x = leaf(torch)
    y = x * 1
    v = y.view(2, 1)
    facts = [v._is_view(), v._base is y, v._version, tuple(v.shape), v.stride(), v.is_contiguous()]
    v.mul_(2)
    y[0] = 7.0
    facts += [y._version, v._version, y.grad_fn, v.grad_fn]
    y.sum().backward()
    a, b = (x * 1).unbind()
    refused = raises("multiple views", a.mul_, 2)
    return facts, content([y, v, x.grad, b]), refused


@differential
def test_leaving_the_graph(torch: Any) -> Any:
    """``detach``, ``.data``, ``detach_``, ``no_grad`` and ``requires_grad_`` keep class and memory."""
    x = leaf(torch)
    d, data = x.detach(), x.data
    with torch.no_grad():
        off = x * 2
    d.mul_(5)
    y = x * 2
    y.detach_()
    z = (x * 1).detach().requires_grad_()
    z.sum().backward()
    return (
        content([d, data, off, x, y, z.grad]),
        [t.requires_grad for t in (d, data, off, y, z)],
        d._version,
        x._version,
    )


@differential
def test_saved_tensor_hooks(torch: Any) -> Any:
    """Hooks on saved tensors see wrappers and may keep what they hold."""
    x = leaf(torch)
    packed: list[str] = []

    def pack(t: Any) -> Any:
        packed.append(type(t).__name__)
        return t.elem

    with torch.autograd.graph.saved_tensors_hooks(pack, type(x)):
        y = (x * x).exp().sum()
    y.backward()
    with torch.autograd.graph.save_on_cpu():
        z = x.exp()
    z.sum().backward()
    saved = x.exp().grad_fn._saved_result
    return packed, content(x.grad), content(saved)


@differential
def test_checkpoint(torch: Any) -> Any:
    """Both kinds of checkpointing run the region again on wrappers."""
    found = []
    for reentrant in (True, False):
        log: list[str] = []
        x = leaf(torch, log)
        y = torch.utils.checkpoint.checkpoint(lambda a: a.sin().exp(), x, use_reentrant=reentrant)
        y.sum().backward()
        found += [[log.count("aten.sin.default"), log.count("aten.exp.default")], content([y, x.grad])]
    return found


@differential
def test_custom_functions(torch: Any) -> Any:
    """A custom Function gets wrappers, saves them and returns them; new and old style."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            seen.append(type(a).__name__ + type(g).__name__)
            return 3 * a * a * g

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(a: Any, by: float) -> Any:
            return a * by

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.by = inputs[1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.by, None

    seen: list[str] = []
    x = leaf(torch)
    y = Scale.apply(Cube.apply(x), 2.0)
    y.sum().backward()
    return seen, content([y, x.grad]), y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()


@differential
def test_hooks(torch: Any) -> Any:
    """Hooks on tensors, leaves and nodes see wrappers and may replace them."""
    x = leaf(torch)
    seen: list[str] = []
    y = x * 2
    y.register_hook(lambda g: seen.append(type(g).__name__) or g * 10)
    y.retain_grad()
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(type(p.grad).__name__))
    y.grad_fn.register_hook(lambda gi, go: seen.append(f"{type(gi[0]).__name__} {type(go[0]).__name__}"))
    y.sum().backward()
    return seen, content([y.grad, x.grad])


@differential
def test_forward_mode(torch: Any) -> Any:
    """Tangents that are wrappers, through operators, views and writes."""
    forward_ad = module(torch, "autograd.forward_ad")
    cls = wrapper_class(torch)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(cls(torch.tensor([1.0, 2.0])), cls(torch.tensor([1.0, 10.0])))
        y = (x * x).sin()
        v = (x * 3).view(2, 1)
        found = [forward_ad.unpack_dual(t).tangent for t in (y, v, x.sum())]
    return content(found)


@differential
def test_metadata(torch: Any) -> Any:
    """What a wrapper says of itself is what it was made with, not what it holds."""

    class Shown(wrapper_class(torch)):
        @staticmethod
        def __new__(cls, elem: Any) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, (4, 3), strides=(1, 4), storage_offset=2, dtype=torch.float64
            )

    t = Shown(torch.ones(1))
    default = torch.Tensor._make_wrapper_subclass(Shown, (2,))
    facts = [tuple(t.shape), t.stride(), t.storage_offset(), t.dtype, str(t.device), t.is_contiguous(), t.numel(),
             t.dim(), t.requires_grad, t.is_leaf, t.data_ptr(), t.is_floating_point(), len(t),
             default.dtype]  # fmt: skip
    refused = [
        raises(".numpy() is not supported for tensor subclasses", t.numpy),
        raises("is not supported for tensor subclasses", t.tolist),
        raises("must define __torch_dispatch__", torch.Tensor._make_wrapper_subclass, torch.nn.Parameter, (2,)),
        raises("does not inherit from Tensor", torch.Tensor._make_wrapper_subclass, int, (2,)),
    ]
    return facts, refused


@differential
def test_scaled_tensor(torch: Any) -> Any:
    """A class that holds whole numbers and a scale: it answers two operators and falls back for the others."""

    class Scaled(torch.Tensor):
        @staticmethod
        def __new__(cls, data: Any, scale: Any, requires_grad: bool = False) -> Any:
            return torch.Tensor._make_wrapper_subclass(
                cls, data.shape, dtype=torch.float32, requires_grad=requires_grad
            )

        def __init__(self, data: Any, scale: Any, requires_grad: bool = False) -> None:
            self.whole, self.scale = data, scale

        def dequantized(self) -> Any:
            return self.whole.to(torch.float32) * self.scale

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten.detach.default:
                return cls(args[0].whole, args[0].scale)
            if func is torch.ops.aten.mul.Tensor and isinstance(args[1], float):
                return cls(args[0].whole, args[0].scale * args[1])
            seen.append(str(func))
            plain = [a.dequantized() if isinstance(a, cls) else a for a in args]
            return func(*plain, **(kwargs or {}))

    seen: list[str] = []
    w = Scaled(torch.tensor([[1, 2], [3, 4]], dtype=torch.int32), torch.tensor(0.5), True)
    x = torch.tensor([[1.0, 1.0]], requires_grad=True)
    twice = w * 2.0
    y = x @ twice
    y.sum().backward()
    parameter = torch.nn.Parameter(w.detach())
    return [
        type(twice).__name__, twice.scale, y, x.grad, w.grad, type(w.grad).__name__, type(y).__name__, seen,
        isinstance(parameter, torch.nn.Parameter), type(parameter).__name__, parameter.requires_grad,
    ]  # fmt: skip


@differential
def test_subclass_with_data(torch: Any) -> Any:
    """``_make_subclass``: a tensor with data and metadata of its own; it lets the operator compute."""

    class Tagged(torch.Tensor):
        @staticmethod
        def __new__(cls, data: Any, tag: str, requires_grad: bool = False) -> Any:
            made = torch.Tensor._make_subclass(cls, data, requires_grad)
            made.tag = tag
            return made

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            tags = "".join(a.tag for a in args if isinstance(a, cls))
            result = super().__torch_dispatch__(func, types, args, kwargs or {})
            return cls(result, tags + "'") if type(result) is torch.Tensor else result

    a = Tagged(torch.tensor([1.0, 2.0]), "a", True)
    b = Tagged(torch.tensor([3.0, 4.0]), "b")
    y = a * b
    z = (y + 1).exp()
    z.sum().backward()
    c = b.clone()
    c.add_(1)
    return y.tag, z.tag, y.grad_fn, type(z).__name__, a.grad.tag[:3], a.grad.tolist.__name__, c.tag, type(c).__name__


@differential
def test_several_classes(torch: Any) -> Any:
    """Subclasses are asked first, then left to right; ``NotImplemented`` passes the question on."""
    asked: list[str] = []

    def named(base: Any, name: str, answer: bool) -> Any:
        class Made(base):
            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                asked.append(f"{name} {[t.__name__ for t in types]}")
                return super().__torch_dispatch__(func, types, args, kwargs) if answer else NotImplemented

        Made.__name__ = name
        return Made

    base = wrapper_class(torch)
    one, other = named(base, "One", False), named(base, "Other", True)
    child = named(other, "Child", False)
    x = torch.ones(2)
    results = [one(x) + other(x), other(x) + child(x), x + other(x), torch.cat([other(x), one(x)])]
    refused = raises("all __torch_dispatch__ handlers returned NotImplemented", torch.add, one(x), x)
    return asked, content(results), refused


@differential
def test_modes_come_first(torch: Any) -> Any:
    """A dispatch mode is asked before the classes, and its ``func`` asks them; both in backward as well."""
    base = module(torch, "utils._python_dispatch").TorchDispatchMode

    class Mode(base):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(f"mode {func} {[t.__name__ for t in types]}")
            return func(*args, **(kwargs or {}))

    log: list[str] = []
    x = leaf(torch, log)
    with Mode():
        y = (x * 2).sin()
        y.mul_(3)
    forward = list(log)
    with Mode():
        y.sum().backward()
    return forward, y._version, content([y, x.grad]), "mode aten.cos.default ['Wrapper']" in log


@differential
def test_mode_that_wraps(torch: Any) -> Any:
    """A mode may return wrappers for operators of plain tensors and for those that make tensors."""
    base = module(torch, "utils._python_dispatch").TorchDispatchMode
    cls = wrapper_class(torch)

    class Wrapping(base):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            return cls(result) if type(result) is torch.Tensor else result

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with Wrapping():
        made, y = torch.ones(2), x.exp()
    y.sum().backward()
    return content([made, y]), y.grad_fn, type(y).__name__, type(x.grad).__name__


@differential
def test_flops(torch: Any) -> Any:
    """A class that counts multiplications of matrix products, forward and backward."""

    class Counting(wrapper_class(torch)):
        count = 0

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
                a, b = args[-2:]
                Counting.count += a.shape[0] * a.shape[1] * b.shape[1]
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = Counting(torch.ones(4, 3))
    w = Counting(torch.ones(5, 3), True)
    b = Counting(torch.ones(5), True)
    y = torch.nn.functional.linear(x, w, b)
    forward = Counting.count
    (y @ y.t()).sum().backward()
    return forward, Counting.count, content([w.grad, b.grad])


@differential
def test_modules(torch: Any) -> Any:
    """Parameters that are wrappers, in a module that an optimizer trains."""
    layer = torch.nn.Linear(2, 1)
    cls = wrapper_class(torch)
    layer.weight = torch.nn.Parameter(cls(torch.tensor([[1.0, 2.0]])))
    layer.bias = torch.nn.Parameter(cls(torch.tensor([0.5])))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = layer(torch.tensor([[1.0, 1.0]])).pow(2).sum()
        loss.backward()
        optimizer.step()
    return content([layer.weight, layer.bias, loss]), [type(p).__name__ for p in layer.parameters()]


@differential
def test_copies(torch: Any) -> Any:
    """``deepcopy`` clones; a class whose ``clone`` or ``detach`` gives something else is told so."""

    class Plain(wrapper_class(torch)):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*[a.elem if isinstance(a, cls) else a for a in args], **(kwargs or {}))

    x = leaf(torch)
    y = copy.deepcopy(x)
    p = Plain(torch.ones(2))
    return [
        content(y), y.elem is x.elem, y.requires_grad,
        raises("The default implementation of __deepcopy__() for wrapper subclasses", copy.deepcopy, p),
        raises("requires that detach() returns an instance of the same type", torch.nn.Parameter, p),
    ]  # fmt: skip


@differential
def test_bad_results(torch: Any) -> Any:
    """What a class returns that is no tensor, and errors of its own."""

    def returning(value: Any) -> Any:
        class Made(wrapper_class(torch)):
            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return value()

        return Made(torch.ones(2), True)

    return [
        raises("Unable to cast", torch.exp, returning(lambda: "text")),
        raises("division by zero", torch.exp, returning(lambda: 1 / 0)),
        torch.is_grad_enabled(),
    ]


@differential
def test_custom_operators(torch: Any) -> Any:
    """A class is asked about custom operators above their kernels; the registered gradient is used."""

    thrice = torch.library.custom_op("dispatch_classes::thrice", mutates_args=(), schema="(Tensor x) -> Tensor")(
        lambda x: x * 3
    )
    thrice.register_autograd(lambda ctx, g: g * 7)
    log: list[str] = []
    x = leaf(torch, log)
    y = thrice(x)
    y.sum().backward()
    return log[:1], content([y, x.grad])


@differential
def test_grad_mode_in_handlers(torch: Any) -> Any:
    """A handler runs beneath autograd: nothing that it does records, whatever it is told of grad mode."""

    class Asking(wrapper_class(torch)):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            w = torch.ones(2, requires_grad=True)
            found.append([torch.is_grad_enabled(), (w * 2).requires_grad, args[0].requires_grad])
            return super().__torch_dispatch__(func, types, args, kwargs)

    found: list[Any] = []
    x = Asking(torch.ones(2), True)
    x.exp()
    with torch.no_grad():
        x.exp()
    torch.autograd.grad(x.sin().sum(), x)
    return found[0], found[2]


@differential
def test_backward_from_wrappers(torch: Any) -> Any:
    """Gradients that the program gives may be wrappers; plain leaves then get wrappers too."""
    cls = wrapper_class(torch)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(cls(torch.tensor([1.0, 10.0])))
    (g,) = torch.autograd.grad(x.exp(), x, cls(torch.ones(2)))
    return content([x.grad, g])


@differential
def test_no_dispatch(torch: Any) -> Any:
    """Within ``_DisableTorchDispatch`` the class is not asked."""
    no_dispatch = module(torch, "utils._mode_utils").no_dispatch
    log: list[str] = []

    class Noted(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(str(func))
            with no_dispatch():
                return func(*args, **(kwargs or {}))

    x = torch.Tensor._make_subclass(Noted, torch.tensor([1.0, 2.0]), True)
    y = (x * x).sum()
    y.backward()
    return without_detach(log)[:2], y.tolist() if type(y) is torch.Tensor else None, type(y).__name__


def test_nothing_is_left_behind() -> None:
    """When the last such tensor is gone, backward is the fast one again."""
    import retrograd as torch
    from retrograd.engine.switches import watchers

    gc.collect()
    before = watchers.DISPATCHING
    x = leaf(torch)
    y = (x * x).exp().view(2, 1).sum()
    assert watchers.DISPATCHING > before
    y.backward()
    del x, y
    gc.collect()
    assert watchers.DISPATCHING <= before


def test_data_that_are_not_there() -> None:
    """Nothing computes silently with the memory that a wrapper does not have."""
    import numpy as np

    import retrograd as torch

    x = wrapper_class(torch)(torch.ones(3))
    for look in (
        lambda: x._array + 1,
        lambda: np.sum(x._array),
        lambda: torch.nn.functional.one_hot(x.long()),
    ):
        with pytest.raises(RuntimeError, match="doesn't have storage"):
            look()


def test_policy_of_sizes_is_refused() -> None:
    """A class that wants to answer for its sizes is told what to do."""
    import retrograd as torch

    cls = wrapper_class(torch)
    with pytest.raises(NotImplementedError, match="sizes and strides are not asked"):
        torch.Tensor._make_wrapper_subclass(cls, (2,), dispatch_sizes_strides_policy="sizes")


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_tensor_elsewhere_changes_nothing(create_graph: bool) -> None:
    """While one lives, gradients of others have the strides and values that they have in PyTorch."""

    def gradients(torch: Any) -> list[Any]:
        dense, gaps = torch.ones(3, 2), torch.ones(6, 2)[::2]
        ways = [
            lambda x: (x, torch.ones(3, 2)), lambda x: (x, torch.ones(2, 3).t()), lambda x: (x * 2, torch.ones(3, 2)),
            lambda x: (x * 2, torch.ones(2, 3).t()), lambda x: (x.sum(), torch.ones(())),
            lambda x: (x.t() * 2, torch.ones(2, 3)), lambda x: (x * 1 + x.t().t(), torch.ones(3, 2)),
        ]  # fmt: skip
        found = []
        for data in (dense, dense.t().contiguous().t(), gaps):
            for way in ways:
                x = data.detach().requires_grad_()
                out, g = way(x)
                out.backward(g, create_graph=create_graph, retain_graph=True)
                first = x.grad._version, x.grad.stride(), x.grad.tolist()
                held = x.grad
                out.backward(g, retain_graph=True)
                found.append((first, x.grad._version, x.grad is held, x.grad.tolist(), g._version, g.tolist()))
        return found

    import retrograd

    wanted = gradients(pytest.importorskip("torch"))
    alone = gradients(retrograd)
    elsewhere = leaf(retrograd)
    assert alone == wanted
    for one, (first, _version, *others) in zip(gradients(retrograd), wanted, strict=True):
        assert one[0][1:] == first[1:]
        assert list(one[2:]) == others
    assert elsewhere.requires_grad


@differential
def test_conditions_and_indices_of_a_class(torch: Any) -> Any:
    """Row V-50: a condition, a mask and indices that only a class can read are given to it by backward, too."""
    cls = wrapper_class(torch)
    found = []
    for select in (lambda x, y: torch.where(x > 1, x, y), lambda x, y: x[x > 1], lambda x, y: x[(x > 1).long()]):
        x, y = cls(torch.tensor([1.0, 2.0, 3.0]), True), cls(torch.tensor([4.0, 5.0, 6.0]), True)
        select(x, y).sum().backward()
        found.append([content(x.grad), None if y.grad is None else content(y.grad)])
    return found


@differential
def test_windows_on_what_wrappers_hold(torch: Any) -> Any:
    """``as_strided`` of a wrapper is answered by its class, which alone knows the memory; gradients flow back."""
    log: list[str] = []
    held = wrapper_class(torch, log)(torch.arange(6.0).view(2, 3), True)
    window = held.as_strided((2, 2), (1, 2))
    return content([window, held.detach().as_strided((2,), (3,), 1)]), without_detach(log)
