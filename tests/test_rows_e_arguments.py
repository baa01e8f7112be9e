"""SPEC rows E-01 to E-06: what backward and grad take, return and refuse."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import pytest
from both_engines import differential, raises, warned

import retrograd


def three(torch):
    """A leaf, an interior tensor, a sum."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 3
    return a, b, (b * b).sum()


@differential
def test_E_01_roots_and_gradients(torch):
    """E-01: one tensor or an iterable; create_graph keeps the graph; the result is None."""
    a, b, total = three(torch)
    found = [torch.autograd.backward(total, retain_graph=True), a.grad.clone()]
    torch.autograd.backward((total, b), (None, torch.ones(2)), retain_graph=True)
    found.append(a.grad.clone())
    torch.autograd.backward(iter([b]), [torch.ones(2)], retain_graph=True)
    found.append(a.grad.clone())
    found.append(torch.autograd.backward([]))
    c, _, other = three(torch)
    _, _ = warned("", other.backward, create_graph=True)
    kept = c.grad.requires_grad
    other.backward()
    found.append(kept)
    return found


@differential
def test_E_01_inputs(torch):
    """E-01: only the inputs accumulate; a tensor, several, or the values of a dict; non-leaves retain from then on."""
    a, b, total = three(torch)
    c = torch.tensor([5.0, 6.0], requires_grad=True)
    loss = total + (c * b).sum()
    loss.backward(inputs=[b], retain_graph=True)
    found = [a.grad, b.retains_grad, b.grad.clone(), c.grad]
    loss.backward(inputs={"c": c}, retain_graph=True)
    loss.backward(inputs=(x for x in (a,)), retain_graph=True)
    loss.backward(inputs=a, retain_graph=True)
    found += [a.grad, c.grad, b.grad]
    unreachable = torch.ones(1, requires_grad=True)
    loss.backward(inputs=[unreachable])
    return found, unreachable.grad


@differential
def test_E_01_misuse(torch):
    """E-01: empty inputs, foreign mappings, inputs without grad, and the old argument name."""

    class Other(Mapping):
        def __getitem__(self, key):
            return None

        def __iter__(self):
            return iter(())

        def __len__(self):
            return 0

    a, _, total = three(torch)
    backward = torch.autograd.backward
    one = torch.tensor(1.0)
    names = warned("deprecated", backward, total, grad_variables=one, retain_graph=True)
    both = warned("", raises, "both passed", backward, total, one, grad_variables=one)
    return (
        raises("cannot be empty", backward, total, inputs=[]), raises("cannot be empty", backward, total, inputs={}),
        raises("must be a dict", backward, total, inputs=Other()),
        raises("can't retain_grad on Tensor", backward, total, inputs=[torch.ones(1)]),
        names, both, a.grad,
    )  # fmt: skip


@differential
def test_E_02_grad(torch):
    """E-02: a tuple in input order (a dict for a dict); .grad stays; inputs may repeat, an output may be an input."""
    a, b, total = three(torch)
    grad = torch.autograd.grad
    named = grad(total, {"b": b, "a": a}, retain_graph=True)
    return (
        grad(total, a, retain_graph=True), grad([total], [a, b, a], retain_graph=True), list(named), named["a"],
        type(named).__name__, raises("must be a dict", grad, total, OrderedDict(x=a)),
        grad(total, total, retain_graph=True),
        grad([b, total], [b, a], [torch.ones(2), None], retain_graph=True), grad(a, a, torch.ones(2)), a.grad,
        grad(total, (x for x in (a,))),
    )  # fmt: skip


@differential
def test_E_02_misuse(torch):
    """E-02: no inputs, inputs without grad, non-iterables, the old switch, no outputs."""
    a, _, total = three(torch)
    grad = torch.autograd.grad
    plain = torch.ones(2)
    old = warned("only_inputs", grad, total, a, retain_graph=True, only_inputs=False)
    return (
        raises("cannot be empty", grad, total, []), raises("cannot be empty", grad, total, {}),
        raises("does not require grad", grad, total, plain),
        raises("One of the differentiated Tensors does not require grad", grad, total, [a, plain], allow_unused=True),
        raises("", grad, total, 5), raises("", grad, 5, a), old,
        raises("appears to not have been used", grad, [], [a]),
        raises("does not require grad and does not have a grad_fn", grad, torch.ones(1), a),
    )  # fmt: skip


