"""SPEC rows V-01 to V-09 and V-63 to V-65: a tensor's autograd record, conversions and ``Tensor.backward``."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

from both_engines import differential, edges, raises, warned


@differential
def test_V_01_record_is_made_on_demand(torch):
    """V-01: a tensor nobody asked anything of is a plain leaf without gradient."""
    t = torch.zeros(2)
    return [t.requires_grad, t.is_leaf, t.grad, t.grad_fn, t._version, t._base, t._backward_hooks, t.retains_grad]


@differential
def test_V_02_fields_of_the_record(torch):
    """V-02: each field of the record shows its default and what was set."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    b.retain_grad()
    v = b[0]
    return [
        [a.name, a.grad, a.grad_fn, a.requires_grad, a.retains_grad, a._is_view(), a.output_nr, a.grad_dtype],
        [b.retains_grad, b.is_leaf, b.grad_fn, b._is_view(), v._is_view(), v._base is b],
    ]


@differential
def test_V_03_requires_grad(torch):
    """V-03: the leaf flag, a grad_fn, or the base of a view make a tensor require grad."""
    a = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    with torch.no_grad():
        quiet = a[0]
        made = a * 2
    late = torch.ones(2)
    view = late[0]
    late.requires_grad_()
    found = [a.requires_grad, (a * 2).requires_grad, a[0].requires_grad, plain.requires_grad, quiet.requires_grad]
    return [*found, made.requires_grad, view.requires_grad, (a > 0).requires_grad, a.long().requires_grad]


@differential
def test_V_04_changing_requires_grad(torch):
    """V-04: only leaves of floating dtype may change; the method is tolerant of True on a non-leaf."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    i = torch.ones(2, dtype=torch.int64)
    found = [
        raises("you can only change requires_grad flags of leaf variables", setattr, b, "requires_grad", True),
        raises("use var_no_grad = var.detach()", setattr, b, "requires_grad", False),
        b.requires_grad_() is b,
        b.requires_grad_(True).requires_grad,
        raises("you can only change requires_grad flags of leaf variables", b.requires_grad_, False),
        raises("only Tensors of floating point", setattr, i, "requires_grad", True),
        raises("only Tensors of floating point", i.requires_grad_),
        raises("Only Tensors of floating point and complex dtype", torch.tensor, [1, 2], requires_grad=True),
        raises(
            "Only Tensors of floating point and complex dtype", torch.ones, 2, dtype=torch.int64, requires_grad=True
        ),
        raises("requires_grad must be a bool", setattr, a, "requires_grad", 1),
        i.requires_grad_(False).requires_grad,
        torch.ones(2, dtype=torch.complex64, requires_grad=True).requires_grad,
    ]
    with torch.no_grad():
        c = torch.ones(2).requires_grad_()
    a.requires_grad = False
    return [*found, c.requires_grad, a.requires_grad, (a * 2).requires_grad]


@differential
def test_V_04_requires_grad_on_inference_tensor(torch):
    """V-04: an inference tensor may ask for gradients only inside inference mode."""
    with torch.inference_mode():
        t = torch.ones(2)
        inside = torch.ones(2).requires_grad_().requires_grad
        made = torch.ones(2, requires_grad=True).requires_grad
    return [inside, made, raises("Setting requires_grad=True on inference tensor", t.requires_grad_)]


@differential
def test_V_04_views_without_history_may_change(torch):
    """V-04: a view made under no_grad, or of a plain tensor, is a leaf whose flag can be set."""
    base = torch.ones(3)
    v = base[0:2]
    v.requires_grad_()
    (v * 3).sum().backward()
    return [v.requires_grad, base.requires_grad, v.is_leaf, v.grad]


@differential
def test_V_05_is_leaf(torch):
    """V-05: no grad_fn means leaf; the attribute is read-only."""
    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        view = a[0]
    found = [a.is_leaf, (a * 2).is_leaf, torch.ones(2).is_leaf, a[0].is_leaf, view.is_leaf, a.detach().is_leaf]
    return [*found, raises("", setattr, a, "is_leaf", True)]


@differential
def test_V_05_asking_a_stale_forbidden_view(torch):
    """V-05: asking is_leaf of a no_grad view whose base was written raises."""
    a = torch.ones(2, requires_grad=True).clone()
    with torch.no_grad():
        v = a[0]
    before = v.is_leaf
    a.mul_(2)
    return [before, raises("its base or another view of its base has been modified inplace", lambda: v.is_leaf)]


@differential
def test_V_06_output_nr(torch):
    """V-06: output_nr is the input of grad_fn, 0 for leaves, read-only."""
    a = torch.ones(2, 2, requires_grad=True)
    x, y = a.unbind(0)
    values, places = a.max(0)
    found = [a.output_nr, x.output_nr, y.output_nr, values.output_nr, places.output_nr, (x + y).output_nr]
    return [*found, x.grad_fn is y.grad_fn, raises("", setattr, a, "output_nr", 1)]


@differential
def test_V_07_grad_fn(torch):
    """V-07: grad_fn is read-only; _grad_fn takes only None and then detaches."""
    a = torch.ones(2, requires_grad=True)
    b = a * 2
    found = [a.grad_fn, b.grad_fn, b.grad_fn is b.grad_fn, raises("", setattr, b, "grad_fn", None)]
    found.append(raises("can be only set to None", setattr, b, "_grad_fn", 3))
    b._grad_fn = None
    return [*found, b.grad_fn, b.requires_grad, b.is_leaf]


@differential
def test_V_08_gradient_edges(torch):
    """V-08: a node's edges follow the operands in order, with an invalid edge where no gradient flows."""
    a = torch.ones(2, requires_grad=True)
    x, y = (a * 2).unbind(0)
    plain = torch.ones(2)
    joined = torch.stack([y, x, plain[0]])
    return [edges((a * a).grad_fn), edges((a * plain).grad_fn), edges((plain * a).grad_fn), edges(joined.grad_fn),
            (a * a).grad_fn.next_functions[0][0] is (a + 1).grad_fn.next_functions[0][0]]  # fmt: skip


