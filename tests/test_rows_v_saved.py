"""SPEC rows V-50 to V-54: saved tensors, overlapping memory, resizing and inference tensors."""

from __future__ import annotations

import numpy as np
from both_engines import differential, raises

MODIFIED = "modified by an inplace operation"


@differential
def test_V_50_what_is_kept(torch):
    """V-50: inputs and leaves are kept as the very object, own outputs as data; None is allowed."""

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    a = torch.ones(2, requires_grad=True)
    b = a.exp()
    out = Keep.apply(b)
    x, none, y = out.grad_fn.saved_tensors
    return [
        (a * b).grad_fn._saved_self is a, (a * b).grad_fn._saved_other is b, b.grad_fn._saved_result is b,
        b.grad_fn._saved_result.grad_fn is b.grad_fn, x is b, none, y is out, y.grad_fn is out.grad_fn,
    ]  # fmt: skip


@differential
def test_V_50_inference_tensors_cannot_be_saved(torch):
    """V-50: saving an inference tensor is refused."""
    with torch.inference_mode():
        i = torch.ones(2)
    a = torch.ones(2, requires_grad=True)

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, i):
            ctx.save_for_backward(i)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, None

    phrase = "Inference tensors cannot be saved for backward"
    return [raises(phrase, lambda: a * i), raises(phrase, lambda: i * a), raises(phrase, Keep.apply, a, i)]


@differential
def test_V_50_hooks_pack(torch):
    """V-50: with hooks active every saved tensor is packed, wrapped numbers are not."""
    packed = []
    a = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(t), t)[1], lambda t: t):
        (a * a).exp() * 3
    return packed


@differential
def test_V_51_unpacking(torch):
    """V-51: the original comes back where kept, else data with grad_fn and shared version, never a view."""
    a = torch.ones(2, requires_grad=True)
    base = a.exp()
    v = base[0:1]
    w = v.exp()
    result = w.grad_fn._saved_result
    again = w.grad_fn._saved_result
    saved_view = (v * v).grad_fn._saved_self
    out = (base * base).sum()
    out.backward()
    return [
        result is again, result.grad_fn is w.grad_fn, result._is_view(), result._version, result.requires_grad,
        saved_view is v, saved_view._is_view(), raises("second time", lambda: base.grad_fn._saved_result),
        raises("second time", out.backward),
    ]  # fmt: skip


@differential
def test_V_51_version_check(torch):
    """V-51: a write to a saved value, through any alias, is noticed when it is unpacked."""

    def attempt(write):
        a = torch.ones(2, requires_grad=True)
        b = a * 2
        out = (b * b).sum()
        with torch.no_grad():
            write(a, b)
        return out.backward

    return [
        raises(MODIFIED, attempt(lambda a, b: b.add_(1))),
        raises(MODIFIED, attempt(lambda a, b: b[0].add_(1))),
        raises(MODIFIED, attempt(lambda a, b: b.detach().add_(1))),
        raises("is at version 1; expected version 0 instead", attempt(lambda a, b: b.zero_())),
        attempt(lambda a, b: a.add_(1))(),
        attempt(lambda a, b: b.data.add_(1))(),
    ]


@differential
def test_V_51_own_output_written(torch):
    """V-51: a write to an op's own saved output is noticed and named."""
    a = torch.ones(2, requires_grad=True)
    b = a.exp()
    b.add_(1)
    return raises("[torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected version 0",
                  b.sum().backward)  # fmt: skip


@differential
def test_V_52_expanded_tensors(torch):
    """V-52: writing to an expanded tensor is refused."""
    phrase = "more than one element of the written-to tensor refers to a single memory location"
    e = torch.ones(1).expand(3)
    a = torch.ones(1, requires_grad=True).clone().expand(3)
    one = torch.ones(1).expand(1)
    one.add_(1)
    return [raises(phrase, e.add_, 1), raises(phrase, e.exp_), raises(phrase, a.mul_, 2), one,
            raises(phrase, e.copy_, torch.ones(3)), e.zero_(), e.fill_(1)]  # fmt: skip


@differential
def test_V_52_partial_overlap(torch):
    """V-52: writing where an operand overlaps partly is refused."""
    t = torch.arange(4.0)
    return [raises("some elements of the input tensor and the written-to tensor refer to a single memory location",
                   t[1:].add_, t[:-1]), t[1:].add_(t[1:])]  # fmt: skip


@differential
def test_V_53_resize_and_set(torch):
    """V-53: resize_ is refused when the tensor requires grad; otherwise memory is kept where it is enough."""
    a = torch.ones(2, requires_grad=True)
    t = torch.arange(6.0)
    t.resize_(2, 2)
    view = t[0]
    u = torch.arange(3.0)
    u.resize_as_(torch.ones(2, 1))
    s = torch.zeros(2)
    source = torch.arange(3.0)
    s.set_(source)
    source[0] = 9
    phrase = "cannot resize variables that require grad"
    empty = torch.ones(2)
    empty.set_()
    grown = torch.ones(2)
    grown.resize_(4)
    return [t, t._version, view, u, s, list(s.shape), raises(phrase, a.resize_, 3), raises(phrase, (a * 2).resize_, 3),
            raises(phrase, a.resize_as_, t), list(empty.shape), list(grown.shape), grown[:2]]  # fmt: skip


@differential
def test_V_53_grow_again(torch):
    """V-53: a tensor that shrank has its old data when it grows back."""
    t = torch.arange(6.0)
    t.resize_(2)
    t.resize_(6)
    return t


