"""Custom Functions: less usual uses of SPEC rows F-37 to F-47, and the names of F-50 to F-53."""

from __future__ import annotations

import gc
import weakref

from both_engines import differential, raises
from custom_functions import function, leaf, times


@differential
def test_F_37_calling_backward(torch):
    "F-37: backward gets one gradient per output and may return a bare tensor for its only input."
    seen = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b))
            return 2 * a + 3 * b

    x = torch.ones(2, requires_grad=True)
    p, q = Both.apply(x)
    (p.sum() + 5 * q.sum()).backward()
    return [x.grad, seen]


@differential
def test_F_37_direct_call_of_the_node(torch):
    "F-37: the node's own apply calls backward with gradients as they are."
    F = function(torch, lambda ctx, x, k: x * k, lambda ctx, g: (g * 2, None))
    y = F.apply(leaf(torch, 1.0), 2)
    g = torch.tensor([3.0])
    return y.grad_fn.apply(g)


@differential
def test_F_37_gradients_are_shared_objects(torch):
    "F-37: an identity backward may return the very gradient it got, for several inputs."
    F = function(torch, lambda ctx, x, w: x + w, lambda ctx, g: (g, g))
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    y = F.apply(x, w)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return [x.grad, w.grad, x.grad is w.grad]


@differential
def test_F_37_saved_value_as_gradient(torch):
    "F-37: a saved tensor returned as gradient is not changed by later accumulation."
    weight = torch.tensor([5.0])

    def forward(ctx, x):
        ctx.save_for_backward(weight)
        return x * weight

    x = leaf(torch, 1.0)
    F = function(torch, forward, lambda ctx, g: ctx.saved_tensors[0])
    for _ in range(3):
        F.apply(x).sum().backward()
    return [x.grad, weight, x.grad is weight]


@differential
def test_F_37_grad_mode_of_the_task(torch):
    "F-37: grad mode in backward is create_graph, also in a backward that starts another backward."
    seen = []

    def backward(ctx, g):
        seen.append(torch.is_grad_enabled())
        with torch.enable_grad():
            a = leaf(torch, 2.0)
            (a * a).sum().backward()
        seen.append([torch.is_grad_enabled(), a.grad])
        return g

    F = function(torch, lambda ctx, x: x * 1, backward)
    x = leaf(torch, 1.0)
    F.apply(x).sum().backward()
    with torch.no_grad():
        y = x * 1
    with torch.enable_grad():
        y = F.apply(x)
    torch.autograd.grad(y.sum(), x, create_graph=True)
    return seen


@differential
def test_F_37_state_that_backward_changes(torch):
    "F-37: ctx is the same object in every pass, so what backward stores is there next time."

    def backward(ctx, g):
        ctx.count = getattr(ctx, "count", 0) + 1
        return g * ctx.count

    x = leaf(torch, 1.0)
    y = function(torch, lambda ctx, x: x * 1, backward).apply(x)
    out = y.sum()
    out.backward(retain_graph=True)
    out.backward()
    return [x.grad, y.grad_fn.count]


@differential
def test_F_37_numpy_inside(torch):
    "F-37: forward and backward may leave the engine for NumPy and come back."

    def forward(ctx, x):
        array = x.detach().numpy()
        ctx.array = array
        return torch.from_numpy(array**3)

    x = leaf(torch, 1.0, 2.0)
    F = function(torch, forward, lambda ctx, g: g * torch.from_numpy(3 * ctx.array**2))
    F.apply(x).sum().backward()
    return x.grad


@differential
def test_F_38_zeros_of_every_kind(torch):
    "F-38: zeros have shape and dtype of the output, are contiguous and their own object each."
    seen = []

    def forward(ctx, x):
        return x.sum(), x.double().t(), x[:0], x.to(torch.complex64), x * 2

    def backward(ctx, *grads):
        seen.extend([[g, list(g.stride()), g.is_contiguous(), g.requires_grad] for g in grads])
        return grads[-1] * 2

    x = torch.ones(2, 3, requires_grad=True)
    function(torch, forward, backward).apply(x)[-1].sum().backward()
    return [x.grad, seen]


