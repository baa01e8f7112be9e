"""SPEC rows F-01 to F-12: classes, arguments and outputs of custom Functions."""

from __future__ import annotations

from collections import namedtuple

from both_engines import differential, edges, raises, warned
from custom_functions import custom


def _double(ctx, x, *rest):
    return x * 2


def _give_double(ctx, g):
    return g * 2


@differential
def test_F_01_node_class(torch):
    """F-01: every Function gets a node class <Name>Backward whose instance is ctx and grad_fn at once."""
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        return x * 2

    F = custom(torch, "F", forward=forward, backward=_give_double)
    Child = custom(torch, "Child", base=F)
    a = torch.ones(2, requires_grad=True)
    y, z = F.apply(a), Child.apply(a)
    node = y.grad_fn
    return [
        node, type(node).__name__, node.name(), kept[0] is node, node._forward_cls is F, z.grad_fn,
        z.grad_fn._forward_cls is Child, z.grad_fn._autograd_function_id > node._autograd_function_id,
        isinstance(node, torch.autograd.function.BackwardCFunction), isinstance(node, torch.autograd.graph.Node),
        issubclass(F, torch.autograd.Function), F._backward_cls is type(node), edges(node),
    ]  # fmt: skip


@differential
def test_F_02_static_usage(torch):
    """F-02: methods are looked up on the class; plain functions and class methods work as well."""

    class Plain(torch.autograd.Function):
        def forward(ctx, x):
            return x * 2

        @classmethod
        def helper(cls):
            return 3

        def backward(ctx, g):
            return g * 3

    a = torch.ones(2, requires_grad=True)
    Plain.apply(a).sum().backward()
    return [a.grad, Plain.helper()]


@differential
def test_F_02_misuse(torch):
    """F-02: missing methods, instances, and calling an instance."""
    a = torch.ones(2, requires_grad=True)
    NoForward = custom(torch, backward=_give_double)
    NoBackward = custom(torch, forward=_double)
    out = NoBackward.apply(a)
    phrase = "should not be instantiated"
    return [
        raises("must implement the forward function", NoForward.apply, a),
        raises("implement either the backward or vjp", out.sum().backward),
        warned(phrase, NoBackward)[0],
        warned(phrase, lambda: raises("Legacy autograd function", NoBackward(), a)),
    ]


@differential
def test_F_03_vjp(torch):
    """F-03: vjp is another name of backward; overriding both is refused when backward reaches the node."""
    a = torch.ones(2, requires_grad=True)
    custom(torch, forward=_double, vjp=lambda ctx, g: g * 5).apply(a).sum().backward()
    both = custom(torch, forward=_double, vjp=_give_double, backward=_give_double).apply(a)
    return [a.grad, raises("Implementing both 'backward' and 'vjp'", both.sum().backward)]


@differential
def test_F_04_order_of_steps(torch):
    """F-04: number and needs_input_grad before forward; to_save is gone and saved tensors exist after apply."""
    seen = {}

    def forward(ctx, x, k):
        seen["number"] = ctx._sequence_nr()
        seen["needs"] = ctx.needs_input_grad
        seen["before"] = ctx.saved_tensors
        seen["edges"] = len(ctx.next_functions)
        y = x * k
        ctx.save_for_backward(x, y)
        seen["inside"] = ctx.to_save[1] is y
        seen["again"] = ctx.saved_tensors
        return y

    a = torch.ones(2, requires_grad=True)
    b = a * 1
    y = custom(torch, forward=forward, backward=lambda ctx, g: (g, None)).apply(b, 3)
    c = a * 1
    numbers = [b.grad_fn._sequence_nr(), seen.pop("number"), c.grad_fn._sequence_nr()]
    return [seen, [n - numbers[0] for n in numbers[:2]], y.grad_fn.to_save, len(y.grad_fn.saved_tensors),
            y.grad_fn.saved_tensors[1].grad_fn is y.grad_fn]  # fmt: skip


