"""Custom Functions, SPEC rows F-01 to F-10: class and node, apply, arguments, environment, setup_context."""

from __future__ import annotations

from both_engines import differential, edges, graph_of, raises, warned
from custom_functions import function, leaf, times


@differential
def test_F_01_function_and_node_class(torch):
    "F-01: every Function has a node class <Name>Backward that knows its Function."

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    y = Twice.apply(torch.ones(2, requires_grad=True))
    node = type(y.grad_fn)
    return [node.__name__, node._forward_cls is Twice, Twice._backward_cls is node, y.grad_fn]


@differential
def test_F_01_ctx_is_grad_fn(torch):
    "F-01: ctx, in forward and in backward, is the grad_fn of the outputs, an instance of the node class."
    seen = []
    F = function(torch, lambda ctx, x: (seen.append(ctx), x * 2)[1], lambda ctx, g: (seen.append(ctx), g * 2)[1])
    y = F.apply(leaf(torch, 1.0))
    node = y.grad_fn
    y.sum().backward()
    bases = [isinstance(node, torch.autograd.function.BackwardCFunction), isinstance(node, F._backward_cls)]
    return [seen[0] is node, seen[1] is node, bases, isinstance(node, torch.autograd.graph.Node), node.name()]


@differential
def test_F_01_ids_and_subclasses(torch):
    "F-01: ids are unique and grow; a subclass has its own node class and inherits both formulas."
    A = function(torch, *times(2))
    B = function(torch, *times(3))

    class Child(A):
        pass

    x = leaf(torch, 1.0, 2.0)
    y = Child.apply(x)
    y.sum().backward()
    ids = [c._backward_cls._autograd_function_id for c in (A, B, Child)]
    return [ids == sorted(set(ids)), y.grad_fn, type(y.grad_fn)._forward_cls is Child, y, x.grad]


@differential
def test_F_02_missing_formulas(torch):
    "F-02: a missing forward fails at once, a missing backward only when backward reaches the node."

    class Nothing(torch.autograd.Function):
        pass

    F = function(torch, lambda ctx, x: x * 2)
    x = leaf(torch, 1.0)
    y = F.apply(x)
    return [
        raises("must implement the forward function", Nothing.apply, x),
        y,
        raises("implement either the backward or vjp", y.sum().backward),
    ]


@differential
def test_F_02_instances(torch):
    "F-02: instantiating a Function warns, calling the instance is an error."
    F = function(torch, *times(2))
    categories, instance = warned("should not be instantiated", F)
    return [categories, raises("Legacy autograd function", instance, leaf(torch, 1.0))]


@differential
def test_F_02_class_methods_and_plain_functions(torch):
    "F-02: class methods and plain functions work as well as static methods."

    class ByClass(torch.autograd.Function):
        factor = 4

        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @classmethod
        def backward(cls, ctx, g):
            return g * cls.factor

    class Plain(torch.autograd.Function):
        def forward(ctx, x):
            return x * 5

        def backward(ctx, g):
            return g * 5

    x = leaf(torch, 1.0)
    (ByClass.apply(x) + Plain.apply(x)).sum().backward()
    return x.grad


@differential
def test_F_03_vjp(torch):
    "F-03: vjp is another name for backward; both at once are refused when the node runs."
    x = leaf(torch, 1.0)
    F = function(torch, times(2)[0], vjp=times(2)[1])
    F.apply(x).sum().backward()
    both = function(torch, *times(2), vjp=times(2)[1])
    y = both.apply(x)
    return [x.grad, raises("Implementing both 'backward' and 'vjp'", y.sum().backward)]


@differential
def test_F_04_order_of_steps(torch):
    "F-04: edges and needs_input_grad are there in forward; saved outputs have their history; marks are consumed."
    seen = {}

    def forward(ctx, x, k):
        seen["edges"], seen["needs"] = edges(ctx), ctx.needs_input_grad
        seen["number"] = ctx._sequence_nr()
        inner = (x.detach().requires_grad_() * 2).grad_fn
        seen["inner"] = inner
        y = x * k
        ctx.save_for_backward(y)
        seen["saved"], seen["to_save"] = ctx.saved_tensors, len(ctx.to_save)
        return y

    F = function(torch, forward, lambda ctx, g: (g, None))
    before = (leaf(torch, 1.0) * 2).grad_fn._sequence_nr()
    y = F.apply(leaf(torch, 1.0) * 3, 2)
    number = seen.pop("number") - before
    return [number, seen, y.grad_fn.to_save, y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn]


@differential
def test_F_04_flags_must_be_bool(torch):
    "F-04: the class flags are read before forward runs and must be bool."
    ran = []
    x = leaf(torch, 1.0)
    results = []
    for flag in ("clear_saved_tensors_on_access", "boxed_grads_call"):
        F = function(torch, lambda ctx, x: ran.append(1), times(2)[1], **{flag: 1})
        results.append(raises("must be a bool, got", F.apply, x))
    return [results, ran]


