"""Names that older programs use: list-wise operators, Resize, torch._C and autograd's submodules."""

from __future__ import annotations

import importlib
import math

import pytest
from both_engines import differential, raises


@differential
def test_foreach(torch):
    """``_foreach_*`` apply an operator to every tensor of a list, recorded and in place."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0])
    made = torch._foreach_exp([a, b])
    torch._foreach_add_([b], 1)
    torch._foreach_mul_((b,), [2.0])
    scaled = torch._foreach_add([a, b], [a, b], alpha=2)
    made[0].sum().backward()
    bounded = (
        [torch.tensor([1.0, math.nan, 3.0]), torch.tensor([4])],
        [torch.tensor([2.0, 2.0, math.nan]), torch.tensor([3])],
    )
    torch._foreach_maximum_(bounded[0][:1], bounded[1][:1])
    torch._foreach_minimum_(*[pair[1:] for pair in bounded])
    torch._foreach_zero_([b])
    return (
        [t.detach() for t in (*made, *scaled)], [str(t.tolist()) for t in bounded[0]],
        type(made).__name__, made[0].requires_grad, a.grad, b,
        raises("must have at least one tensor", torch._foreach_add_, [], 1), raises("", torch._foreach_add_, 3, 1),
        raises("same number of elements as scalar list", torch._foreach_add_, [b], [1.0, 2.0]),
        raises("must have the same number of tensors, got 1 and 2", torch._foreach_add_, [b], [b, b]),
    )  # fmt: skip


@differential
def test_foreach_of_several_lists(torch):
    """List-wise operators with more operands, as optimizers use them: one for all, one each, or a vector of numbers."""
    grads = [torch.tensor([0.5, -1.0]), torch.tensor([2.0])]
    means = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]
    leaf = torch.tensor([4.0, 9.0], requires_grad=True)
    returned = torch._foreach_lerp_(means, grads, 0.1)
    torch._foreach_addcmul_(means, grads, grads, value=0.5)
    torch._foreach_addcdiv_(means, grads, torch._foreach_sqrt(torch._foreach_maximum(means, 0.25)), [-1.0, 2.0])
    made = [
        torch._foreach_addcmul([leaf], [leaf], [leaf])[0], torch._foreach_lerp([leaf], [leaf * 2], weight=[0.5])[0],
        torch._foreach_pow(2.0, [leaf])[0], torch._foreach_minimum([leaf], [5.0])[0], torch._foreach_max([leaf])[0],
    ]  # fmt: skip
    sum(t.sum() for t in made).backward()
    one, two = torch.ones(1), torch.ones(2)
    return (
        returned is means, means, leaf.grad, [t.detach() for t in made],
        torch._foreach_addcdiv([one, one], [one, one], [one, one], two), torch._foreach_powsum([two], 3),
        torch._foreach_mm([torch.eye(2)], [torch.ones(2, 2)]), torch._foreach_mul([two], torch.tensor(3.0)),
        raises("expected to be 0 dim but it has 1 dimensions", torch._foreach_add, [one], one),
        raises("packed scalar Tensor to be of dimension 1", torch._foreach_addcmul, [one], [one], [one], one[0]),
        raises("invalid combination", torch._foreach_lerp_, [one], one, 0.5), hasattr(torch, "_foreach_zero"),
    )  # fmt: skip


@differential
def test_resize_function(torch):
    """The old Resize Function reshapes, also what is not contiguous, and gives the gradient the old shape."""
    resize = importlib.import_module(f"{torch.__name__}.autograd._functions").Resize
    a = torch.arange(6.0).view(2, 3).t().requires_grad_()
    y = resize.apply(a, (6,))
    (y * torch.arange(6.0)).sum().backward()
    return y, y.grad_fn.name(), a.grad, raises("requested resize to 4 (4 elements in total)", resize.apply, a, (4,))


@differential
def test_delayed_error_and_undefined_grad(torch):
    """DelayedError raises in backward, UndefinedGrad passes nothing on; both check their arguments."""
    functions = torch._C._functions
    a = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    one = functions.DelayedError("not today", 1)(a)
    two = functions.DelayedError("not today", 2)(a, plain)
    undefined = functions.UndefinedGrad()(a * 2)
    undefined.sum().backward()
    return (
        one, one.grad_fn.name(), type(one.grad_fn).__name__, raises("not today", one.sum().backward),
        two, two[1].output_nr, [n and n.name() for n, _ in two[0].grad_fn.next_functions],
        undefined, undefined.grad_fn.name(), a.grad, functions.DelayedError("x", 1)(plain).grad_fn,
        raises("expected 2 arguments, got 1", functions.DelayedError("x", 2), a),
        raises("expected 1 arguments, got 2", functions.UndefinedGrad(), a, a),
        raises("is not a Variable", functions.UndefinedGrad(), 3),
        isinstance(one.grad_fn, torch.autograd.graph.Node),
    )  # fmt: skip


@differential
def test_c_layer(torch):
    """What torch._C offers about tensors, saved values and switches."""
    c = torch._C
    t = torch.ones(2)
    ref = c._WeakTensorRef(t)
    alive = ref.expired()
    del t
    a = torch.ones(2, requires_grad=True)
    saved = c._autograd._make_saved_tensor(a, False)
    c._autograd._unsafe_set_version_counter((a,), (5,))
    version = a._version
    c._autograd._unsafe_set_version_counter((a,), (0,))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t * 10):
        hooked = c._autograd._make_saved_tensor(a, False)
    return (
        alive, ref.expired(), saved.unpack() is a, version, a._version, hooked.unpack(), c.is_grad_enabled(),
        isinstance(torch.autograd.graph.get_gradient_edge(a).node, c._functions.AccumulateGrad),
        hasattr(c._functions, "MulBackward0"), hasattr(c._functions, "NoSuchBackward0"),
        raises("", c._set_grad_enabled, 3),
    )  # fmt: skip


@differential
def test_current_level(torch):
    """The forward-mode module tells the open level."""
    fw = torch.autograd.forward_ad
    found = [fw._current_level]
    with fw.dual_level():
        found.append(fw._current_level)
    return found, fw._current_level


@pytest.mark.parametrize("name", ["_functions", "variable", "graph", "grad_mode", "anomaly_mode", "forward_ad"])
def test_submodules(name):
    """Autograd's submodules are attributes of the package, as in PyTorch."""
    import retrograd

    assert getattr(retrograd.autograd, name) is importlib.import_module(f"retrograd.autograd.{name}")
