"""SPEC rows V-29 to V-38: which tensors are views, how they came to be, and what is then forbidden."""

from __future__ import annotations

import pytest
from both_engines import differential, raises

import retrograd

NO_GRAD = "A view was created in no_grad mode and is being modified inplace with grad mode enabled"
INDIRECT = "its base or another view of its base has been modified inplace"


@differential
def test_V_29_base_is_the_root(torch):
    """V-29: _base is the root, never an intermediate view; detach starts a new root."""
    a = torch.ones(2, 3)
    v = a[0][1:].view(2, 1)
    d = v.detach()
    w = d[0]
    return [v._is_view(), v._base is a, a._base, a._is_view(), d._base, w._base is d, a.clone()._base, a.data._base]


@differential
def test_V_30_views(torch):
    """V-30: basic indexing and shape functions give views of the same memory."""
    a = torch.arange(12.0, requires_grad=True)
    b = (a * 1).view(3, 4)
    made = [
        b[0],
        b[0:2],
        b[None],
        b[...],
        b[1, 2],
        b[:, 1],
        b[-1, ::2],
        b.view(12),
        b.view(2, -1),
        b.view_as(torch.ones(4, 3)),
        b.reshape(6, 2),
        b.t(),
        b.T,
        b.mT,
        b.transpose(0, 1),
        b.permute(1, 0),
        b.movedim(0, 1),
        b.swapaxes(0, 1),
        b.expand(2, 3, 4),
        b.expand_as(b),
        b.squeeze(),
        b.squeeze(0),
        b.unsqueeze(0),
        b.narrow(1, 1, 2),
        b.select(0, 1),
        b.unfold(1, 2, 1),
        b.diagonal(),
        b.as_strided((2, 2), (4, 1)),
        b.flatten(),
        b.ravel(),
        b.unflatten(1, (2, 2)),
        b.swapdims(0, 1),
        torch.transpose(b, 0, 1),
        torch.squeeze(b),
        torch.unsqueeze(b, 1),
        torch.narrow(b, 0, 0, 1),
    ]
    lists = [b.split(2), b.chunk(2, 1), b.unbind(), b.tensor_split(2), b.split([1, 2]), torch.unbind(b, 1)]
    found = [[v._is_view(), v._base is b._base, v.grad_fn, v.stride(), v.storage_offset(), v._version] for v in made]
    return [found, [[v._is_view(), v.grad_fn, v.output_nr, v.shape] for vs in lists for v in vs], made]


@differential
def test_V_30_offsets_of_tensors_that_left_their_base(torch):
    """V-30: offsets count in the memory that a tensor lies in, also after ``data``, ``set_`` or ``resize_``."""

    def other():
        return torch.zeros(12)[3:9]

    def changes(x, y):
        yield lambda: setattr(x, "data", other())
        yield lambda: setattr(y, "data", other())
        yield lambda: x.set_(other())
        yield lambda: y.set_(other())
        yield lambda: x.resize_(40)
        yield lambda: y.resize_(3)

    seen = []
    for nr in range(6):
        x = torch.arange(6.0)
        y, before = x[2:], x.chunk(2)
        y.storage_offset()
        list(changes(x, y))[nr]()
        seen.append([t.storage_offset() for t in (x, y, *before, x[1:], y[1:], *y.chunk(2))])
    return seen


@differential
def test_V_30_not_views(torch):
    """V-30: advanced indexing, clone, and reshape or contiguous that must copy give new memory."""
    a = torch.arange(12.0, requires_grad=True)
    b = (a * 1).view(3, 4)
    made = [
        b.clone(),
        b[[0, 1]],
        b[torch.tensor([0, 2])],
        b[b > 3],
        b.t().reshape(12),
        b.t().contiguous(),
        b.repeat(1, 2),
        b[torch.tensor([0, 1]), 1:3],
        b.double(),
        b.t().flatten(),
        b[True],
    ]
    return [[v._is_view(), v._base is not None, v.grad_fn, v.is_contiguous()] for v in made] + made


@differential
def test_V_30_the_same_object(torch):
    """V-30: contiguous, to, float, flatten and real return the object itself when nothing changes."""
    b = torch.ones(3, requires_grad=True) * 2
    same = [
        b.contiguous(),
        b.to(torch.float32),
        b.float(),
        b.flatten(),
        b.real,
        b.to("cpu"),
        b.cpu(),
        b.type_as(b),
        b.reshape(3),
        b.ravel(),
        b.view(3),
        b[...],
        b.squeeze(),
        b.view_as(b),
        b.expand(3),
        b.resolve_conj(),
    ]
    return [v is b for v in same]


@differential
def test_V_30_complex_views(torch):
    """V-30: real, imag, view_as_real and view_as_complex share memory and history."""
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = z * 1
    found = [[v._is_view(), v.grad_fn, v] for v in (w.real, w.imag, torch.view_as_real(w))]
    r = torch.ones(2, 2, requires_grad=True) * 3
    c = torch.view_as_complex(r)
    (w.imag * 2).sum().backward()
    return [found, c._is_view(), c.grad_fn, c.abs(), z.grad.imag]