@differential
def test_F_05_keyword_arguments(torch):
    "F-05: keywords are mapped to positions by forward's parameter names."
    a = leaf(torch, 1.0)
    F = function(torch, lambda ctx, x, k=7: x * k, lambda ctx, g, *rest: (g, None))
    bare = function(torch, lambda ctx, x, k=7: x * k, lambda ctx, g: g * 7)
    y, z = F.apply(x=a, k=3), F.apply(k=2, x=a)
    w = bare.apply(x=a)
    w.sum().backward()
    return [y, z, w, edges(y.grad_fn), w.grad_fn.needs_input_grad, a.grad, F.apply(a, k=4)]


@differential
def test_F_05_wrong_keywords(torch):
    "F-05: unknown, repeated, missing and surplus arguments are TypeErrors."
    a = leaf(torch, 1.0)
    F = function(torch, lambda ctx, x, k: x * k, lambda ctx, g: (g, None))
    return [
        raises("unexpected keyword argument", F.apply, a, 3, other=1),
        raises("multiple values for argument", F.apply, a, x=a),
        raises("missing required argument: 'x' (position 0)", F.apply, k=3),
        raises("multiple values for argument", F.apply, a, 3, 4, k=2),
        raises("takes 3 positional arguments but 4 were given", F.apply, a, 3, 4),
    ]


@differential
def test_F_05_too_few_positional(torch):
    "F-05: without keywords Python itself complains about forward's arguments."
    F = function(torch, lambda ctx, x, k: x * k, lambda ctx, g: (g, None))
    return [raises("missing 1 required positional argument", F.apply, leaf(torch, 1.0)), raises("", F.apply)]


@differential
def test_F_06_defaults_with_setup_context(torch):
    "F-06: with setup_context defaults are filled in, and inputs are complete."
    seen = []

    def setup(ctx, inputs, output):
        seen.append(inputs)
        ctx.k = inputs[1]

    F = function(torch, lambda x, k=7, *rest: x * k, lambda ctx, g, *_: (g * ctx.k, None), setup_context=setup)
    x = leaf(torch, 2.0)
    y = F.apply(x)
    y.sum().backward()
    F.apply(k=3, x=x)
    return [len(seen[0]), seen[0][1], y.grad_fn.needs_input_grad, x.grad, seen[1][1]]


@differential
def test_F_06_keyword_only(torch):
    "F-06: a keyword-only parameter does not work with setup_context."

    def forward(x, *, k=2):
        return x * k

    F = function(torch, forward, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: None)
    x = leaf(torch, 1.0)
    return [raises("unexpected keyword argument", F.apply, x, k=3), raises("unexpected keyword argument", F.apply, x)]


@differential
def test_F_07_hidden_tensors(torch):
    "F-07: only arguments that are tensors themselves are tracked."
    x = leaf(torch, 1.0)
    F = function(torch, lambda ctx, items, more: items[0] * 2, lambda ctx, g: (None, None))
    y = F.apply([x], {"x": x})
    return [y, y.grad_fn is None]


@differential
def test_F_07_edges(torch):
    "F-07: one edge per tensor argument, also for tensors that take no gradient; a tensor given twice counts twice."
    x, c = leaf(torch, 1.0), torch.ones(1)
    F = function(torch, lambda ctx, *args: args[0] + args[-1], lambda ctx, g: (2 * g, None, None, None, 3 * g))
    y = F.apply(x, 5, c, "text", x)
    y.sum().backward()
    return [edges(y.grad_fn), y.grad_fn.needs_input_grad, x.grad]


@differential
def test_F_07_executable(torch):
    "F-07: nothing is recorded under no_grad, or if nothing requires grad."
    F = function(torch, *times(2))
    x = leaf(torch, 1.0)
    with torch.no_grad():
        y = F.apply(x)
    z = F.apply(torch.ones(1))
    with torch.inference_mode():
        w = F.apply(x)
    return [y, y.grad_fn is None, z, z.grad_fn is None, w.requires_grad, w.is_inference()]


@differential
def test_F_08_needs_input_grad(torch):
    "F-08: computed from requires_grad alone, the same in forward and backward."
    seen = []

    def forward(ctx, c, x, k):
        seen.append(ctx.needs_input_grad)
        return c * x

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, g, None

    F = function(torch, forward, backward)
    c, x, w = torch.ones(1), leaf(torch, 1.0), leaf(torch, 2.0)
    with torch.no_grad():
        F.apply(c, x, 3)
    F.apply(c, x, 3).sum().backward()
    torch.autograd.grad(F.apply(w, x, 3).sum(), x)
    return seen