@differential
def test_F_38_materialisation_in_backward(torch):
    "F-38: the switch may be set in setup_context too, and outside as an attribute."
    seen = []

    def setup(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    def backward(ctx, a, b):
        seen.append([a is None, b is None])
        return a if b is None else b

    F = function(torch, lambda x: (x * 1, x * 2), backward, setup_context=setup)
    x = leaf(torch, 1.0)
    F.apply(x)[0].sum().backward()
    F.apply(x)[1].sum().backward()
    return [seen, x.grad]


@differential
def test_F_38_whole_node_without_gradient(torch):
    "F-38: a node that gets no gradient at all still runs, with zeros."
    seen = []

    def backward(ctx, g):
        seen.append(g)
        return g + 1

    F = function(torch, lambda ctx, x: x * 1, backward)
    nothing = function(torch, lambda ctx, x: x * 1, lambda ctx, g: None)
    x = leaf(torch, 1.0)
    nothing.apply(F.apply(x)).sum().backward()
    return [seen, x.grad]


@differential
def test_F_39_no_inputs_at_all(torch):
    "F-39: arguments that are no tensors still need their None."
    F = function(torch, lambda ctx, x, *rest: x * 1, lambda ctx, g: (g, None, None))
    x = leaf(torch, 1.0)
    F.apply(x, 1, "a").sum().backward()
    F.apply(x, 1).sum().backward()
    return [x.grad, raises("expected 4, got 3", F.apply(x, 1, 2, 3).sum().backward)]


@differential
def test_F_40_numpy_and_subclasses(torch):
    "F-40: other array types are no gradients."
    import numpy as np

    x = leaf(torch, 1.0)
    F = function(torch, lambda ctx, x: x * 1, lambda ctx, g: np.ones(1, np.float32))
    return raises("expected Variable or None (got ", F.apply(x).sum().backward)


@differential
def test_F_41_zero_sized(torch):
    "F-41: empty gradients follow the same rules."
    x = torch.ones(0, 3, requires_grad=True)
    F = function(torch, lambda ctx, x: x.sum(), lambda ctx, g: torch.ones(2, 0, 3))
    F.apply(x).backward()
    wrong = function(torch, lambda ctx, x: x.sum(), lambda ctx, g: torch.ones(0, 2))
    return [x.grad, raises("invalid gradient at index 0", wrong.apply(x).backward)]


@differential
def test_F_41_second_gradient(torch):
    "F-41: the index counts the outgoing edges, and the message names the shapes."
    F = function(torch, lambda ctx, x, k, w: x + w, lambda ctx, g: (g, None, torch.ones(4)))
    out = F.apply(leaf(torch, 1.0, 1.0), 3, leaf(torch, 1.0, 1.0)).sum()
    return raises(
        "FBackward returned an invalid gradient at index 1 - got [4] but expected shape compatible with [2]",
        out.backward,
    )


@differential
def test_F_42_cast_under_create_graph(torch):
    "F-42: a cast or a reduction that validation makes is recorded under create_graph."
    F = function(torch, lambda ctx, x: x * 1, lambda ctx, g: g.double().expand(3, 2) * 2)
    x = leaf(torch, 1.0, 2.0)
    v = leaf(torch, 3.0, 4.0)
    (g,) = torch.autograd.grad(F.apply(x), x, v, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), v)
    return [g, g.dtype, h]


@differential
def test_F_43_hooks_see_and_replace(torch):
    "F-43: a post hook registered on ctx in forward may replace gradients; a prehook feeds backward."
    seen = []

    def forward(ctx, x):
        ctx.register_prehook(lambda grads: (grads[0] * 10,))
        ctx.register_hook(lambda gi, go: (gi[0] + 1,))
        return x * 1

    def backward(ctx, g):
        seen.append(g)
        return g

    x = leaf(torch, 1.0)
    function(torch, forward, backward).apply(x).sum().backward()
    return [seen, x.grad]


@differential
def test_F_43_wrong_hook_results(torch):
    "F-43: hooks that return the wrong number or kind."

    def attempt(kind, result):
        y = function(torch, lambda ctx, x: x * 1, lambda ctx, g: g).apply(leaf(torch, 1.0))
        getattr(y.grad_fn, kind)(lambda *grads: result)
        return y.sum().backward

    g = torch.ones(1)
    return [
        raises("", attempt("register_hook", (g, g))),
        raises("", attempt("register_prehook", (g, g))),
        raises("", attempt("register_hook", 3)),
        raises("", attempt("register_prehook", (3,))),
    ]


@differential
def test_F_43_removing_handles(torch):
    "F-43: a removed hook does not fire."
    log = []
    y = function(torch, *times(2)).apply(leaf(torch, 1.0))
    a = y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    b = y.grad_fn.register_prehook(lambda go: log.append("pre"))
    y.sum().backward(retain_graph=True)
    a.remove()
    y.sum().backward(retain_graph=True)
    b.remove()
    y.sum().backward()
    return log


