"""SPEC rows F-25 to F-36: what a custom Function saves, checks and releases."""

from __future__ import annotations

import gc
import weakref

from both_engines import differential, raises, warned
from custom_functions import custom

SECOND = "Trying to backward through the graph a second time"


def _keeping(torch, *which, **flags):
    """x * 2, saving what the names say; backward reads the saved tensors."""

    def forward(ctx, x):
        values = {"input": x, "middle": x.exp(), "none": None}
        values["output"] = x * 2
        ctx.save_for_backward(*[values[w] for w in which])
        return values["output"]

    def backward(ctx, g):
        ctx.saved_tensors
        return g * 2

    return custom(torch, "Keep", forward=forward, backward=backward, **flags)


@differential
def test_F_25_save_for_backward(torch):
    """F-25: tensors or None, the last call counts; non-tensors are refused after forward when recording."""
    log = []

    def forward(ctx, x, bad):
        ctx.save_for_backward(x, None)
        ctx.save_for_backward(None, x, *bad)
        log.append("forward ended")
        return x * 2

    F = custom(torch, forward=forward, backward=lambda ctx, g: (g, None))
    a = torch.ones(2, requires_grad=True)
    node = F.apply(a, []).grad_fn
    phrase = "save_for_backward can only save variables, but argument 2 is of type"
    found = [node.saved_tensors[0], node.saved_tensors[1] is a, len(node.saved_tensors)]
    found += [raises(phrase, F.apply, a, [bad]) for bad in (3, "x", [torch.ones(1)])]
    with torch.no_grad():
        quiet = F.apply(a, [3])
    return [*found, log, quiet, F.apply(torch.ones(2), ["x"])]


@differential
def test_F_26_how_values_are_stored(torch):
    """F-26: inputs and intermediates come back as the very object, outputs as new ones; no reference cycle."""
    kept = {}

    def forward(ctx, x):
        kept["middle"] = x.exp()
        y = x * 2
        ctx.save_for_backward(x, kept["middle"], y)
        return y

    F = custom(torch, forward=forward, backward=lambda ctx, g: g)
    a = torch.ones(2, requires_grad=True)
    y = F.apply(a)
    x, middle, out = y.grad_fn.saved_tensors
    found = [x is a, middle is kept["middle"], out is y, out.grad_fn is y.grad_fn, out.output_nr]
    gc.collect()
    gc.disable()
    try:
        ref, node = weakref.ref(y), weakref.ref(y.grad_fn)
        del y, out, x, middle
        return [*found, ref() is None, node() is None]
    finally:
        gc.enable()


@differential
def test_F_26_hooks_apply(torch):
    """F-26: saved-tensor hooks see what a custom Function saves."""
    packed = []
    a = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (packed.append(t), len(packed))[1], lambda i: packed[i - 1] * 1
    ):
        y = _keeping(torch, "input", "output", "none", "middle").apply(a)
    y.sum().backward()
    return [packed, a.grad]


@differential
def test_F_27_saved_tensors(torch):
    """F-27: a tuple, unpacked at each access; empty before apply ends; refused after release even if empty."""
    a = torch.ones(2, requires_grad=True)
    y = _keeping(torch, "input", "output").apply(a)
    node = y.grad_fn
    found = [type(node.saved_tensors).__name__, node.saved_tensors[0] is node.saved_tensors[0],
             node.saved_tensors[1] is node.saved_tensors[1]]  # fmt: skip
    y.sum().backward()
    nothing = custom(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g).apply(a)
    found.append(nothing.grad_fn.saved_tensors)
    nothing.sum().backward()
    return [*found, raises(SECOND, lambda: node.saved_tensors), raises(SECOND, lambda: nothing.grad_fn.saved_tensors)]


@differential
def test_F_27_intermediates_are_constants(torch):
    """F-27: an intermediate comes back without requires_grad, so its second derivative is lost."""

    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    def backward(ctx, g):
        (square,) = ctx.saved_tensors
        return g * 3 * square

    a = torch.tensor([2.0], requires_grad=True)
    y = custom(torch, forward=forward, backward=backward).apply(a)
    (g,) = torch.autograd.grad(y, a, create_graph=True)
    return [g, y.grad_fn.saved_tensors[0].requires_grad, g.requires_grad]


