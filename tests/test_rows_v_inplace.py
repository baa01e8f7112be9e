"""SPEC rows V-39 to V-49: in-place writes, CopySlices, stale views, out= arguments."""

from __future__ import annotations

from both_engines import differential, edges, graph_of, raises, warned

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"


@differential
def test_V_39_leaf_and_view_of_leaf(torch):
    """V-39: writes to a leaf that requires grad, or to its view, are refused and change nothing."""
    a = torch.ones(3, requires_grad=True)
    v = a[0:2]
    found = [
        raises(LEAF, a.mul_, 2),
        raises(LEAF, a.__setitem__, 0, 1.0),
        raises(LEAF, a.copy_, torch.ones(3)),
        raises(LEAF, a.zero_),
        raises(LEAF, a.fill_, 2.0),
        raises(LEAF_VIEW, v.mul_, 2),
        raises(LEAF_VIEW, v.view(2, 1).zero_),
        raises(LEAF_VIEW, a[1:][0].add_, 1),
        raises(LEAF_VIEW, v.__setitem__, 0, 5.0),
        raises(LEAF, a.detach().requires_grad_().add_, 1),
    ]
    return [*found, a, a._version]


@differential
def test_V_39_what_is_allowed(torch):
    """V-39: a plain leaf may receive grad data; under no_grad a leaf may be written."""
    a = torch.ones(3, requires_grad=True)
    plain = torch.zeros(3)
    plain.add_(a)
    with torch.no_grad():
        a.mul_(2)
        a[0] = 7
    plain.sum().backward()
    return [plain.grad_fn, plain.is_leaf, plain.requires_grad, a, a.grad, a._version]


@differential
def test_V_39_order_of_checks(torch):
    """V-39: a forbidden view is reported before the leaf."""
    a = torch.ones(2, 2, requires_grad=True)
    with torch.no_grad():
        quiet = a[0]
    return [raises("A view was created in no_grad mode", quiet.mul_, 2), raises("returns multiple views",
            a.unbind(0)[0].mul_, 2), raises(LEAF_VIEW, a[0].mul_, 2)]  # fmt: skip


@differential
def test_V_39_grad_operand_into_a_view_of_plain_data(torch):
    """V-39: a non-requiring leaf and its view receive grad data."""
    plain = torch.zeros(3)
    v = plain[0:2]
    a = torch.ones(2, requires_grad=True)
    v.mul_(a)
    v.add_(a)
    plain.sum().backward()
    return [plain.grad_fn, v.grad_fn, a.grad, plain]


