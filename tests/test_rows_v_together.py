"""SPEC rows of part V in combination: small whole programs on both engines."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from both_engines import differential, edges, graph_of, raises
from custom_functions import function, times


@differential
def test_V_41_transpose_in_place(torch):
    """V-41: in-place changes of shape on bases, views and clones, then writes through them."""
    a = torch.arange(6.0, requires_grad=True)
    b = (a * 1).view(2, 3)
    v = b[0]
    b.t_()
    v.mul_(2)
    c = (a * 1).view(2, 3).clone()
    c.transpose_(0, 1).mul_(3)
    c.unsqueeze_(0).squeeze_()
    d = a * 1
    w = d.view(2, 3)
    w.t_()
    w.mul_(torch.arange(6.0).view(3, 2))
    (b.sum() + c.sum() + d.sum()).backward()
    return [
        b,
        b.grad_fn,
        v.grad_fn,
        c.grad_fn,
        graph_of(c.grad_fn),
        w.grad_fn,
        w._version,
        a.grad,
        d.grad_fn,
        c._version,
    ]


@differential
def test_V_41_as_strided_inplace(torch):
    """V-41: as_strided_ has a gradient."""
    a = torch.arange(6.0, requires_grad=True)
    b = a * 1
    b.as_strided_((2, 2), (1, 1))
    b.sum().backward()
    return [b, a.grad, b.grad_fn]


@differential
def test_V_26_data_on_view(torch):
    """V-26: data assigned to a view takes it away from its base's memory, not from its record."""
    a = torch.arange(4.0)
    v = a[1:]
    v.data = torch.zeros(2)
    v.add_(1)
    return [a, v, v._base is a, a._version, v._version]


@differential
def test_V_51_no_grad_inplace_leaf(torch):
    """V-51: a leaf written under no_grad trips the check of what saved it."""
    a = torch.ones(2, requires_grad=True)
    b = a * a
    with torch.no_grad():
        a.add_(1)
    return [raises("is at version 1; expected version 0", b.sum().backward), a.grad]


@differential
def test_V_44_detach_share(torch):
    """V-44: a write through a detached alias makes views of the source stale."""
    a = torch.ones(3, requires_grad=True).clone()
    d = a.detach()
    v = a[1:]
    d.add_(1)
    return [v.grad_fn, a._version, v._version, a]


@differential
def test_V_17_hooks_on_views(torch):
    """V-17: hooks and retain_grad of views."""
    a = torch.arange(4.0, requires_grad=True)
    b = a * 1
    v = b[:2]
    seen = []
    v.register_hook(lambda g: seen.append(g))
    v.retain_grad()
    (b.sum() + v.sum() * 2).backward()
    return [seen, v.grad, a.grad]


@differential
def test_V_16_retain_then_view_write(torch):
    """V-16: retain_grad of a view follows a write to it."""
    a = torch.arange(4.0, requires_grad=True)
    b = a * 1
    v = b[:2]
    v.retain_grad()
    v.mul_(3)
    b.sum().backward()
    return [v.grad, a.grad, v.grad_fn]


@differential
def test_V_64_pickle_hooks(torch):
    """V-64: nodes cannot be pickled."""
    a = torch.ones(2, requires_grad=True)
    return [pickle.loads(pickle.dumps(a.detach())), raises("", pickle.dumps, (a * 2).grad_fn)]


@differential
def test_V_64_pickle_nonleaf(torch):
    """V-64: what a non-leaf becomes when it is pickled."""
    a = torch.ones(2, requires_grad=True)
    b = pickle.loads(pickle.dumps(a * 2))
    return [b, b.is_leaf]


@differential
def test_V_39_inplace_dtype(torch):
    """V-39: in-place results that do not fit the dtype are refused, copy_ casts."""
    a = torch.ones(2, dtype=torch.int64)
    return [
        raises("can't be cast to the desired output type", a.mul_, 1.5),
        a.add_(1),
        raises("", a.div_, 2),
        a.copy_(torch.tensor([1.7, 2.2])),
    ]


@differential
def test_V_35_iter_views(torch):
    """V-35: iterating gives rows that know their node."""
    a = torch.ones(2, 2, requires_grad=True)
    return [
        [r.grad_fn for r in a],
        len(a),
        raises("", len, torch.tensor(1)),
        raises("", iter, torch.tensor(1)),
        1.0 in a,
    ]


@differential
def test_V_13_grad_of_view_assign(torch):
    """V-13: .grad may be written in place."""
    a = torch.ones(2, requires_grad=True)
    a.grad = torch.zeros(2)
    a.grad[0] = 3
    (a * 2).sum().backward()
    return a.grad


@differential
def test_V_41_complex_things(torch):
    """V-41: writes through the real and imaginary part."""
    z = torch.tensor([1 + 2j, 3j], requires_grad=True)
    w = z * 1
    w.real.mul_(2)
    w.imag[0] = 5
    (w.abs() ** 2).sum().backward()
    return [w.real, w.imag, z.grad.real, z.grad.imag, w.grad_fn]