@differential
def test_F_28_version_check(torch):
    """F-28: a write after saving is noticed through every alias; the message names type, origin and versions."""

    def attempt(write, which="input", dtype=None, make=lambda a: a * 1):
        a = torch.ones(2, requires_grad=True, dtype=dtype)
        b = make(a)
        y = _keeping(torch, which).apply(b)
        out = y * 1
        with torch.no_grad():
            write(b, y)
        return lambda: out.backward(torch.ones(2, dtype=dtype))

    own = "which is output 0 of Keep"
    return [
        raises(
            "modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of Mul",
            attempt(lambda b, y: b.add_(1)),
        ),
        raises("is at version 1; expected version 0 instead", attempt(lambda b, y: b[0].add_(1))),
        raises("set_detect_anomaly(True, check_nan=False)", attempt(lambda b, y: b.detach().add_(1))),
        raises(own, attempt(lambda b, y: y.add_(1), "output")),
        raises("[torch.DoubleTensor [2]]", attempt(lambda b, y: b.add_(1), dtype=torch.float64)),
        raises("[torch.FloatTensor [2]] is at version", attempt(lambda b, y: b.add_(1), make=lambda a: a)),
        raises("[CPUComplexFloatType [2]]", attempt(lambda b, y: b.add_(1), dtype=torch.complex64)),
        attempt(lambda b, y: b.data.add_(1))(),
        attempt(lambda b, y: y.add_(1))(),
    ]


@differential
def test_F_28_other_dtypes_and_anomaly(torch):
    """F-28: integer and bool tensors are checked as well; under anomaly mode the hint points to the backtrace."""

    def saving(extra):
        def forward(ctx, x):
            ctx.save_for_backward(extra)
            return x * 2

        def backward(ctx, g):
            ctx.saved_tensors
            return g

        y = custom(torch, forward=forward, backward=backward).apply(torch.ones(2, requires_grad=True))
        extra[0] = 0
        return y.sum().backward

    with warned("Anomaly Detection", lambda: torch.autograd.detect_anomaly())[1]:
        hint = warned("", lambda: raises("the backtrace further above shows the operation", saving(torch.ones(2))))[1]
    return [raises("[torch.LongTensor [2]]", saving(torch.ones(2, dtype=torch.int64))), hint,
            raises("[CPUBoolType [2]]", saving(torch.ones(2) > 0))]  # fmt: skip


@differential
def test_F_29_detached_in_place(torch):
    """F-29: an op cannot give back an interior input or result that was detached in place; a custom Function can."""
    a = torch.ones(2, requires_grad=True)
    b, c, d = a * 1, a * 1, a * 1
    y = _keeping(torch, "input").apply(b).sum()
    z, e = (c * c).sum(), d.exp()
    w = (e * e).sum()
    leaf = torch.ones(2, requires_grad=True)
    fine = (leaf * leaf).sum()
    for t in (b, c, e, leaf):
        t.detach_()
    phrase = "detached in-place"
    return [y.backward(), a.grad, raises(phrase, z.backward), raises(phrase, w.backward), fine.backward(), leaf.grad]


@differential
def test_F_30_release(torch):
    """F-30: saved records go at once after a run without retain_graph; nodes that saved nothing run again."""
    a = torch.ones(2, requires_grad=True)
    y = _keeping(torch, "input").apply(a).sum()
    y.backward(retain_graph=True)
    y.backward()
    nothing = custom(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2).apply(a).sum()
    nothing.backward()
    nothing.backward()
    plain = (a + 1).sum()
    plain.backward()
    plain.backward()
    b = a * a
    c = b * b
    torch.autograd.grad(c.sum(), b)
    found = [raises("second time", torch.autograd.grad, c.sum(), b)]
    found.append(torch.autograd.grad(b.sum(), a))
    return [*found, a.grad, raises(SECOND, y.backward)]


