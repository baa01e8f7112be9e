"""SPEC rows V-55 to V-62: tangents of tensors, view functions, replay of views, entry points."""

from __future__ import annotations

from both_engines import differential, edges, graph_of, raises, warned


@differential
def test_V_55_levels(torch):
    """V-55: tangents live in a level and are gone after it; levels do not nest."""
    fw = torch.autograd.forward_ad
    with fw.dual_level() as level:
        dual = fw.make_dual(torch.ones(2), torch.tensor([1.0, 2.0]))
        inside = fw.unpack_dual(dual).tangent
        nested = raises("Nested forward mode AD is not supported", fw.enter_dual_level)
    with fw.dual_level():
        later = fw.unpack_dual(dual).tangent
    return [level, inside, nested, later, fw.unpack_dual(dual).tangent]


@differential
def test_V_55_other_threads(torch):
    """V-55: levels are process-wide: another thread may use the dual."""
    import threading

    fw = torch.autograd.forward_ad
    found = []
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.tensor([1.0, 2.0]))
        thread = threading.Thread(target=lambda: found.append(fw.unpack_dual(dual * 3).tangent))
        thread.start()
        thread.join()
    return found


@differential
def test_V_56_setting_a_tangent(torch):
    """V-56: same size; neither tensor dual already; kept by identity when laid out like the primal, else copied."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        primal, tangent = torch.ones(2, 3), torch.arange(6.0).view(2, 3)
        dual = fw.make_dual(primal, tangent)
        same = fw.unpack_dual(dual).tangent is tangent
        flipped = fw.make_dual(primal, torch.arange(6.0).view(3, 2).t())
        copied = fw.unpack_dual(flipped).tangent
        expanded = fw.unpack_dual(fw.make_dual(primal, torch.ones(1).expand(2, 3))).tangent
        transposed = fw.unpack_dual(fw.make_dual(torch.ones(3, 2).t(), torch.ones(2, 3))).tangent
        shifted = fw.unpack_dual(fw.make_dual(torch.ones(3)[1:], torch.ones(2))).tangent
        errors = [
            raises("different size than that of the original Tensor", fw.make_dual, torch.ones(2), torch.ones(3)),
            raises("itself has a forward gradient at the same level", fw.make_dual, torch.ones(2, 3), dual),
            raises("already has a forward gradient at the same level", fw.make_dual, dual, torch.ones(2, 3)),
        ]
        shared = fw.unpack_dual(dual).tangent.data_ptr() == tangent.data_ptr()
        return [
            shared,
            same,
            copied,
            copied.stride(),
            expanded.stride(),
            transposed.stride(),
            shifted.storage_offset(),
            errors,
        ]


@differential
def test_V_57_view_of_a_dual(torch):
    """V-57: a view of a dual has a tangent that is a view of the tangent."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.arange(6.0), torch.arange(6.0) * 10)
        v = dual.view(2, 3)[1]
        t = fw.unpack_dual(v).tangent
        return [t, t._is_view(), t.storage_offset(), t._base is fw.unpack_dual(dual).tangent,
                t.data_ptr() - fw.unpack_dual(dual).tangent.data_ptr()]  # fmt: skip


@differential
def test_V_57_dual_into_a_view_of_a_plain_base(torch):
    """V-57: writing a dual into a view of a plain base gives the base a zero tangent with the region filled."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.tensor([5.0, 6.0]))
        base = torch.zeros(4)
        sibling = base[2:]
        base[1:3].copy_(dual)
        other = torch.zeros(2, 2)
        other[0] = dual
        return [fw.unpack_dual(base).tangent, fw.unpack_dual(base[1:]).tangent, base, fw.unpack_dual(sibling).tangent,
                fw.unpack_dual(other).tangent]  # fmt: skip


@differential
def test_V_57_dual_into_a_base(torch):
    """V-57: writing a dual into a base gives earlier plain views a tangent on read."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        base = torch.zeros(3)
        v = base[1:]
        base.copy_(fw.make_dual(torch.ones(3), torch.tensor([1.0, 2.0, 3.0])))
        first = fw.unpack_dual(v).tangent.clone()
        base.mul_(10)
        v.mul_(2)
        return [first, fw.unpack_dual(v).tangent, fw.unpack_dual(base).tangent, base]