@differential
def test_V_40_non_view(torch):
    """V-40: the new node gets edges from the old history and becomes the grad_fn."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    old = b.grad_fn
    b.mul_(3)
    found = [b.grad_fn, edges(b.grad_fn), b.grad_fn.next_functions[0][0] is old]
    b.add_(a).exp_()
    b.sum().backward()
    return [*found, graph_of(b.grad_fn), a.grad]


@differential
def test_V_40_every_kind_of_write(torch):
    """V-40: the nodes of fill_, zero_, copy_, item assignment and augmented assignment."""
    a = torch.ones(3, requires_grad=True)

    def after(write):
        b = a * 2
        b = write(b)
        b.sum().backward()
        grad, a.grad = a.grad, None
        return [b, graph_of(b.grad_fn), grad]

    def assign(b, index, value):
        b[index] = value
        return b

    def augmented(b):
        b += a
        b *= a.detach()
        b -= 1
        b /= 2
        return b

    return [
        after(lambda b: b.fill_(3)), after(lambda b: b.zero_()), after(lambda b: b.copy_(torch.ones(3))),
        after(lambda b: assign(b, 0, 5.0)), after(lambda b: assign(b, slice(0, 2), torch.ones(2))),
        after(lambda b: assign(b, [0, 2], 5.0)), after(lambda b: assign(b, b > 100, 5.0)), after(augmented),
        after(lambda b: assign(b, slice(None), a * 3)), after(lambda b: assign(b, ..., 2.0)),
        after(lambda b: assign(b, torch.tensor([0, 1]), a[:2])),
    ]  # fmt: skip


@differential
def test_V_41_copy_slices(torch):
    """V-41: the base's history becomes a CopySlices over the previous history and the write's other edges."""
    a = torch.ones(4, requires_grad=True)
    b = a.clone()
    b[0:2] = torch.ones(2)
    c = a.clone()
    value = torch.ones(2, requires_grad=True)
    c[0:2].copy_(value)
    d = a.clone()
    v = d[0:3]
    w = d[1:4]
    v.mul_(2)
    w.mul_(3)
    d.sum().backward()
    return [
        b.grad_fn,
        edges(b.grad_fn),
        edges(c.grad_fn),
        a.grad,
        v.grad_fn,
        w.grad_fn,
        edges(v.grad_fn),
        graph_of(d.grad_fn),
    ]


@differential
def test_V_41_overlapping_chains(torch):
    """V-41: chains of writes through views of views nest, values and gradients right."""
    a = torch.arange(6.0, requires_grad=True)
    b = (a * 1).view(2, 3)
    row = b[0]
    row[1:].mul_(10)
    b.t()[0].add_(row[0:2].sum())
    col = b[:, 2]
    col.sin_()
    b.mul_(2)
    (b * torch.arange(6.0).view(2, 3)).sum().backward()
    return [b, row, col, a.grad, row.grad_fn, b._version, graph_of(b.grad_fn)]


@differential
def test_V_42_backward_of_copy_slices(torch):
    """V-42: transposed views and value operands get their gradients; a second run after release fails."""
    a = torch.arange(6.0, requires_grad=True)
    value = torch.ones(3, 2, requires_grad=True)
    b = (a * 2).view(2, 3)
    b.t().mul_(value)
    out = (b * b).sum()
    out.backward()
    return [a.grad, value.grad, raises("second time", out.backward)]


@differential
def test_V_42_undefined_result(torch):
    """V-42: where the write's gradient for operand 0 is undefined, nothing of the region flows on."""
    a = torch.arange(4.0, requires_grad=True)
    b = a * 3
    b[1:3].zero_()
    b[0:1].fill_(5)
    b.sum().backward()
    return [a.grad, graph_of(b.grad_fn)]


@differential
def test_V_42_second_order(torch):
    """V-42: CopySlices can be differentiated twice."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a * a
    b[0:2].mul_(b[1:3].clone() * a[0:2])
    (first,) = torch.autograd.grad((b * b).sum(), a, create_graph=True)
    first.pow(2).sum().backward()
    return [first, a.grad]


@differential
def test_V_43_restricted_execution(torch):
    """V-43: the wrapped node computes operand 0 exactly when the base's history is wanted."""
    a = torch.arange(3.0, requires_grad=True)
    value = torch.ones(2, requires_grad=True)
    b = a * 2
    v = b[0:2]
    v.mul_(value)
    out = (b * b).sum()
    grad = torch.autograd.grad
    return [
        grad(out, a, retain_graph=True),
        grad(out, value, retain_graph=True),
        grad(out, [a, value], retain_graph=True),
        grad(v.sum(), value, retain_graph=True),
        grad(v.sum(), a),
    ]


@differential
def test_V_44_staleness(torch):
    """V-44: a view's grad_fn is made anew after a write, once per version."""
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    v = b[0:2]
    first = v.grad_fn
    b.mul_(2)
    second = v.grad_fn
    third = v.grad_fn
    with torch.no_grad():
        b.mul_(2)
    fourth = v.grad_fn
    return [first, second, third is second, fourth is second, fourth, edges(fourth), v]


@differential
def test_V_44_plain_views(torch):
    """V-44: a view of plain data has no grad_fn, whatever is written, until grad data arrives."""
    plain = torch.zeros(3)
    v = plain[0:2]
    plain.add_(1)
    found = [v.grad_fn, v.requires_grad]
    plain.add_(torch.ones(3, requires_grad=True))
    return [*found, v.grad_fn, v.requires_grad, v.is_leaf, edges(v.grad_fn)]


@differential
def test_V_45_regenerated(torch):
    """V-45: an AsStridedBackward0 from the base's current edge, output_nr 0, in all layouts."""
    a = torch.arange(12.0, requires_grad=True)
    b = (a * 1).view(3, 4)
    views = [b[1], b.t(), b[:, 1:3], b.view(2, 6), b.diagonal(), b[::2, ::3], b.expand(2, 3, 4), b.unsqueeze(0)]
    b.mul_(2)
    found = [[v.grad_fn, v.output_nr, edges(v.grad_fn)] for v in views]
    sum((v * v).sum() for v in views).backward()
    return [found, a.grad, views[1].grad_fn._saved_size, views[1].grad_fn._saved_stride]