@differential
def test_V_09_setting_the_gradient_edge(torch):
    """V-09: a custom Function overwrites grad_fn and output_nr of what it returns, a view's included."""

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x[0]

        @staticmethod
        def backward(ctx, g, h):
            return g * 2

    a = torch.ones(2, requires_grad=True)
    first, second = Both.apply(a)
    return [first.grad_fn, first.output_nr, second.grad_fn, second.output_nr, second._base is a, edges(first.grad_fn)]


@differential
def test_V_63_name(torch):
    """V-63: a tensor's name is None by default."""
    return [torch.ones(2).name, torch.ones(2, requires_grad=True).name]


@differential
def test_V_64_numpy(torch):
    """V-64: numpy() shares memory and is refused for tensors that require grad."""
    a = torch.ones(2, requires_grad=True)
    plain = torch.zeros(2)
    plain.numpy()[0] = 5
    detached = a.detach()
    detached.numpy()[1] = 7
    return [
        plain, a.detach(), plain._version,
        raises("Can't call numpy() on Tensor that requires grad", a.numpy),
        raises("Can't call numpy() on Tensor that requires grad", (a * 2).numpy),
        a.numpy(force=True).tolist(), a.tolist(), (a * 2).tolist(),
    ]  # fmt: skip


@differential
def test_V_64_scalars(torch):
    """V-64: float() and item() of a tensor that requires grad work; one of them warns as PyTorch does."""
    a = torch.tensor([3.5], requires_grad=True)
    phrase = "Converting a tensor with requires_grad=True to a scalar"
    return [
        warned(phrase, float, a), warned(phrase, a.item), warned(phrase, int, a), warned(phrase, float, torch.ones(1)),
        warned(phrase, complex, torch.ones(1)), bool(torch.tensor(0.0)), bool(torch.tensor([2])), int(torch.tensor(7)),
        raises("Boolean value of Tensor with more than one value is ambiguous", bool, torch.ones(2)),
        raises("cannot be converted to Scalar", torch.ones(2).item),
    ]  # fmt: skip


@differential
def test_V_64_bool_of_grad_requiring(torch):
    """V-64: truth and comparison of a grad-requiring scalar work silently."""
    a = torch.tensor(2.0, requires_grad=True)
    return [bool(a), bool(a > 1), [1, 2, 3][torch.tensor(1)], raises("", lambda: [1][torch.tensor(0.5)])]