@differential
def test_F_04_class_flags(torch):
    """F-04: class flags that are not bool are refused."""
    a = torch.ones(2, requires_grad=True)
    made = [custom(torch, forward=_double, backward=_give_double, **{flag: 1})
            for flag in ("clear_saved_tensors_on_access", "boxed_grads_call")]  # fmt: skip
    return [raises("must be a bool, got", f.apply, a) for f in made]


@differential
def test_F_05_keyword_arguments(torch):
    """F-05: keywords are mapped to positions by forward's parameter names; the mistakes are TypeErrors."""

    def forward(ctx, x, k=2):
        ctx.k = k
        return x * k

    def count(ctx, g):
        return (g * ctx.k, None)[: len(ctx.needs_input_grad)]

    F = custom(torch, forward=forward, backward=count)
    a = torch.ones(2, requires_grad=True)
    F.apply(x=a, k=3).sum().backward()
    first = a.grad.clone()
    y = F.apply(a)
    y.sum().backward()
    return [
        first, a.grad, y.grad_fn.needs_input_grad, F.apply(a, k=4).grad_fn.needs_input_grad,
        raises("unexpected keyword argument", lambda: F.apply(a, z=3)),
        raises("multiple values for argument", lambda: F.apply(a, x=a)),
        raises("missing required argument: 'x' (position 0)", lambda: F.apply(k=3)),
        raises("takes from 2 to 3 positional arguments", lambda: F.apply(a, 1, 2)),
    ]  # fmt: skip


@differential
def test_F_06_defaults_with_setup_context(torch):
    """F-06: the call is bound to forward's signature and defaults are filled in."""
    seen = []

    def setup(ctx, inputs, output):
        seen.append(inputs[1:])

    F = custom(
        torch, forward=lambda x, k=2, *, flag=True: x * k, setup_context=setup, backward=lambda ctx, *g: (g[0], None)
    )
    G = custom(torch, forward=lambda x, k=2: x * k, setup_context=setup, backward=lambda ctx, g: (g * 2, None))
    a = torch.ones(2, requires_grad=True)
    y = G.apply(a)
    y.sum().backward()
    G.apply(k=5, x=a)
    return [
        seen,
        a.grad,
        y.grad_fn.needs_input_grad,
        raises("", F.apply, a),
        raises("", G.apply),
        raises("", G.apply, a, 1, 2),
    ]


@differential
def test_F_07_differentiable_inputs(torch):
    """F-07: only tensors that are arguments themselves count; one given twice gets the sum."""
    F = custom(torch, forward=lambda ctx, ts: ts[0] * 2, backward=lambda ctx, g: None)
    Twice = custom(torch, forward=lambda ctx, x, y: x * 2 + y * 3, backward=lambda ctx, g: (g * 2, g * 3))
    a = torch.ones(2, requires_grad=True)
    y = Twice.apply(a, a)
    y.sum().backward()
    mixed = Twice.apply(a, torch.ones(2))
    with torch.no_grad():
        quiet = Twice.apply(a, a)
    return [F.apply([a]).requires_grad, a.grad, edges(y.grad_fn), edges(mixed.grad_fn), quiet.requires_grad,
            Twice.apply(torch.ones(2), torch.ones(2)).requires_grad]  # fmt: skip


@differential
def test_F_08_needs_input_grad(torch):
    """F-08: one flag per argument, from requires_grad alone; readable everywhere, assignable."""
    seen = []

    def forward(ctx, k, x, y):
        seen.append(ctx.needs_input_grad)
        return x * y

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return None, g, g

    F = custom(torch, forward=forward, backward=backward)
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        F.apply(1, a, torch.ones(2))
    out = F.apply(1, a, b)
    torch.autograd.grad(out.sum(), a)
    node = F.apply(1, a, b).grad_fn
    node.needs_input_grad = None
    seen.append(node.needs_input_grad)
    node.needs_input_grad = (True,)
    return [seen, node.needs_input_grad]