@differential
def test_V_31_views_share_the_version(torch):
    """V-31: a view adopts the base's version counter, whatever it was before."""
    a = torch.ones(4)
    a.add_(1)
    v = a[1:]
    w = v[0]
    w.add_(1)
    return [v._version, w._version, a._version, a]


@differential
def test_V_32_tags_are_inherited(torch):
    """V-32: a normal view of a no_grad view, and of an unbind output, stays forbidden."""
    a = torch.ones(2, 2, requires_grad=True).clone()
    with torch.no_grad():
        quiet = a[0]
    x, _ = a.unbind(0)
    return [
        raises("Output 0 of Select is a view of a view which was created in no_grad mode", quiet[0].mul_, 2),
        raises("Output 0 of Select is a view and is being modified inplace", x[0].mul_, 2),
        raises("Such functions do not allow the output views to be modified inplace", x.view(2).mul_, 2),
    ]


@differential
def test_V_33_default_views_may_be_written(torch):
    """V-33: an ordinary view may be written, unless its base is a leaf that requires grad."""
    a = torch.ones(2, requires_grad=True)
    b = a * 1
    b[0].mul_(3)
    b.sum().backward()
    return [a.grad, raises("a view of a leaf Variable that requires grad is being used in an in-place operation",
                           a[0].mul_, 2)]  # fmt: skip


