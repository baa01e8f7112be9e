"""SPEC rows V-22 to V-28: version counters, ``.data`` and detaching."""

from __future__ import annotations

import numpy as np
from both_engines import differential, raises


@differential
def test_V_22_what_raises_the_version(torch):
    """V-22: every in-place method, item assignment, fill, copy_ and out= target raises it by one."""
    t = torch.ones(4)
    found = [t._version]
    t.add_(1)
    found.append(t._version)
    t[0] = 5
    found.append(t._version)
    t[1:3] = torch.zeros(2)
    found.append(t._version)
    t.fill_(2)
    t.zero_()
    t.copy_(torch.ones(4))
    found.append(t._version)
    torch.add(t, 1, out=t)
    found.append(t._version)
    t += 1
    t *= 2
    found.append(t._version)
    with torch.no_grad():
        t.mul_(3)
    with torch.inference_mode():
        t.mul_(3)
    found.append(t._version)
    t[torch.tensor([0, 1])] = 4
    t[t > 3] = 1
    torch.autograd.graph.increment_version(t)
    found.append(t._version)
    t.unsqueeze_(0)
    t.squeeze_()
    return [*found, t._version, t]


@differential
def test_V_22_what_does_not(torch):
    """V-22: failed writes, requires_grad_, NumPy writes and .data do not raise it; the attribute is read-only."""
    t = torch.ones(2)
    raises("", t.add_, torch.ones(3))
    t.requires_grad_()
    t.detach().numpy()[0] = 3
    t.data.mul_(2)
    t.data = torch.zeros(2)
    array = np.zeros(2, np.float32)
    shared = torch.from_numpy(array)
    array += 1
    raises("", t.add_, 1)
    return [t._version, shared, shared._version, raises("", setattr, t, "_version", 3)]


@differential
def test_V_22_mark_dirty(torch):
    """V-22: mark_dirty raises the version by one more."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    t = torch.ones(2)
    Twice.apply(t)
    return t._version


@differential
def test_V_22_inference_tensors_have_none(torch):
    """V-22: inference tensors do not track versions."""
    with torch.inference_mode():
        t = torch.ones(2)
        t.add_(1)
    return raises("do not track version counter", lambda: t._version)


@differential
def test_V_23_who_shares(torch):
    """V-23: views, detached aliases and unpacked saved tensors share; .data and copies do not."""
    a = torch.ones(2, 2, requires_grad=True).exp()
    v, d, data, copied = a[0], a.detach(), a.data, a.clone()
    saved = a.grad_fn._saved_result
    with torch.no_grad():
        v.mul_(2)
        d.mul_(2)
    data.mul_(2)
    return [t._version for t in (a, v, d, data, copied, saved, v.view(2), d[0])] + [a, saved.data_ptr() == a.data_ptr()]


@differential
def test_V_23_write_through_detach_is_noticed(torch):
    """V-23: a write to a detached alias trips the version check, one through .data does not."""

    def attempt(alias):
        a = torch.ones(2, requires_grad=True) * 2
        out = (a * a).sum()
        alias(a).mul_(3)
        return out.backward

    return [raises("modified by an inplace operation", attempt(lambda a: a.detach())), attempt(lambda a: a.data)()]


@differential
def test_V_24_preserving_versions(torch):
    """V-24: versions of one tensor or a tuple are restored on exit."""
    keep = torch.autograd._unsafe_preserve_version_counter
    a, b = torch.ones(2), torch.ones(2)
    a.add_(1)
    with keep(a):
        a.add_(1)
    with keep((a, b)):
        a.add_(1)
        b.add_(1)
    return [a._version, b._version, raises("Expected tensors to be a tuple", keep, [a])]


@differential
def test_V_25_data(torch):
    """V-25: .data shares memory but neither history, view relation nor version."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    data = b.data
    data[0] = 50
    out = (b * 3).sum()
    out.backward()
    view = b[0:1].data
    return [data.requires_grad, data.is_leaf, data._is_view(), data._version, b._version, b, a.grad, view._base,
            view._is_view(), a.data is a.data]  # fmt: skip


@differential
def test_V_26_assigning_data(torch):
    """V-26: the object, version, grad, hooks and history stay; earlier graphs see the new data."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    calls = []
    a.register_hook(lambda g: calls.append(g))
    a.grad = torch.zeros(2)
    out = (a * a).sum()
    kept = a
    a.data = torch.tensor([10.0, 20.0])
    out.backward()
    found = [kept is a, a._version, a.grad, calls, a.requires_grad, a.is_leaf]
    b = a * 2
    b.data = torch.ones(3)
    return [*found, b.grad_fn, b, list(b.shape)]


@differential
def test_V_26_other_dtype_drops_the_accumulator(torch):
    """V-26: data of another dtype gives the leaf a new accumulator at its next use."""
    a = torch.ones(2, requires_grad=True)
    old = (a * 2).grad_fn.next_functions[0][0]
    a.data = torch.ones(2) * 3
    same = (a * 2).grad_fn.next_functions[0][0] is old
    a.data = torch.ones(2, dtype=torch.float64)
    other = (a * 2).grad_fn.next_functions[0][0] is old
    (a * 2).sum().backward()
    return [same, other, a.grad]


@differential
def test_V_26_misuse(torch):
    """V-26: non-tensors are refused, and integers for a tensor that requires grad."""
    a = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    plain.data = torch.ones(2, dtype=torch.int64)
    a.grad = torch.ones(2)
    a.data = torch.ones(3)
    return [
        raises("Variable data has to be a tensor", setattr, a, "data", 3),
        raises("must be floating point or complex dtype", setattr, a, "data", torch.ones(2, dtype=torch.int64)),
        str(plain.dtype), list(a.grad.shape),
    ]  # fmt: skip


@differential
def test_V_26_data_of_a_view_shares_memory_with_the_source(torch):
    """V-26: after assignment the tensor shares memory with what was assigned."""
    a = torch.zeros(2)
    source = torch.ones(2)
    a.data = source
    source[0] = 9
    return [a, a._version, source._version]


@differential
def test_V_27_detach(torch):
    """V-27: a leaf alias with shared memory and version; it starts a new root and drops tangents."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    d = b.detach()
    view = d[0:1]
    d.add_(1)
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        tangent = fw.unpack_dual(fw.make_dual(torch.ones(2), torch.ones(2)).detach()).tangent
    return [d.requires_grad, d.is_leaf, d._is_view(), d._base, view._base is d, b._version, b, tangent,
            torch.detach(b), b[0].detach()._base]  # fmt: skip


@differential
def test_V_28_detach_in_place(torch):
    """V-28: makes the tensor a leaf; views taken before keep their own history; views refuse it."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    v = b[0]
    version = b._version
    same = b.detach_() is b
    x, _ = (a * 2).unbind(0)
    found = [same, b.requires_grad, b.is_leaf, b.output_nr, b._version == version, v.grad_fn, v.requires_grad]
    found.append(raises("Can't detach views in-place", v.detach_))
    found.append(raises("Can't detach views in-place", x.detach_))
    v.backward()
    leaf = torch.ones(2, requires_grad=True)
    leaf.detach_()
    return [*found, a.grad, leaf.requires_grad, b.requires_grad_().is_leaf]