@differential
def test_V_57_in_place_on_a_dual(torch):
    """V-57: in-place on a dual edits its tangent, the given object included."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        tangent = torch.tensor([1.0, 2.0])
        dual = fw.make_dual(torch.tensor([3.0, 4.0]), tangent)
        dual.mul_(dual.clone())
        product = fw.unpack_dual(dual).tangent.clone()
        dual.add_(1)
        dual[0] = 7.0
        found = [
            product,
            fw.unpack_dual(dual).tangent,
            dual.clone(),
            tangent.data_ptr() == fw.unpack_dual(dual).tangent.data_ptr(),
        ]
        dual.zero_()
        dual.copy_(torch.ones(2))
        return [*found, fw.unpack_dual(dual).tangent, dual]


@differential
def test_V_57_detach_and_modes(torch):
    """V-57: detach drops the tangent, no_grad keeps it, inference mode does not propagate."""
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.tensor([1.0, 2.0]))
        with torch.no_grad():
            quiet = dual * 3
        with torch.inference_mode():
            none = dual * 3
        found = [fw.unpack_dual(dual.detach()).tangent, fw.unpack_dual(quiet).tangent]
        return [*found, fw.unpack_dual(none).tangent, fw.unpack_dual(dual.data).tangent]


@differential
def test_V_57_forward_and_backward_together(torch):
    """V-57: a dual written into a base that has history: both modes give right numbers."""
    fw = torch.autograd.forward_ad
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        b = a * 2
        dual = fw.make_dual(torch.tensor([4.0, 5.0]), torch.tensor([1.0, 1.0]))
        b[0:2].mul_(dual)
        out = b * b
        tangent = fw.unpack_dual(out).tangent
    (grad,) = torch.autograd.grad(out.sum(), a)
    return [tangent, grad]


@differential
def test_V_58_view_func(torch):
    """V-58: replays the view on a base of the same geometry, gives None otherwise."""
    base = torch.arange(4.0)
    v = base[1:4]
    w = v.view(3, 1)[1:]
    return [
        v._view_func(torch.arange(10.0, 14.0)),
        v._view_func(torch.arange(5.0)),
        base._view_func(base),
        w._view_func(torch.arange(10.0, 14.0)),
        v._view_func(torch.arange(8.0)[::2]),
        v._view_func(torch.arange(6.0)[2:]),
        v._view_func(torch.arange(4)),
    ]


@differential
def test_V_58_unsafe_view_func(torch):
    """V-58: the unsafe form skips the check and takes visitors; no inverse is stored for ordinary views."""
    base = torch.arange(4.0)
    v = base[1:3]
    calls = []
    result = v._view_func_unsafe(torch.arange(10.0, 16.0), lambda n: (calls.append(n), n)[1], lambda t: t)
    return [result, v._view_func_unsafe(torch.arange(20.0, 24.0)),
            raises("No _rev_view_func() found", v._rev_view_func_unsafe, torch.ones(2))]  # fmt: skip


@differential
def test_V_58_replay_is_differentiable(torch):
    """V-58: the replayed view has the history of the new base."""
    v = torch.arange(4.0).view(2, 2)[0]
    new = torch.arange(4.0, requires_grad=True).clone()
    w = v._view_func(new)
    return [w, w.grad_fn, graph_of(w.grad_fn), w._base is new]


@differential
def test_V_58_multi_output_and_others(torch):
    """V-58: every kind of view replays."""
    base = torch.arange(12.0).view(3, 4).clone()
    new = base + 100
    views = [
        base.t(),
        base.unbind(0)[1],
        base.split(2, 1)[1],
        base.diagonal(),
        base.expand(2, 3, 4),
        base[:, ::2],
        base.as_strided((2, 2), (4, 1), 1),
        base.unsqueeze(1),
        base[None].squeeze(0),
        base.transpose(0, 1)[1],
    ]
    return [v._view_func(new) for v in views]


@differential
def test_V_59_chained(torch):
    """V-59: chained view functions replay in order from the root base."""
    base = torch.arange(24.0)
    v = base.view(2, 3, 4)[1].t()[1:3].unsqueeze(0)[..., 1]
    return [v, v._view_func(base * 2), v._view_func_unsafe(torch.arange(100.0, 124.0))]


@differential
def test_V_60_replay_mode(torch):
    """V-60: in replay mode a stale view's grad_fn is the chain of its own view nodes."""
    force = torch.autograd._force_original_view_tracking
    a = torch.arange(4.0, requires_grad=True)
    found = [torch.autograd.is_view_replay_enabled()]
    with force(True):
        found.append(torch.autograd.is_view_replay_enabled())
        b = a.clone()
        v = b[1:3].view(2, 1)
        b[0:2].mul_(3)
        found.append(graph_of(v.grad_fn))
        (v * v).sum().backward()
    c = a.clone()
    w = c[1:3].view(2, 1)
    c[0:2].mul_(3)
    return [*found, a.grad, w.grad_fn, edges(w.grad_fn), torch.autograd.is_view_replay_enabled()]


@differential
def test_V_60_as_function(torch):
    """V-60: the switch acts at once when called, and restores as a context."""
    force = torch.autograd._force_original_view_tracking
    force(True)
    on = torch.autograd.is_view_replay_enabled()
    force(False)
    return [on, torch.autograd.is_view_replay_enabled()]


@differential
def test_V_61_entry_points(torch):
    """V-61: every entry point of a tensor's autograd record is there."""
    names = (
        "data",
        "grad_fn",
        "register_hook",
        "_is_view",
        "_base",
        "name",
        "is_leaf",
        "output_nr",
        "_version",
        "retain_grad",
        "retains_grad",
        "backward",
        "requires_grad_",
        "grad_dtype",
        "detach",
        "grad",
        "requires_grad",
        "_backward_hooks",
        "detach_",
        "register_post_accumulate_grad_hook",
        "_view_func",
        "_view_func_unsafe",
        "_rev_view_func_unsafe",
        "is_inference",
    )
    a = torch.ones(2, requires_grad=True)
    found = [(name, hasattr(a, name)) for name in names]
    return [*found, warned("volatile was removed", lambda: a.volatile)]


@differential
def test_V_62_making_variables(torch):
    """V-62: Variable(...) makes a leaf that shares data; a view of a view is re-based, detach shares the version."""
    t = torch.ones(2)
    v = torch.autograd.Variable(t, requires_grad=True)
    t[0] = 5
    w = torch.autograd.Variable(t)
    detached = v.detach()
    return [
        v,
        v.is_leaf,
        v is t,
        w.requires_grad,
        isinstance(v, torch.autograd.Variable),
        detached._version,
        t._version,
    ]
