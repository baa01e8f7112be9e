"""Custom Functions: less usual uses of SPEC rows F-25 to F-36, lifetimes and saved values of every kind."""

from __future__ import annotations

import contextlib
import gc
import weakref

from both_engines import differential, raises, warned
from custom_functions import function, leaf, times


@contextlib.contextmanager
def no_collector():
    """The cycle collector is off inside, so only reference counts free anything."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _saving(torch, choose, backward=None):
    """A Function ``x -> x * 2`` that saves what ``choose(x, y)`` returns, a tuple."""

    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(*choose(x, y))
        return y

    return function(torch, forward, backward or (lambda ctx, g: (ctx.saved_tensors, g * 2)[1]))


@differential
def test_F_25_save_for_backward(torch):
    "F-25: tensors and None are saved in order, and the last call of save_for_backward wins."

    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x)
            ctx.save_for_backward(w, None, x)
            return x * w

        @staticmethod
        def backward(ctx, g):
            w, nothing, x = ctx.saved_tensors
            assert nothing is None
            return g * w, g * x

    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    Saves.apply(x, w).sum().backward()
    return [x.grad, w.grad]


@differential
def test_F_25_refused_values(torch):
    "F-25: what is no tensor is refused after forward, with its position, and only when recording."
    found = []
    for values in ((1,), (None, "a"), ([1],), (2.0,)):
        F = _saving(torch, lambda x, y, values=values: values)
        found.append(raises("save_for_backward can only save variables, but argument", F.apply, leaf(torch, 1.0)))
        found.append(F.apply(torch.ones(1)))
        with torch.no_grad():
            found.append(F.apply(leaf(torch, 1.0)))
    return found


@differential
def test_F_25_nothing_saved(torch):
    "F-25: save_for_backward without arguments, and none at all."
    F = _saving(torch, lambda x, y: ())
    y = F.apply(leaf(torch, 1.0))
    z = function(torch, *times(2)).apply(leaf(torch, 1.0))
    return [y.grad_fn.saved_tensors, z.grad_fn.saved_tensors, y.grad_fn.to_save, z.grad_fn.to_save]


@differential
def test_F_25_saved_in_backward(torch):
    "F-25: save_for_backward called in backward has no effect on this node."

    def backward(ctx, g):
        ctx.save_for_backward(g)
        return g * len(ctx.saved_tensors)

    x = leaf(torch, 1.0)
    y = _saving(torch, lambda x, y: (x,), backward).apply(x)
    y.sum().backward(retain_graph=True)
    return [x.grad, len(y.grad_fn.saved_tensors)]


@differential
def test_F_25_the_same_tensor_twice(torch):
    "F-25: inputs, outputs and intermediates may be saved several times and in any order."
    x = leaf(torch, 1.0)
    y = _saving(torch, lambda x, y: (y, x, y, None, x, y + 1)).apply(x)
    saved = y.grad_fn.saved_tensors
    connected = [s is x for s in saved if s is not None] + [s.grad_fn for s in saved if s is not None]
    return [list(saved), connected, saved[0] is y, saved[0] is saved[2]]


@differential
def test_F_26_output_dies_without_the_collector(torch):
    "F-26: saving an output makes no reference cycle; keeping it as attribute does."
    found = []
    with no_collector():
        y = _saving(torch, lambda x, y: (x, y, y * 2)).apply(leaf(torch, 1.0))
        tensor, node = weakref.ref(y), weakref.ref(y.grad_fn)
        del y
        found.append([tensor() is None, node() is None])

        def forward(ctx, x):
            ctx.y = x * 2
            return ctx.y

        z = function(torch, forward, times(2)[1]).apply(leaf(torch, 1.0))
        tensor = weakref.ref(z)
        del z
        found.append(tensor() is None)
    gc.collect()
    return [*found, tensor() is None]


@differential
def test_F_26_graph_dies_without_the_collector(torch):
    "F-26: a chain of Functions dies with its last output, and what it saved dies after backward."
    F = _saving(torch, lambda x, y: (x, y))
    with no_collector():
        x = leaf(torch, 1.0)
        y = F.apply(x)
        middle = weakref.ref(y)
        y = F.apply(y)
        y = F.apply(y)
        before = middle() is None
        y.sum().backward()
        after = middle() is None
        node = weakref.ref(y.grad_fn)
        del y
        return [before, after, node() is None, x.grad]


@differential
def test_F_26_inputs_live_as_long_as_saved(torch):
    "F-26: a saved input lives until the node is released; one that was not saved dies at once."
    with no_collector():
        found = []
        for choose in (lambda x, y: (x,), lambda x, y: (y,)):
            a = leaf(torch, 1.0) * 1
            ref = weakref.ref(a)
            out = _saving(torch, choose).apply(a).sum()
            del a
            alive = ref() is not None
            out.backward()
            found.append([alive, ref() is not None])
        return found


@differential
def test_F_26_saved_tensor_hooks(torch):
    "F-26: hooks pack inputs, outputs and intermediates in order, and unpack them at each access."
    log = []
    names = {1.0: "x", 2.0: "y", 3.0: "z"}

    def pack(t):
        log.append(["pack", names[float(t.sum())]])
        return t.clone()

    def unpack(t):
        log.append(["unpack", names[float(t.sum())]])
        return t

    x = leaf(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = _saving(torch, lambda x, y: (y, None, x, y + 1)).apply(x)
    first, _, second, third = y.grad_fn.saved_tensors
    connected = [first.grad_fn is y.grad_fn, second.is_leaf, second.requires_grad, second is x, third.requires_grad]
    y.sum().backward()
    return [log, connected]


@differential
def test_F_26_double_backward_through_hooks(torch):
    "F-26: values that hooks rebuilt are connected, so second derivatives work."

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    F = function(torch, forward, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g)
    x = leaf(torch, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = F.apply(x * 1)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return [g, *torch.autograd.grad(g.sum(), x)]


@differential
def test_F_27_access_at_every_stage(torch):
    "F-27: empty during forward, full afterwards, unpacked anew at each access, gone after release."
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        seen.append(ctx.saved_tensors)
        return x * 2

    x = leaf(torch, 1.0)
    y = function(torch, forward, times(2)[1]).apply(x)
    one, two = y.grad_fn.saved_tensors, y.grad_fn.saved_tensors
    seen += [type(one).__name__, one[0] is x, one[0] is two[0]]
    y.sum().backward()
    return [seen, raises("second time", lambda: y.grad_fn.saved_tensors)]


@differential
def test_F_28_message_parts(torch):
    "F-28: the message names type, shape, where the tensor came from, and both versions."

    def attempt(phrase, make, choose=lambda x, y: (x,), write=lambda x, y: x.mul_(2)):
        x = make()
        y = _saving(torch, choose).apply(x)
        with torch.no_grad():
            write(x, y)
        return raises(phrase, y.backward, torch.ones_like(y))

    def interior(dtype=torch.float32, k=1):
        return lambda: torch.ones(2, dtype=dtype, requires_grad=True) * k

    return [
        attempt("modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of Mul", interior()),
        attempt("is at version 1; expected version 0 instead", interior()),
        attempt("Hint: enable anomaly detection", interior()),
        attempt("set_detect_anomaly(True, check_nan=False)", interior()),
        attempt("[torch.DoubleTensor [2]]", interior(torch.float64)),
        attempt("[CPUComplexFloatType [2]]", interior(torch.complex64)),
        attempt("[torch.FloatTensor [2]] is at version 1", lambda: torch.ones(2, requires_grad=True)),
        attempt("output 0 of F", interior(), lambda x, y: (y,), lambda x, y: y.mul_(2)),
        attempt("is at version 2; expected version 0", interior(), write=lambda x, y: x.mul_(2).add_(1)),
        attempt("[torch.FloatTensor [2]]", interior(), write=lambda x, y: x[:1].zero_()),
        attempt("[torch.FloatTensor [2]]", interior(), write=lambda x, y: x.detach().zero_()),
    ]


@differential
def test_F_28_other_arguments(torch):
    "F-28: tensors that take no gradient are checked too, of every dtype."

    def forward(ctx, x, other):
        ctx.save_for_backward(other)
        return x * 2

    F = function(torch, forward, lambda ctx, g: (ctx.saved_tensors, (g, None))[1])
    found = []
    for other, phrase in (
        (torch.arange(3), "[torch.LongTensor [3]] is at version 1; expected version 0"),
        (torch.ones(2) > 0, "[CPUBoolType [2]] is at version"),
        (torch.ones(()), "[torch.FloatTensor []] is at version"),
        (torch.ones(2, 3, dtype=torch.float64), "[torch.DoubleTensor [2, 3]]"),
    ):
        y = F.apply(leaf(torch, 1.0), other)
        other.zero_()
        found.append(raises(phrase, y.sum().backward))
    return found


@differential
def test_F_28_write_before_apply_ends(torch):
    "F-28: a write in forward after save_for_backward does not count, since the record is made at the end."

    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(y)
        y.add_(1)
        return y

    x = leaf(torch, 1.0)
    F = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    F.apply(x).sum().backward()
    return x.grad


@differential
def test_F_28_hint_under_anomaly_mode(torch):
    "F-28: under anomaly mode the hint points to the backtrace."
    x = leaf(torch, 1.0) * 1

    def attempt():
        with torch.autograd.set_detect_anomaly(True):
            y = _saving(torch, lambda x, y: (x,)).apply(x)
            with torch.no_grad():
                x.add_(1)
            return raises("backtrace further above shows the operation that failed", y.sum().backward)

    categories, kind = warned("Error detected in FBackward", attempt)
    return [categories, kind]


@differential
def test_F_28_not_checked(torch):
    "F-28: attributes, data writes and values under hooks are not checked."

    def by_attribute(ctx, x):
        ctx.x = x
        return x * 2

    def run(F, write, hooks):
        x = leaf(torch, 1.0)
        a = x * 1
        with hooks:
            y = F.apply(a)
        with torch.no_grad():
            write(a)
        y.sum().backward()
        return x.grad

    saved = _saving(torch, lambda x, y: (x,), lambda ctx, g: g * ctx.saved_tensors[0])
    attribute = function(torch, by_attribute, lambda ctx, g: g * ctx.x)
    return [
        run(attribute, lambda a: a.add_(4), contextlib.nullcontext()),
        run(saved, lambda a: a.data.add_(4), contextlib.nullcontext()),
        run(saved, lambda a: a.add_(4), torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)),
    ]


@differential
def test_F_30_partial_passes(torch):
    "F-30: nodes that a pass skipped keep what they saved."
    F = _saving(torch, lambda x, y: (x,), lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(torch, 3.0)
    a = F.apply(x)
    b = F.apply(a)
    (first,) = torch.autograd.grad(b.sum(), a)
    (second,) = torch.autograd.grad(a.sum(), x)
    message = "Trying to backward through the graph a second time (or directly access saved tensors after they have "
    return [first, second, raises(message, a.sum().backward), raises(message, b.sum().backward)]


@differential
def test_F_30_shared_subgraph(torch):
    "F-30: two losses over one Function need retain_graph for the first."
    F = _saving(torch, lambda x, y: (x,), lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(torch, 3.0)
    y = F.apply(x)
    one, two = y.sum(), (y * 2).sum()
    one.backward()
    return [x.grad, raises("retain_graph=True", two.backward)]


@differential
def test_F_33_any_attribute(torch):
    "F-33: attributes of any name are the user's, also such as an engine might use itself."
    names = [
        "edges", "number", "extra", "sigs", "run", "release", "node", "inputs", "outputs", "saved", "grad",
        "task", "hooks", "op", "kind", "args", "kwargs", "shape", "dtype", "device", "scale", "mask", "size",
        "index", "alpha", "eps", "training", "state", "values", "data", "version", "owner", "key", "_private",
    ]  # fmt: skip

    def forward(ctx, x):
        for i, name in enumerate(names):
            setattr(ctx, name, i)
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        assert ctx.saved_tensors[0] is x
        return g * sum(getattr(ctx, name) for name in names)

    x = leaf(torch, 1.0)
    y = function(torch, forward, backward).apply(x)
    y.grad_fn.register_hook(lambda gi, go: None)
    (y * 3).sum().backward()
    return [
        x.grad,
        y.grad_fn.number,
        y.grad_fn.edges,
        [n.name() for n, _ in y.grad_fn.next_functions],
        vars(y.grad_fn)["run"],
    ]


@differential
def test_F_33_built_in_fields(torch):
    "F-33: the built-in fields, which may be read and which may not be written."
    y = function(torch, *times(2)).apply(leaf(torch, 1.0))
    node = y.grad_fn

    def write(name, value):
        setattr(node, name, value)

    readable = [
        node.to_save,
        node.dirty_tensors,
        node.non_differentiable,
        node.saved_for_forward,
        node.needs_input_grad,
    ]
    return [
        readable,
        node.requires_grad,
        node.metadata,
        raises("", lambda: node.materialize_grads),
        raises("", write, "next_functions", ()),
        raises("", write, "saved_tensors", ()),
        raises("", write, "requires_grad", False),
        raises("", write, "metadata", {}),
    ]


@differential
def test_F_33_fields_written_directly(torch):
    "F-33: to_save, dirty_tensors and non_differentiable may be assigned instead of the methods."

    def forward(ctx, x, w):
        y = w * 2
        ctx.to_save = (x,)
        ctx.dirty_tensors = (x,)
        ctx.non_differentiable = (y,)
        ctx.materialize_grads = False
        return x.add_(1), y

    seen = []

    def backward(ctx, g, h):
        seen.append(h)
        return g * ctx.saved_tensors[0], None

    x = leaf(torch, 1.0)
    a, b = function(torch, forward, backward).apply(x * 1, torch.ones(1))
    a.sum().backward()
    return [x.grad, b.requires_grad, seen]


@differential
def test_F_34_once_only(torch):
    "F-34: after the first access every other fails, even with retain_graph; the raw handles too."
    x = leaf(torch, 2.0)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        found.append(raises("saved_tensors can only be accessed once", lambda: ctx.saved_tensors))
        return g * x

    found = []
    y = function(torch, forward, backward, clear_saved_tensors_on_access=True).apply(x)
    y.sum().backward(retain_graph=True)
    found.append(raises("saved_tensors can only be accessed once", y.sum().backward))
    return [found, x.grad]


@differential
def test_F_34_frees_the_value(torch):
    "F-34: the value is free as soon as backward drops it."
    alive = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        ref = weakref.ref(x)
        del x
        alive.append(ref() is not None)
        return g

    with no_collector():
        for flag in (False, True):
            F = function(torch, forward, backward, clear_saved_tensors_on_access=flag)
            a = leaf(torch, 1.0) * 1
            out = F.apply(a).sum()
            del a
            out.backward()
    return alive


@differential
def test_F_35_maybe_clear(torch):
    "F-35: a no-op where the task retains the graph, and outside of any backward a decision of its own."

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        ctx.maybe_clear_saved_tensors()
        try:
            found.append(len(ctx.saved_tensors))
        except RuntimeError as error:
            found.append("second time" in str(error))
        return g * x

    found = []
    x = leaf(torch, 2.0)
    y = function(torch, forward, backward).apply(x)
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x, create_graph=True)
    y.sum().backward()
    return [found, x.grad]


@differential
def test_F_36_raw_handles(torch):
    "F-36: saved_variables warns; handles give data, can be given hooks once, and cannot be made by hand."
    x = leaf(torch, 2.0)
    y = _saving(torch, lambda x, y: (x, None, y)).apply(x)
    categories, values = warned("deprecated", lambda: y.grad_fn.saved_variables)
    one, _, three = y.grad_fn._raw_saved_tensors
    one.register_hooks(lambda t: t.detach().clone(), lambda t: t * 1)
    again = raises("", one.register_hooks, lambda t: t, lambda t: t)
    a, b, c = y.grad_fn.saved_tensors
    return [
        categories,
        len(values),
        type(one).__name__,
        again,
        a is x,
        a,
        b,
        c.grad_fn is y.grad_fn,
        three.data,
        raises("forbidden", type(one)),
    ]


@differential
def test_F_36_handles_after_release(torch):
    "F-36: after release handles are an error like saved_tensors."
    x = leaf(torch, 2.0)
    y = _saving(torch, lambda x, y: (x,)).apply(x)
    y.sum().backward()
    return [
        raises("second time", lambda: y.grad_fn._raw_saved_tensors),
        warned("", lambda: raises("second time", lambda: y.grad_fn.saved_variables))[1],
    ]