@differential
def test_F_08_needs_input_grad_is_assignable(torch):
    "F-08: needs_input_grad can be replaced, also in setup_context and by None."
    seen = []

    def setup(ctx, inputs, output):
        seen.append(ctx.needs_input_grad)
        ctx.needs_input_grad = None

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        ctx.needs_input_grad = (False,)
        seen.append(ctx.needs_input_grad)
        return g

    F = function(torch, lambda x: x * 2, backward, setup_context=setup)
    F.apply(leaf(torch, 1.0)).sum().backward()
    return seen


@differential
def test_F_09_environment(torch):
    "F-09: grad mode is off in forward, and the arguments are the caller's own objects."
    x = leaf(torch, 1.0)
    seen = []

    def forward(ctx, a):
        seen.extend([torch.is_grad_enabled(), a is x, a.requires_grad, (a * 2).requires_grad])
        return a * 2

    y = function(torch, forward, times(2)[1]).apply(x)
    return [seen, torch.is_grad_enabled(), y.requires_grad]


@differential
def test_F_09_grad_mode_inside(torch):
    "F-09: a graph built in forward under enable_grad is not part of the output's history."
    seen = []

    def forward(ctx, a):
        with torch.enable_grad():
            b = a * 2
            seen.append(b.grad_fn)
        return b

    x = leaf(torch, 1.0)
    y = function(torch, forward, lambda ctx, g: g * 10).apply(x)
    y.sum().backward()
    return [seen, graph_of(y.grad_fn), x.grad]


@differential
def test_F_09_nested_apply(torch):
    "F-09: a Function used inside another one's forward records nothing."
    inner = function(torch, lambda ctx, x: (seen.append(ctx.needs_input_grad), x * 2)[1], lambda ctx, g: 1 / 0)
    seen = []

    def forward(ctx, x):
        y = inner.apply(x)
        seen.extend([y.grad_fn, y.requires_grad])
        return y * 3

    x = leaf(torch, 1.0)
    y = function(torch, forward, lambda ctx, g: g * 6).apply(x)
    y.sum().backward()
    return [seen, graph_of(y.grad_fn), x.grad]


@differential
def test_F_09_mode_after_an_error(torch):
    "F-09: grad mode is back after forward, setup_context or backward raised."
    x = leaf(torch, 1.0)
    failing = function(torch, lambda ctx, x: 1 / 0)
    in_setup = function(torch, lambda x: x * 2, setup_context=lambda ctx, inputs, output: 1 / 0)
    in_backward = function(torch, times(2)[0], lambda ctx, g: 1 / 0).apply(x)
    seen = [raises("division", failing.apply, x), torch.is_grad_enabled()]
    seen += [raises("division", in_setup.apply, x), torch.is_grad_enabled()]
    seen += [raises("division", in_backward.sum().backward), torch.is_grad_enabled()]
    return [*seen, (x * 2).requires_grad]


@differential
def test_F_09_a_function_that_runs_backward(torch):
    "F-09: forward and backward may run a backward of their own (reentrant use)."

    def gradient(x):
        with torch.enable_grad():
            a = x.detach().requires_grad_()
            (a**3).sum().backward()
        return a.grad

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return gradient(x)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * gradient(x)

    x = leaf(torch, 1.0, 2.0)
    y = function(torch, forward, backward).apply(x * 2)
    y.sum().backward()
    return [y, x.grad]


@differential
def test_F_10_setup_context(torch):
    "F-10: forward gets no ctx; setup_context sees all inputs and the raw output with grad mode off."
    seen = []

    def setup(ctx, inputs, output):
        seen.extend([type(inputs).__name__, inputs[0] is x, inputs[1], output.grad_fn, torch.is_grad_enabled()])
        ctx.save_for_backward(output)
        return "ignored"

    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        seen.extend([y.grad_fn is ctx, y])
        return g * y, None

    x = leaf(torch, 1.0)
    y = function(torch, lambda x, k: x * k, backward, setup_context=setup).apply(x, 3)
    y.sum().backward()
    return [seen, y, x.grad]


@differential
def test_F_10_raw_outputs(torch):
    "F-10: several outputs reach setup_context as the tuple that forward returned."
    seen = []

    def setup(ctx, inputs, output):
        seen.extend([type(output).__name__, len(output), output[1]])

    F = function(torch, lambda x: (x * 2, "text"), lambda ctx, g, _: g * 2, setup_context=setup)
    y, text = F.apply(leaf(torch, 1.0))
    return [seen, y, text]


@differential
def test_F_10_base_setup_context(torch):
    "F-10: the base class's setup_context and backward and jvp are not implemented."
    base = torch.autograd.Function
    return [
        raises("setup_context is not implemented", base.setup_context, None, (), None),
        raises("backward or vjp", base.backward, None),
        raises("backward or vjp", base.vjp, None),
        raises("jvp function", base.jvp, None),
        raises("forward function", base.forward),
    ]