@differential
def test_F_31_save_for_forward(torch):
    """F-31: kept for jvp, cleared when apply returns; only tensors and None."""
    fw = torch.autograd.forward_ad
    seen = []

    def forward(ctx, x):
        ctx.save_for_forward(x, None)
        ctx.save_for_backward(x)
        return x * x

    def jvp(ctx, t):
        seen.append((len(ctx.saved_tensors), ctx.saved_tensors[1]))
        return 2 * ctx.saved_tensors[0] * t

    F = custom(torch, forward=forward, jvp=jvp, backward=lambda ctx, g: g)

    def bad(ctx, x):
        ctx.save_for_forward(3)

    with fw.dual_level():
        y = F.apply(fw.make_dual(torch.tensor([3.0], requires_grad=True), torch.tensor([1.0])))
        tangent = fw.unpack_dual(y).tangent
    return [seen, tangent, y.grad_fn.saved_for_forward, raises("expects all arguments to be tensors",
            custom(torch, forward=bad).apply, torch.ones(1))]  # fmt: skip


@differential
def test_F_32_returned_input_is_saved(torch):
    """F-32: with setup_context an input returned as it is must not be saved, recorded or not."""

    def saving(method):
        def setup(ctx, inputs, output):
            getattr(ctx, method)(inputs[0])

        return custom(torch, forward=lambda x: x, setup_context=setup, backward=lambda ctx, g: g)

    def inside(ctx, x):
        ctx.save_for_backward(x)
        return x

    phrase = "An input that has been returned as-is as output is being saved"
    a = torch.ones(2, requires_grad=True)
    fine = custom(torch, forward=inside, backward=lambda ctx, g: g * ctx.saved_tensors[0]).apply(a)
    fine.sum().backward()
    return [raises(phrase, saving("save_for_backward").apply, a), raises(phrase, saving("save_for_forward").apply, a),
            raises(phrase, saving("save_for_backward").apply, torch.ones(2)), a.grad]  # fmt: skip


@differential
def test_F_33_attributes(torch):
    """F-33: any attribute may be set on ctx; the built-in ones have their meaning."""

    def forward(ctx, x):
        ctx.factor = 3
        ctx.kept = x
        return x * 3

    def backward(ctx, g):
        return g * ctx.factor + ctx.kept * 0

    a = torch.ones(2, requires_grad=True)
    y = custom(torch, forward=forward, backward=backward).apply(a)
    with torch.no_grad():
        a.add_(1)
    y.sum().backward()
    node = y.grad_fn
    node.metadata["note"] = 1
    node.extra_attribute = 5
    return [
        a.grad,
        node.factor,
        node.requires_grad,
        node.metadata,
        node.to_save,
        node.dirty_tensors,
        node.non_differentiable,
        node.saved_for_forward,
        raises("", lambda: node.materialize_grads),
        raises("", lambda: node.unknown),
        node.extra_attribute,
    ]


@differential
def test_F_34_clear_on_access(torch):
    """F-34: with the class flag the first read empties the record."""
    a = torch.ones(2, requires_grad=True)
    y = _keeping(torch, "input", clear_saved_tensors_on_access=True).apply(a)
    out = y.sum()
    out.backward(retain_graph=True)
    phrase = "saved_tensors can only be accessed once"
    return [a.grad, raises(phrase, out.backward), raises(phrase, lambda: y.grad_fn.saved_tensors)]


@differential
def test_F_35_maybe_clear(torch):
    """F-35: releases now if the task does not retain the graph, else nothing."""
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        ctx.maybe_clear_saved_tensors()
        try:
            seen.append(len(ctx.saved_tensors))
        except RuntimeError as error:
            seen.append("second time" in str(error))
        return g

    out = custom(torch, forward=forward, backward=backward).apply(torch.ones(2, requires_grad=True)).sum()
    out.backward(retain_graph=True)
    out.backward()
    return seen


@differential
def test_F_36_saved_variables_and_handles(torch):
    """F-36: the old name warns; the raw handles unpack one by one."""
    a = torch.ones(2, requires_grad=True)
    y = _keeping(torch, "input", "none", "output").apply(a)
    node = y.grad_fn
    categories, values = warned("'saved_variables' is deprecated", lambda: node.saved_variables)
    handles = node._raw_saved_tensors
    found = [categories, values[0] is a, type(handles).__name__, len(handles), type(handles[0]).__name__]
    handles[0].register_hooks(lambda t: t * 10, lambda t: t + 1)
    found.append(node.saved_tensors[0])
    y.sum().backward()
    return [*found, raises("second time", lambda: node._raw_saved_tensors)]