@differential
def test_F_09_environment(torch):
    """F-09: grad mode is off, arguments are the caller's objects, an inner graph is dropped."""
    seen = []
    a = torch.ones(2, requires_grad=True)
    Inner = custom(torch, "Inner", forward=_double, backward=lambda ctx, g: seen.append("inner ran"))

    def forward(ctx, x):
        seen.append(
            [x is a, x.requires_grad, torch.is_grad_enabled(), torch.autograd.forward_ad._is_fwd_grad_enabled()]
        )
        inner = Inner.apply(x)
        seen.append(inner.requires_grad)
        with torch.enable_grad():
            y = x * 3
            seen.append(y.grad_fn.name())
        return y

    y = custom(torch, "Outer", forward=forward, backward=lambda ctx, g: g * 100).apply(a)
    y.sum().backward()
    return [seen, y.grad_fn, a.grad, torch.is_grad_enabled()]


@differential
def test_F_10_setup_context(torch):
    """F-10: forward is called without ctx, then setup_context with all inputs and the raw output."""
    seen = []

    def setup(ctx, inputs, output):
        seen.append(
            [type(inputs).__name__, len(inputs), type(output).__name__, torch.is_grad_enabled(), output[0].grad_fn]
        )
        ctx.save_for_backward(inputs[0], output[0])
        return "ignored"

    def backward(ctx, g, h):
        _, y = ctx.saved_tensors
        seen.append(y.grad_fn is ctx)
        return g * y + h, None

    F = custom(torch, forward=lambda x, k: (x * k, x + k), setup_context=setup, backward=backward)
    a = torch.ones(2, requires_grad=True)
    y, z = F.apply(a, 3)
    (y + z).sum().backward()
    return [seen, a.grad, y.grad_fn, raises("setup_context", torch.autograd.Function.setup_context, None, (), None)]


@differential
def test_F_11_output_kinds(torch):
    """F-11: tuples are treated per element, everything else passes through; a bare list is opaque."""
    marker = {"k": 1}

    def forward(ctx, x):
        return x * 2, 5, None, "text", marker

    def backward(ctx, *grads):
        return grads[0] * 2

    a = torch.ones(2, requires_grad=True)
    y, five, none, text, same = custom(torch, forward=forward, backward=backward).apply(a)
    y.sum().backward()
    listed = custom(torch, forward=lambda ctx, x: [x * 2], backward=backward).apply(a)
    Pair = namedtuple("Pair", "first second")
    pair = custom(torch, forward=lambda ctx, x: Pair(x * 2, x * 3), backward=lambda ctx, g, h: g * 2 + h * 3).apply(a)
    empty = custom(torch, forward=lambda ctx, x: (), backward=backward).apply(a)
    one = custom(torch, forward=lambda ctx, x: (x * 2,), backward=_give_double).apply(a)
    none_only = custom(torch, forward=lambda ctx, x: None, backward=backward).apply(a)
    return [
        [five, none, text, same is marker, len(y.grad_fn._input_metadata), a.grad],
        [type(listed).__name__, listed[0].requires_grad, type(pair).__name__, pair[1].output_nr, empty],
        [type(one).__name__, one[0].grad_fn, none_only],
    ]  # fmt: skip


@differential
def test_F_12_attaching_history(torch):
    """F-12: differentiable outputs get the node and their index; a global tensor returned is changed itself."""
    shared = torch.ones(2)

    def forward(ctx, x):
        return (x * 2).long(), x * 3, shared, x > 0

    def backward(ctx, *grads):
        return grads[1] * 3 + grads[2]

    a = torch.ones(2, requires_grad=True)
    outputs = custom(torch, forward=forward, backward=backward).apply(a)
    (outputs[1] + shared * 5).sum().backward()
    return [
        [[o.requires_grad, o.grad_fn, o.output_nr, o.is_leaf] for o in outputs],
        outputs[2] is shared,
        shared.is_leaf,
        a.grad,
    ]


@differential
def test_F_12_leaf_found_in_forward(torch):
    """F-12: a leaf that requires grad and is returned without being an input stops being a leaf."""
    leaf = torch.ones(2, requires_grad=True)
    a = torch.ones(2, requires_grad=True)
    out = custom(torch, forward=lambda ctx, x: leaf, backward=_give_double).apply(a)
    out.sum().backward()
    return [out is leaf, leaf.is_leaf, leaf.grad_fn, a.grad]