def _as_is(torch):
    class AsIs(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(2)

        @staticmethod
        def backward(ctx, g):
            return g * 7

    return AsIs


@differential
def test_V_34_custom_function(torch):
    """V-34: a view made in a custom Function must not be written, nor used for grad_fn after its base was."""
    a = torch.ones(2, requires_grad=True)
    v = _as_is(torch).apply(a.clone())
    w_base = a.clone()
    w = _as_is(torch).apply(w_base)
    w_base.mul_(2)
    return [
        raises("Output 0 of AsIs is a view and is being modified inplace", v.mul_, 2),
        raises("created inside a custom Function", v.__setitem__, 0, 1.0),
        raises("cloning the output", v.zero_),
        raises(INDIRECT, lambda: w.grad_fn),
        raises("Output 0 of AsIs is a view and its base", lambda: w * 2),
        v.clone().mul_(2), w.detach(),
    ]  # fmt: skip


@differential
def test_V_35_multi_output(torch):
    """V-35: outputs of unbind, split, chunk and iteration must not be written under grad mode."""
    a = torch.ones(4, 2, requires_grad=True).clone()
    phrase = "This view is the output of a function that returns multiple views"
    advice = "out-of-place one"
    found = [
        raises("Output 0 of Unbind is a view and is being modified inplace", a.unbind(0)[0].mul_, 2),
        raises(phrase, a.split(2)[1].mul_, 2),
        raises(advice, a.chunk(2)[0].add_, 2),
        raises("Output 1 of Split", a.split(2)[1].zero_),
        raises(phrase, next(iter(a)).mul_, 2),
        raises("Output 0 of SplitWithSizes", a.split([1, 3])[0].mul_, 2),
    ]
    piece = a.tensor_split(2)[0]
    piece.mul_(2)
    return [*found, piece.grad_fn, a.grad_fn, a]


@differential
def test_V_35_plain_data_is_fine(torch):
    """V-35: pieces of plain data may be written, also under no_grad; a grad operand is refused."""
    plain = torch.ones(4)
    x, y = plain.split(2)
    x.mul_(3)
    grad = torch.ones(2, requires_grad=True)
    found = [plain, raises("A view was created in no_grad mode", y.mul_, grad)]
    a = torch.ones(4, requires_grad=True).clone()
    p, q = a.split(2)
    with torch.no_grad():
        p.mul_(2)
    return [*found, a, raises(INDIRECT, lambda: p.grad_fn), raises(INDIRECT, lambda: q.sum())]


@differential
def test_V_35_use_after_the_base_was_written(torch):
    """V-35: such a view used after its base was written raises at the use."""
    a = torch.ones(2, 2, requires_grad=True).clone()
    x, y = a.unbind(0)
    a.mul_(2)
    return [raises("Output 0 of Unbind is a view and its base", x.sum), raises("returns multiple views", y.sum)]


@differential
def test_V_36_no_grad_views(torch):
    """V-36: a view made under no_grad inherits requires_grad but has no grad_fn and must not be written."""
    a = torch.ones(2, requires_grad=True).clone()
    with torch.no_grad():
        v = a[0:1]
    found = [v.requires_grad, v.grad_fn, v.is_leaf, v * 2, v[0].requires_grad]
    found += [raises(NO_GRAD, v.mul_, 2), raises("ambiguous and error-prone", v.zero_),
              raises("inside the no_grad block", v.fill_, 1.0)]  # fmt: skip
    with torch.no_grad():
        v.mul_(5)
    return [*found, a, raises(INDIRECT, lambda: v.grad_fn), raises(INDIRECT, lambda: v * 2), "grad_fn" in repr(v)]


@differential
def test_V_36_after_a_base_write(torch):
    """V-36: after any write to the base, asking for grad_fn raises, reading values works."""
    a = torch.ones(2, requires_grad=True).clone()
    with torch.no_grad():
        v = a[0:1]
        a.add_(1)
    return [raises(INDIRECT, lambda: v.grad_fn), v.tolist(), v.detach(), v.requires_grad]


@differential
def test_V_36_plain_base(torch):
    """V-36: a plain tensor's no_grad view takes plain data, not an operand that requires grad."""
    plain = torch.ones(2)
    with torch.no_grad():
        v = plain[0:1]
    v.mul_(2)
    grad = torch.ones(1, requires_grad=True)
    return [plain, v.grad_fn, raises(NO_GRAD, v.mul_, grad), raises(NO_GRAD, v.copy_, grad)]


@differential
def test_V_36_chained(torch):
    """V-36: a normal view taken from a no_grad view is refused with the longer sentence."""
    a = torch.ones(2, requires_grad=True).clone()
    with torch.no_grad():
        v = a[0:2]
    w = v.view(2, 1)
    phrase = "Output 0 of View is a view of a view which was created in no_grad mode and is being modified"
    return [w.requires_grad, w.grad_fn, raises(phrase, w.mul_, 2)]


@differential
def test_V_36_no_grad_view_of_a_leaf(torch):
    """V-36: a leaf's view under no_grad may be written there, which changes the leaf."""
    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        a[0] = 5
        a[1:].mul_(3)
        v = a[0:1]
    return [a, a._version, v.is_leaf, v.requires_grad, raises(NO_GRAD, v.mul_, 2)]


@differential
def test_V_37_inference_views(torch):
    """V-37: views of normal tensors made in inference mode are no inference tensors and must not be written outside."""
    a = torch.ones(2, requires_grad=True).clone()
    plain = torch.ones(2)
    with torch.inference_mode():
        v = a[0:1]
        v.mul_(3)
        w = plain[0:1]
        w.add_(1)
        inner = v[0]
    phrase = "A view was created in inference mode and is being modified inplace in normal mode"
    found = [
        v.is_inference(),
        w.is_inference(),
        v._is_view(),
        v._base is a,
        v.requires_grad,
        a,
        a._version,
        inner.is_inference(),
    ]
    w.add_(1)
    grad = torch.ones(1, requires_grad=True)
    return [*found, plain, raises(phrase, v.mul_, 2), raises("inside the inference_mode block", v.zero_),
            raises(phrase, w.mul_, grad), raises("in inference mode and its base", lambda: v.grad_fn)]  # fmt: skip


@differential
def test_V_38_messages(torch):
    """V-38: the message names output, node and mode; exactly PyTorch's words."""

    def text(call):
        with pytest.raises(RuntimeError) as caught:
            call()
        return str(caught.value)

    a = torch.ones(2, 2, requires_grad=True).clone()
    with torch.no_grad():
        quiet = a[0]
    _, y = a.unbind(0)
    z = _as_is(torch).apply(torch.ones(2, requires_grad=True).clone())
    with torch.inference_mode():
        v = a[0]
    direct = [text(lambda t=t: t.mul_(2)) for t in (quiet, quiet[0], y, z, v)]
    a.mul_(2)
    return direct + [text(lambda t=t: t.grad_fn) for t in (quiet, y, v)]


def test_V_38_advice_is_one_sentence_per_tag():
    """V-38: each tag's message ends with advice of its own."""
    a = retrograd.ones(2, 2, requires_grad=True).clone()
    with retrograd.no_grad():
        quiet = a[0]
    texts = []
    for t in (quiet, a.unbind(0)[0]):
        with pytest.raises(RuntimeError) as caught:
            t.mul_(2)
        texts.append(str(caught.value).split("inplace", 1)[1])
    assert texts[0] != texts[1]


@differential
def test_V_36_views_that_are_turned_in_place(torch):
    """V-36: a view that is turned in place under ``no_grad`` stays what it was made as, and is refused in its words."""

    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    turns = [lambda v: v.transpose_(0, 0), lambda v: v.t_(), lambda v: v.squeeze_(0), lambda v: v.unsqueeze_(0),
             lambda v: v.as_strided_((1, 0), (2, 2)), lambda v: v.swapaxes_(0, 0)]  # fmt: skip
    made = [lambda x: x.view_as(x), lambda x: x.unbind()[0], Seen.apply]
    found = []
    for turn in turns:
        for make in made:
            for made_recorded in (True, False):
                base = torch.ones(2, 3, requires_grad=True).clone()
                with torch.set_grad_enabled(made_recorded):
                    v = make(base)
                with torch.no_grad():
                    turn(v)
                try:
                    v.add_(1)
                except RuntimeError as error:
                    found.append(str(error).split(".")[0])
                else:
                    found.append("written")
    return found