@differential
def test_V_45_base_with_offset(torch):
    """V-45: works when the base itself starts inside another tensor's memory."""
    a = torch.arange(6.0)
    base = a[2:].detach().requires_grad_()
    b = base.clone()
    data = torch.arange(8.0)[3:].detach()
    leaf = torch.ones(2, requires_grad=True)
    v = data[1:3]
    data.add_(1)
    v.mul_(leaf)
    data[0:2].mul_(3)
    (data * torch.arange(5.0)).sum().backward()
    w = b[1:3]
    b.mul_(2)
    (w * w).sum().backward()
    return [leaf.grad, data, v, base.grad]


def test_V_46_late_requires_grad_warns():
    """V-46: a view taken before base.requires_grad_() would get no gradient; here its first use warns."""
    import retrograd as torch

    base = torch.ones(2)
    view = base[0:1]
    base.requires_grad_()
    assert view.requires_grad
    assert view.grad_fn is None
    assert view.is_leaf
    categories, out = warned("before", lambda: view * 2)
    assert categories == ["UserWarning"]
    assert out.requires_grad
    out.sum().backward()
    assert view.grad is None
    assert base.grad is None


@differential
def test_V_47_grad_data_into_plain_tensors(torch):
    """V-47: copy_, item assignment and writes to a view make the tensor, base and sibling views require grad."""
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    n = torch.zeros(2)
    n.copy_(a)
    m = torch.zeros(2)
    m[0] = a[1]
    base = torch.zeros(4)
    sibling = base[1:3]
    base[0:2].copy_(a)
    (n.sum() + m.sum() + (sibling * 5).sum() + base.sum()).backward()
    return [[t.requires_grad, t.is_leaf, t.grad_fn, edges(t.grad_fn)] for t in (n, m, base, sibling)] + [a.grad]


@differential
def test_V_48_what_is_saved(torch):
    """V-48: ops that need the old self save a clone, those that need the result the result; no self-made error."""
    a = torch.tensor([0.5, 0.25], requires_grad=True)

    def run(write):
        b = a * 1
        write(b)
        saved = getattr(b.grad_fn, "_saved_self", None)
        saved = saved if hasattr(saved, "data_ptr") else None
        (grad,) = torch.autograd.grad(b.sum(), a)
        return [grad, saved, None if saved is None else saved.data_ptr() == b.data_ptr()]

    other = torch.tensor([2.0, 4.0], requires_grad=True)
    return [run(w) for w in (lambda b: b.exp_(), lambda b: b.sin_(), lambda b: b.pow_(3), lambda b: b.mul_(other),
            lambda b: b.sqrt_(), lambda b: b.sigmoid_(), lambda b: b.tanh_(), lambda b: b.log_(), lambda b: b.cos_(),
            lambda b: b.div_(other), lambda b: b.relu_(), lambda b: b.abs_())]  # fmt: skip


@differential
def test_V_48_later_writes_trip(torch):
    """V-48: a later write trips the check of an in-place op that saved its result."""
    a = torch.ones(2, requires_grad=True)
    b = (a * 1).exp_()
    b.mul_(2)
    c = (a * 1).sin_()
    c.mul_(2)
    c.sum().backward()
    return [raises("modified by an inplace operation", b.sum().backward), a.grad]


@differential
def test_V_48_writes_to_views_save_right(torch):
    """V-48: the same through views."""
    a = torch.tensor([0.5, 0.25, 2.0], requires_grad=True)
    b = a * 1
    b[0:2].sin_()
    b[1:].exp_()
    b.sum().backward()
    return [a.grad, b]


@differential
def test_V_49_out(torch):
    """V-49: out= writes without history and is refused when anything requires grad under grad mode."""
    a = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    out = torch.zeros(2)
    phrase = "functions with out=... arguments don't support automatic differentiation"
    result = torch.add(plain, 1, out=out)
    found = [result is out, out, out._version, raises(phrase, torch.add, a, 1, out=out),
             raises(phrase, torch.mul, plain, 2, out=a), raises(phrase, torch.exp, a, out=out)]  # fmt: skip
    with torch.no_grad():
        torch.mul(a, 5, out=out)
    return [*found, out, out.requires_grad]