@differential
def test_V_64_deepcopy(torch):
    """V-64: deepcopy keeps requires_grad and grad of leaves and refuses interior tensors."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    (a * a).sum().backward()
    a.note = ["mine"]
    b = copy.deepcopy(a)
    b.grad[0] = 100
    pair = copy.deepcopy([a, a])
    shallow = copy.copy(a)
    return [
        b, b.grad, a.grad, b.note, b.note is a.note, pair[0] is pair[1], b.is_leaf, b._version,
        shallow.requires_grad, shallow is a,
        raises("Only Tensors created explicitly by the user", copy.deepcopy, a * 2),
    ]  # fmt: skip


@differential
def test_V_64_deepcopy_of_views(torch):
    """V-64: deepcopy of a tensor without history copies the data and is no view."""
    base = torch.arange(6.0).view(2, 3)
    copied = copy.deepcopy(base.t())
    both = copy.deepcopy([base, base[0]])
    both[0][0, 0] = 50
    return [copied, copied.stride(), copied._is_view(), both]


@differential
def test_V_64_pickle(torch):
    """V-64: pickling keeps data, requires_grad and attributes, never the graph."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = pickle.loads(pickle.dumps(a))
    c = pickle.loads(pickle.dumps(torch.arange(3)))
    return [b, b.is_leaf, b.grad, c, pickle.loads(pickle.dumps(torch.float32)) is torch.float32]


@differential
def test_V_64_hooks_are_not_pickled(torch):
    """V-64: a pickled tensor has no hooks, which a warning tells unless they are marked."""
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    a.register_hook(lambda g: g * 2)
    b.register_hook(torch.utils.hooks.unserializable_hook(lambda g: g * 2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        copies = [pickle.loads(pickle.dumps(t)) for t in (a, b)]
    for t in copies:
        t.sum().backward()
    return ["on tensor will not be serialized" in str(w.message) for w in told], [t.grad for t in copies]


@differential
def test_old_types_are_classes(torch):
    """Tensors are instances of the old type of their dtype, which makes such tensors."""
    x = torch.ones(2)
    kinds = (torch.FloatTensor, torch.DoubleTensor, torch.LongTensor, torch.BoolTensor)
    made = [kind([1, 0]) for kind in kinds]
    return [isinstance(x, kind) for kind in kinds], [isinstance(3, kind) for kind in kinds], made, x.type(kinds[1])


@differential
def test_V_64_save_and_load(torch):
    """V-64: torch.save and torch.load round-trip tensors inside containers."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    file = io.BytesIO()
    torch.save({"a": a, "n": [1, "x"], "d": a.detach()}, file)
    file.seek(0)
    return torch.load(file)


@differential
def test_V_64_repr(torch):
    """V-64: the printed form names grad_fn, requires_grad or the tangent."""
    a = torch.tensor([1.0, 2.5], requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.zeros(2))
        texts = [repr(dual)]
    x, _ = a.unbind(0)
    v = a.clone()[0:1]
    return [*texts, repr(a), repr(a * 2), repr(a.detach()), repr(a.sum()), repr(x), repr(v), repr(torch.ones(2) > 0),
            repr(torch.tensor([1, 2])), repr(torch.ones(2, dtype=torch.float64)), str(torch.tensor(3.25))]  # fmt: skip


@differential
def test_V_64_repr_of_special_tensors(torch):
    """V-64: a custom Function's name, an accumulated leaf and an invalid view show in the printed form."""

    class Mine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    a = torch.ones(2, requires_grad=True)
    b = a.clone()
    with torch.no_grad():
        v = b[0]
        b.mul_(2)
    p = torch.nn.Parameter(torch.ones(2))
    return [repr(Mine.apply(a)), repr(v), repr(p)]


@differential
def test_V_65_backward(torch):
    """V-65: Tensor.backward returns None and takes gradient, retain_graph, create_graph and inputs."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    out = a * b
    found = [out.backward(torch.ones(2), retain_graph=True), a.grad, b.grad]
    out.backward(gradient=torch.tensor([1.0, 10.0]), inputs=[a], retain_graph=True)
    found += [a.grad.clone(), b.grad.clone()]
    out.backward(torch.ones(2), create_graph=True, inputs=b)
    return [*found, b.grad, b.grad.grad_fn, raises("", out.backward)]