@differential
def test_V_54_inf_more(torch):
    """V-54: everything made in inference mode is an inference tensor; copies made outside are not."""
    with torch.inference_mode():
        a = torch.ones(2)
        b = a.view(2, 1)
        c = torch.zeros(2)
        c[0] = 1
        d = torch.zeros_like(a)
        e = torch.arange(3)
        f = torch.randn(2)
        g = a.detach()
        h = a.clone()
        k = a.long()
        m = torch.tensor([1.0])
        n = torch.stack([a, a])
        o = torch.from_numpy(np.ones(2))
    outs = [a, b, c, d, e, f, g, h, k, m, n, o]
    s = copy.deepcopy(a)
    return [
        [t.is_inference() for t in outs],
        s.is_inference(),
        (a + 1).is_inference(),
        a.data.is_inference(),
        a.numpy(),
        raises("", setattr, a, "requires_grad", True),
    ]


@differential
def test_V_54_inf_out(torch):
    """V-54: out= into an inference tensor is refused outside inference mode."""
    with torch.inference_mode():
        i = torch.ones(2)
    n = torch.zeros(2)
    torch.add(i, 1, out=n)
    return [n, n.is_inference(), raises("", torch.add, n, 1, out=i)]


@differential
def test_V_54_inf_custom(torch):
    """V-54: a custom Function in inference mode records nothing."""
    a = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = function(torch, *times(2)).apply(a)
    return [y.is_inference(), y.requires_grad]


@differential
def test_V_54_version_of_views_of_inference(torch):
    """V-54: a view of an inference tensor shares memory but knows no base."""
    with torch.inference_mode():
        a = torch.ones(2)
        v = a[0:1]
        v.add_(1)
    return [a, raises("", lambda: v._version), v._is_view(), v._base is a]


@differential
def test_V_41_setitem_shapes(torch):
    """V-41: item assignment with all kinds of indices."""
    a = torch.zeros(2, 3)
    a[0] = torch.ones(3)
    a[:, 1] = torch.tensor([5.0, 6.0])
    a[1, 2] = 9
    return [a, raises("", a.__setitem__, 0, torch.ones(2)), raises("", a.__setitem__, 5, 1.0), a._version]


@differential
def test_V_45_chain_views_grad(torch):
    """V-45: writes at several depths of a chain of views."""
    a = torch.arange(24.0, requires_grad=True)
    b = (a * 2).view(2, 3, 4)
    v = b[1].t()[1:3]
    w = v.unsqueeze(0)[..., 1]
    w.mul_(5)
    v.add_(1)
    b[0].zero_()
    (b * b).sum().backward()
    return [b, a.grad, graph_of(w.grad_fn)]


@differential
def test_V_45_expand_view(torch):
    """V-45: an expanded view of a written base."""
    a = torch.ones(1, 3, requires_grad=True)
    b = a * 1
    e = b.expand(2, 3)
    b.mul_(2)
    e.sum().backward()
    return [a.grad, e.grad_fn]


@differential
def test_V_27_undefined_hooks(torch):
    """V-27: detach and requires_grad_ cut the graph."""
    a = torch.ones(2, requires_grad=True)
    x = a * 1
    y = x.detach()
    y.requires_grad_()
    (y * x).sum().backward()
    return [a.grad, y.grad]


@differential
def test_V_64_item_bool(torch):
    """V-64: conversions of tensors without exactly one element."""
    return [
        raises("", torch.ones(0).item),
        torch.ones(1, 1).item(),
        raises("", float, torch.ones(2)),
        torch.tensor([[3]]).tolist(),
        raises("", int, torch.ones(2)),
    ]


@differential
def test_V_53_resize_etc(torch):
    """V-53: resizing views."""
    t = torch.arange(6.0)
    v = t[2:]
    v.resize_(2)
    t2 = t.view(2, 3)
    return [v, t2.resize_(3, 2), t._version, t2._version, raises("", t.resize_, -1)]


@differential
def test_V_04_swap(torch):
    """V-04: switching requires_grad off."""
    a = torch.ones(2, requires_grad=True)
    b = a.requires_grad_(False)
    c = a.requires_grad
    return [c, b is a, (a * 2).requires_grad]


@differential
def test_V_47_copy_broadcast(torch):
    """V-47: copy_ of broadcast and cast data."""
    a = torch.zeros(2, 3)
    s = torch.ones(3, requires_grad=True)
    a.copy_(s)
    (a * torch.arange(6.0).view(2, 3)).sum().backward()
    d = torch.zeros(2, dtype=torch.float64)
    d.copy_(s[:2])
    return [s.grad, a.grad_fn, edges(a.grad_fn), d.grad_fn, d]


@differential
def test_V_49_out_resize(torch):
    """V-49: out= of another size is resized."""
    o = torch.empty(0)
    r = torch.mul(torch.ones(3), 2, out=o)
    return [o, r is o, o._version]


@differential
def test_V_40_index_inplace(torch):
    """V-40: augmented item assignment with index tensors and masks."""
    a = torch.arange(4.0, requires_grad=True)
    b = a * 1
    b[[0, 2]] += 1
    b[torch.tensor([1])] *= 5
    b[b > 100] = 0
    b.masked_fill_(torch.tensor([True, False, False, False]), 7)
    (b * b).sum().backward()
    return [b, a.grad, b._version, b.grad_fn]