@differential
def test_F_44_several_results(torch):
    "F-44: tuples, None and integer results of a once-differentiable backward."
    once = torch.autograd.function.once_differentiable
    F = function(torch, lambda ctx, x, k, w: x * w, once(lambda ctx, g: (g * 2, None, g * 3)))
    x, w, v = leaf(torch, 1.0), leaf(torch, 2.0), leaf(torch, 1.0)
    first, second = torch.autograd.grad(F.apply(x, 5, w), (x, w), v, create_graph=True)
    names = [first.grad_fn, second.grad_fn, first.output_nr, second.output_nr, first.requires_grad]
    message = "trying to differentiate twice a function that was marked with @once_differentiable"
    return [first, second, names, raises(message, (first + second).sum().backward)]


@differential
def test_F_44_without_create_graph(torch):
    "F-44: without create_graph, and in a direct call, it is the plain function; its name and docs are kept."
    once = torch.autograd.function.once_differentiable

    def formula(ctx, g):
        "doubles"
        return g * 2

    wrapped = once(formula)
    x = leaf(torch, 1.0)
    function(torch, times(2)[0], wrapped).apply(x).sum().backward()
    with torch.no_grad():
        direct = wrapped(None, leaf(torch, 1.0))
    linked = wrapped(None, leaf(torch, 1.0))
    return [x.grad, wrapped.__name__, wrapped.__doc__, direct, linked.grad_fn]