@differential
def test_V_53_storage(torch):
    """V-53: storages tell size, bytes and address, and alias what they belong to."""
    t = torch.arange(6.0)
    v = t[2:4]
    storage = t.untyped_storage()
    return [storage.nbytes(), storage.data_ptr() == t.data_ptr(), v.untyped_storage().data_ptr() == storage.data_ptr(),
            v.data_ptr() - t.data_ptr(), v.storage_offset(), v.untyped_storage().nbytes(), len(storage),
            t.untyped_storage().size()]  # fmt: skip


@differential
def test_V_54_inference_tensors(torch):
    """V-54: outside, reading and ops that save nothing work; views stay inference tensors, clones do not."""
    with torch.inference_mode():
        i = torch.ones(2)
        j = i * 2
        v = i[0:1]
        i.add_(1)
    a = torch.ones(2, requires_grad=True)
    total = i + a
    total.sum().backward()
    outside = i[0:1]
    phrase = "Inplace update to inference tensor outside InferenceMode"
    return [
        i.is_inference(), j.is_inference(), v.is_inference(), outside.is_inference(), i.clone().is_inference(),
        (i * 2).is_inference(), i.detach().is_inference(), torch.is_inference(i), a.grad, total, i.requires_grad,
        raises(phrase, i.add_, 1), raises(phrase, outside.mul_, 2), raises(phrase, i.__setitem__, 0, 1.0),
        raises("do not track version counter", lambda: i._version), raises("does not require grad", i.sum().backward),
        raises("Setting requires_grad=True on inference tensor", i.requires_grad_), i.view(2, 1).is_inference(),
    ]  # fmt: skip


@differential
def test_V_54_normal_tensors_inside(torch):
    """V-54: in inference mode normal tensors keep their versions, results need no grad, and in-place is free."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    with torch.inference_mode():
        c = a * 3
        b.mul_(5)
        d = torch.ones(2, requires_grad=True)
        e = d * 2
        nested = torch.inference_mode(False)
        with nested:
            f = a * 2
            g = torch.ones(1)
    (b * 1).sum().backward()
    return [
        c.requires_grad,
        c.is_inference(),
        b,
        b._version,
        b.grad_fn,
        d.requires_grad,
        e.requires_grad,
        f.requires_grad,
        f.is_inference(),
        g.is_inference(),
        a.grad,
        torch.is_inference_mode_enabled(),
    ]


@differential
def test_V_54_inference_data_into_normal(torch):
    """V-54: copying into a normal tensor, and no_grad arithmetic outside, work."""
    with torch.inference_mode():
        i = torch.tensor([1.0, 2.0])
    n = torch.zeros(2)
    n.copy_(i)
    with torch.no_grad():
        product = i * torch.ones(2, requires_grad=True)
    a = torch.ones(2, requires_grad=True)
    b = a * 1
    b.copy_(i)
    return [n, product, product.is_inference(), b.grad_fn, i.tolist(), i.sum().item(), i.numpy(), (i > 1).tolist()]


@differential
def test_V_50_gelu_keeps_its_operand_alone(torch):
    """V-50: whatever else an engine remembers, only the operand is kept: hooks replace it, `.data` writes into it."""
    gelu = torch.nn.functional.gelu
    packed, found = [], []

    def double(t):
        packed.append(tuple(t.shape))
        return t.detach() * 2

    for approximate in ("none", "tanh"):
        x = torch.tensor([-0.9, -0.5, 0.0, 0.7, 1.1], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(double, lambda t: t):
            hooked = gelu(x, approximate=approximate)
        handled, written, plain = (gelu(x * 1, approximate=approximate) for _ in range(3))
        handled.grad_fn._raw_saved_self.register_hooks(double, lambda t: t)
        written.grad_fn._saved_self.data.mul_(3)
        shown = [name for name in dir(plain.grad_fn) if name.startswith("_saved_")]
        grads = [torch.autograd.grad(y.sum(), x)[0] for y in (hooked, handled, written, plain)]
        found += [shown, [[round(v, 4) for v in g.tolist()] for g in grads]]
    return packed, found


@differential
def test_V_50_gelu_follows_writes_that_nothing_counts(torch):
    """V-50: of an operand that was written through NumPy, DLPack's or another tensor's memory, the new values count."""
    functional, found = torch.nn.functional, []

    def assign(h, x):
        x.data = torch.full((4,), 0.5)

    def through_numpy(h, x):
        h.detach().numpy()[:] = 0.5

    def through_an_array_view(h, x):
        np.asarray(h.detach())[1:][0] = 3.0

    for approximate in ("none", "tanh"):
        for write in (assign, through_numpy, through_an_array_view):
            for also in (False, True):  # a write elsewhere sends backward by its general way
                x = torch.tensor([-2.0, -0.5, 0.0, 1.0], requires_grad=True)
                h = x if write is assign else x * 1
                y = functional.gelu(h, approximate=approximate)
                write(h, x)
                if also:
                    torch.ones(2).add_(1)
                y.sum().backward()
                found.append([round(v, 4) for v in x.grad.tolist()])
        array = np.linspace(-2, 2, 5)
        for operand in (torch.from_numpy(array), torch.from_numpy(array)[1:], torch.as_tensor(array).view(5, 1)):
            array[:] = np.linspace(-2, 2, 5)
            leaf = operand.requires_grad_()
            y = functional.gelu(leaf, approximate=approximate)
            array += 1
            y.sum().backward()
            found.append([round(v, 4) for v in leaf.grad.flatten().tolist()])
    return found
