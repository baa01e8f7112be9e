"""Memory formats: strides, values and nodes of copies and of new tensors are PyTorch's (V-11: of gradients, too)."""

from __future__ import annotations

import copy
import itertools

import pytest

import retrograd

torch = pytest.importorskip("torch")


def _matrix(t):
    return t.arange(6.0).reshape(2, 3)


def _images(t):
    return t.arange(120.0).reshape(2, 3, 4, 5)


SOURCES = {
    "rows": _matrix,
    "columns": lambda t: _matrix(t).t(),
    "gaps": lambda t: t.arange(24.0).reshape(4, 6)[:, ::2],
    "gaps in columns": lambda t: t.arange(24.0).reshape(4, 6)[:, ::2].t(),
    "expanded": lambda t: t.arange(3.0).expand(2, 3),
    "expanded columns": lambda t: t.arange(3.0).expand(2, 3).t(),
    "one column": lambda t: t.arange(3.0).reshape(3, 1).t(),
    "number": lambda t: t.tensor(1.0),
    "images": _images,
    "images, channels at the end": lambda t: _images(t).permute(0, 2, 3, 1),
    "images, channels last": lambda t: _images(t).permute(0, 3, 1, 2),
    "cut images": lambda t: _images(t)[:, :, ::2],
    "one channel": lambda t: t.zeros(2, 1, 3, 4),
    "one pixel": lambda t: t.zeros(2, 3, 1, 1),
    "one image": lambda t: t.zeros(1, 3, 2, 2),
    "expanded images": lambda t: t.zeros(2, 1, 4, 5).expand(2, 3, 4, 5),
    "no channels": lambda t: t.zeros(2, 0, 4, 5),
    "sequences": lambda t: t.zeros(2, 3, 4),
    "volumes": lambda t: t.zeros(2, 3, 4, 5, 6),
    "volumes, channels last": lambda t: t.zeros(2, 4, 5, 6, 3).permute(0, 4, 1, 2, 3),
}
FORMATS = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d", None]
LIKE = ["empty_like", "zeros_like", "ones_like", "rand_like", "randn_like"]


def _leaf(x):
    return x.detach().requires_grad_()


def _gradient(t, x, how):
    leaf = x.detach().clone().requires_grad_()
    (leaf.clone(**how) * 2).sum().backward()
    return leaf.grad


CALLS = {
    **{name: lambda t, x, how, name=name: getattr(x, name)(**how) for name in ("clone", "contiguous", "cpu", "double")},
    **{name: lambda t, x, how, name=name: getattr(t, name)(x, **how) for name in LIKE},
    "full_like": lambda t, x, how: t.full_like(x, 3.0, **how),
    "randint_like": lambda t, x, how: t.randint_like(x, 3, **how),
    "is_contiguous": lambda t, x, how: x.is_contiguous(**how),
    "to": lambda t, x, how: x.to(t.float32, **how),
    "cast": lambda t, x, how: x.to(t.float64, **how),
    "copied": lambda t, x, how: x.to(t.float32, copy=True, **how),
    "like another": lambda t, x, how: x.to(t.zeros(2, dtype=t.float64), **how),
    "resize_": lambda t, x, how: x.clone().resize_(x.shape, **how),
    "resize_ to another size": lambda t, x, how: t.empty(0).resize_(x.shape, **how),
    "resize_as_": lambda t, x, how: t.empty(0).resize_as_(x, **how),
    "recorded clone": lambda t, x, how: _leaf(x).clone(**how),
    "recorded contiguous": lambda t, x, how: _leaf(x).contiguous(**how),
    "recorded cast": lambda t, x, how: _leaf(x).double(**how),
    "recorded to": lambda t, x, how: _leaf(x).to(t.float32, **how),
    "gradient": _gradient,
    "deepcopy": lambda t, x, how: copy.deepcopy(x),
    "empty": lambda t, x, how: t.empty(x.shape, **how),
}


def _seen(t, call, x, wanted):
    how = {} if wanted is None else {"memory_format": getattr(t, wanted)}
    try:
        made = call(t, x, how)
    except RuntimeError as error:
        return type(error), str(error).split(" format")[0].split(":")[0]
    if not hasattr(made, "stride"):
        return made
    node = None if made.grad_fn is None else made.grad_fn.name()
    return tuple(made.shape), tuple(made.stride()), made.is_contiguous(), str(made.dtype), node


@pytest.mark.parametrize("call", CALLS)
def test_strides_in_a_memory_format(call):
    for (source, make), wanted in itertools.product(SOURCES.items(), FORMATS):
        ours, theirs = (_seen(t, CALLS[call], make(t), wanted) for t in (retrograd, torch))
        assert ours == theirs, (source, wanted)


@pytest.mark.parametrize("source", SOURCES)
def test_copies_have_the_same_values(source):
    x = SOURCES[source](retrograd)
    for wanted in FORMATS:
        try:
            y = x.clone() if wanted is None else x.clone(memory_format=getattr(retrograd, wanted))
        except RuntimeError:
            continue
        assert retrograd.equal(x, y)
        assert not y.numel() or y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(("layer", "wanted"), [("Conv2d", "channels_last"), ("Conv3d", "channels_last_3d")])
def test_modules_take_a_memory_format_for_images(layer, wanted):
    def seen(t):
        net = t.nn.Sequential(getattr(t.nn, layer)(3, 4, 2), t.nn.Flatten(), t.nn.Linear(4, 2))
        assert net.to(memory_format=getattr(t, wanted)) is net
        net(t.ones(2, *[3 if i == 0 else 2 for i in range(net[0].weight.ndim - 1)])).sum().backward()
        return [(tuple(p.stride()), tuple(p.grad.stride())) for p in net.parameters()]

    assert seen(retrograd) == seen(torch)


def test_a_leaf_in_channels_last_has_such_a_gradient():
    """V-11: the gradient is laid out like its leaf, also when it is added to one that is there."""

    def seen(t):
        leaf = t.ones(2, 3, 4, 5).to(memory_format=t.channels_last).requires_grad_()
        found = []
        for _ in range(2):
            (leaf * t.ones(2, 3, 4, 5)).sum().backward()
            found.append(tuple(leaf.grad.stride()))
        return found

    assert seen(retrograd) == seen(torch)


@pytest.mark.parametrize("name", ["clone", "contiguous", "is_contiguous", "to", "double"])
def test_what_is_no_memory_format_is_refused(name):
    with pytest.raises(TypeError, match="must be torch.memory_format, not int"):
        getattr(retrograd.ones(2), name)(memory_format=3)


def test_a_memory_format_is_an_argument_by_name():
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        _images(retrograd).to(retrograd.channels_last)