@differential
def test_F_45_third_order(torch):
    "F-45: derivatives of any order through saved inputs and outputs."

    def forward(ctx, x):
        y = x.exp() * x
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (y + x.exp())

    x = leaf(torch, 0.5)
    out = function(torch, forward, backward).apply(x).sum()
    found = []
    for _ in range(4):
        (out,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        found.append(out)
    return found


@differential
def test_F_45_backward_that_uses_a_function(torch):
    "F-45: a backward that applies another Function can be differentiated with that one's formula."

    class CubeGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return 3 * x * x * g

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return 3 * x * x * gg, 6 * x * g * gg * 100

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return CubeGradient.apply(g, ctx.saved_tensors[0])

    x = leaf(torch, 2.0)
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return [g, g.grad_fn, h]


@differential
def test_F_45_attributes_connect_as_well(torch):
    "F-45: an input kept as attribute is connected too, but an intermediate is a constant."

    def forward(ctx, x):
        ctx.x = x
        ctx.square = x * x
        return x**3

    def by_input(ctx, g):
        return 3 * ctx.x * ctx.x * g

    def by_intermediate(ctx, g):
        return 3 * ctx.square * g

    x = leaf(torch, 2.0)
    found = []
    for backward in (by_input, by_intermediate):
        (g,) = torch.autograd.grad(function(torch, forward, backward).apply(x).sum(), x, create_graph=True)
        found += [g, g.requires_grad]
        if g.requires_grad:
            found += torch.autograd.grad(g.sum(), x, allow_unused=True)
    return found


@differential
def test_F_46_boxed_list(torch):
    "F-46: the boxed list is mutable and holds every gradient, also in a direct call of the node."
    seen = []

    def backward(ctx, grads):
        seen.append([type(grads).__name__, len(grads)])
        a = grads.pop()
        return a * 2 + grads.pop()

    F = function(torch, lambda ctx, x: (x * 1, x * 2), backward, boxed_grads_call=True)
    x = leaf(torch, 1.0)
    p, q = F.apply(x)
    (p + q).sum().backward()
    g = torch.ones(1)
    return [seen, x.grad, p.grad_fn.apply(g, g)]


@differential
def test_F_47_unusual_exceptions(torch):
    "F-47: exceptions that are no Exception subclasses surface unchanged, and the graph can be used again."

    class Stop(BaseException):
        pass

    fail = [True]

    def backward(ctx, g):
        if fail[0]:
            raise Stop("now")
        return g * 2

    x, early = leaf(torch, 1.0), leaf(torch, 1.0)
    out = (function(torch, times(2)[0], backward).apply(x) + early).sum()
    try:
        out.backward(retain_graph=True)
    except Stop as stop:
        caught = [type(stop).__name__, str(stop), stop.__cause__ is None]
    fail[0] = False
    first = early.grad.clone() if early.grad is not None else None
    out.backward()
    return [caught, first, x.grad, early.grad]


@differential
def test_F_47_the_very_exception_object(torch):
    "F-47: the object that was raised is the object that is caught."
    error = KeyError("mine")

    def backward(ctx, g):
        raise error

    try:
        function(torch, times(2)[0], backward).apply(leaf(torch, 1.0)).sum().backward()
    except KeyError as caught:
        return [caught is error, str(caught)]
    return None


@differential
def test_F_47_exception_in_a_nested_backward(torch):
    "F-47: an exception in a backward inside a backward passes through both."

    def inner(ctx, g):
        raise ValueError("deep")

    def outer(ctx, g):
        with torch.enable_grad():
            function(torch, times(2)[0], inner).apply(leaf(torch, 1.0)).sum().backward()

    x = leaf(torch, 1.0)
    found = raises("deep", function(torch, times(2)[0], outer).apply(x).sum().backward)
    (x * 2).sum().backward()
    return [found, x.grad, torch.is_grad_enabled()]


@differential
def test_F_47_nodes_die_after_an_error(torch):
    "F-47: after a failed backward nothing keeps the graph alive."

    def backward(ctx, g):
        raise ValueError("no")

    x = leaf(torch, 1.0)
    y = function(torch, times(2)[0], backward).apply(x)
    node = weakref.ref(y.grad_fn)
    raises("no", y.sum().backward)
    del y
    gc.collect()
    return node() is None


@differential
def test_F_50_vmap_attributes(torch):
    "F-50: the vmap method and the switch for a generated rule exist."
    F = function(torch, *times(2))
    return [F.generate_vmap_rule, callable(F.vmap), raises("", F.vmap, None, (0,), torch.ones(2))]


def test_F_50_no_batching_transform():
    """F-50: a custom Function without a rule for vmap says what it takes."""
    import retrograd as torch

    F = function(torch, *times(2))
    assert raises("override the vmap staticmethod", F.vmap, None, (0,), torch.ones(2)) == "NotImplementedError"


@differential
def test_F_51_legacy_surface(torch):
    "F-51: InplaceFunction keeps its flag; mark_shared_storage warns; is_traceable is gone."
    from both_engines import warned

    F = type("Old", (torch.autograd.function.InplaceFunction,), {})
    _, instance = warned("should not be instantiated", F, inplace=True)
    y = function(torch, *times(2)).apply(leaf(torch, 1.0))
    categories, _ = warned("`mark_shared_storage` is deprecated", y.grad_fn.mark_shared_storage, (1, 2))
    return [instance.inplace, categories, hasattr(F, "is_traceable"), issubclass(F, torch.autograd.Function)]


@differential
def test_F_51_nested_io_function(torch):
    "F-51: NestedIOFunction can be named and subclassed."
    return issubclass(torch.autograd.function.NestedIOFunction, torch.autograd.Function)


@differential
def test_F_52_sequence_number(torch):
    "F-52: the number that links forward and backward records is known in forward."
    seen = []
    F = function(torch, lambda ctx, x: (seen.append(ctx._sequence_nr()), x * 2)[1], times(2)[1])
    y = F.apply(leaf(torch, 1.0))
    return seen[0] == y.grad_fn._sequence_nr()


@differential
def test_F_53_names_without_eager_effect(torch):
    "F-53: nothing of the compiler's and tracer's state shows in eager use: apply works under every eager mode."
    x = leaf(torch, 1.0)
    F = function(torch, *times(2))
    with torch.autograd.set_detect_anomaly(True), torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        F.apply(x).sum().backward()
    return x.grad


@differential
def test_F_44_slots_of_missing_gradients(torch):
    """F-44: the node behind a backward that is differentiated once has a place for each gradient, also for ``None``."""
    once = torch.autograd.function.once_differentiable

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, k, b):
            ctx.k = k
            ctx.save_for_backward(a, b)
            return a + k * b + a * b

        @staticmethod
        @once
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g + g * b, None, g * ctx.k + g * a

    x, y, g = (torch.ones(2, requires_grad=True) for _ in range(3))
    found = torch.autograd.grad(Scaled.apply(x, 2, y), (x, y), g, create_graph=True)
    return [[type(f).__name__ if f is not None else None for f, _ in t.grad_fn.next_functions] for t in found]


@differential
def test_F_20_dirty_views_that_are_no_inputs(torch):
    """F-20: marking what is no input warns, and is refused for views, which would have to go on with its history."""

    def apply(make):
        class Marked(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                out = make(x)
                ctx.mark_dirty(out)
                return out

            @staticmethod
            def backward(ctx, g):
                return g

        return Marked.apply(torch.ones(1, requires_grad=True).clone())

    message = "received a tensor that was not an input"
    return [
        raises(message, apply, lambda x: x.clone().view(1)),
        raises(message, apply, lambda x: torch.ones(1).view(1)),
    ]