@differential
def test_E_03_unused(torch):
    """E-03: None when allowed, zeros when materialized (differentiable with create_graph), else an error with index."""
    a, _, total = three(torch)
    c = torch.ones(3, dtype=torch.float64, requires_grad=True)
    d = torch.ones(1, requires_grad=True)
    grad = torch.autograd.grad

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    reached = Nothing.apply(a).sum()
    keep = {"retain_graph": True}
    return (
        grad(total, [c, a], allow_unused=True, **keep), grad(total, [c, a], materialize_grads=True, **keep),
        grad(total, [c, a], materialize_grads=True, create_graph=True), grad(reached, a, allow_unused=True, **keep),
        raises("The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True",
               grad, total, [a, c, d], **keep),
        raises("not have been used", grad, reached, a),
        raises("allow_unused", grad, total, a, materialize_grads=True, allow_unused=False),
        grad(total, [a], materialize_grads=True, allow_unused=True),
    )  # fmt: skip


@differential
def test_E_04_initial_gradients(torch):
    """E-04: implicit for real one-element outputs, cast between real dtypes, a surplus is ignored."""
    grad = torch.autograd.grad
    a, b, total = three(torch)
    one_element = (a[:1] * 2).reshape(1, 1)
    keep = {"retain_graph": True}
    double = torch.ones(2, dtype=torch.float64)
    return (
        grad(one_element, a, **keep), grad(b, a, double, **keep), grad(b, a, torch.ones(2, dtype=torch.int64), **keep),
        grad([b], a, [torch.ones(2), torch.ones(7)], **keep), grad(total, a, torch.tensor(2.0), **keep),
        grad((b, total), a, (torch.ones(2), None), **keep),
    )  # fmt: skip


@differential
def test_E_04_misuse(torch):
    """E-04: every wrong gradient has its message."""
    a, b, _total = three(torch)
    c = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    grad, z = torch.autograd.grad, c * 2
    empty = a[:0] * 2
    phrase = "grad can be implicitly created only for scalar outputs"
    return (
        raises(phrase, grad, b, a), raises(phrase, grad, empty, a), raises(phrase, b.backward),
        raises("only for real scalar outputs but got torch.complex64", z.backward),
        raises("Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of "
               "torch.Size([2]).", grad, b, a, torch.ones(3)),
        raises("For complex Tensors, both grad_output and output", grad, z, c, torch.ones(1)),
        raises("For complex Tensors, both grad_output and output", grad, b, a, torch.ones(2, dtype=torch.complex64)),
        raises("gradients can be either Tensors or None", grad, b, a, [3]),
        raises("not iterable", grad, b, a, 3),
        raises("got 2 tensors and 1 gradients", grad, [b, b], a, [torch.ones(2)]),
        raises("does not require grad and does not have a grad_fn", torch.autograd.backward, torch.ones(3)),
    )  # fmt: skip


def test_E_04_mismatch_of_a_later_gradient():
    """E-04: the message counts (PyTorch fails to compare the gradients while it looks for the number)."""
    a, b, total = three(retrograd)
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[1\] has a shape of torch.Size\(\[1\]\)"):
        retrograd.autograd.grad([total, b], a, [None, retrograd.ones(1)])


@differential
def test_E_05_roots(torch):
    """E-05: several roots are one; duplicates and roots above other roots add up; a leaf may be a root."""
    a, b, total = three(torch)
    backward = torch.autograd.backward
    found = []

    def take():
        found.append(a.grad)
        a.grad = None

    backward([total, total], retain_graph=True)
    take()
    backward([b, total], [torch.ones(2), None], retain_graph=True)
    take()
    backward([total, b], [None, torch.ones(2)], retain_graph=True)
    take()
    backward([a], [torch.ones(2)])
    take()
    backward([a, total], [torch.ones(2), None])
    take()
    plain = torch.ones(1)
    return found, raises(
        "element 1 of tensors does not require grad and does not have a grad_fn", backward, [a.sum(), plain]
    )


@differential
def test_E_06_batched(torch):
    """E-06: the first dimension of each gradient is a batch; equal to a loop."""
    a, b, total = three(torch)
    grad = torch.autograd.grad
    keep = {"retain_graph": True, "is_grads_batched": True}
    jacobian = grad(b, a, torch.tensor([[1.0, 0.0], [0.0, 1.0]]), **keep)
    batch = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    looped = torch.stack([grad(b, a, g, retain_graph=True)[0] for g in batch])
    scalars = grad(total, [a, b], torch.tensor([1.0, 2.0, 3.0]), **keep)
    pair = grad([b, total], a, [batch, torch.tensor([1.0, 2.0, 3.0])], **keep)
    c = torch.ones(1, requires_grad=True)
    unused = grad(b, [a, c], batch, allow_unused=True, **keep)
    return (
        jacobian, grad(b, a, batch, **keep), looped, scalars, pair, unused,
        raises("If `is_grads_batched=True`, we interpret the first dimension", grad, b, a, torch.ones(2, 3), **keep),
        raises("", grad, total, a, is_grads_batched=True),
    )  # fmt: skip
