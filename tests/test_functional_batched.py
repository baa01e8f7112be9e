"""Batches of gradients: ``grad(is_grads_batched=True)`` (E-06)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree

import retrograd

Options = dict[str, Any]


def program(torch: Any, make: Any, **options: Any) -> Any:
    """Gradients of exp(x) * y and of sum(x) for batches, with respect to x and an unused z."""
    x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([2.0, 0.5, -1.0], dtype=torch.float64, requires_grad=True)
    z = torch.ones(2, dtype=torch.float64, requires_grad=True)
    outputs, inputs, grads = make(torch, x, y, z)
    result = torch.autograd.grad(outputs, inputs, grads, is_grads_batched=True, **options)
    return result, x.grad, y.grad


def rows(torch: Any, *shape: int) -> Any:
    """Some numbers in double precision."""
    return torch.tensor(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape))


def test_identity_batch_gives_the_jacobian_e06() -> None:
    """E-06: with the rows of the identity as batch the result is the Jacobian, here a diagonal worked out by hand."""
    x = retrograd.tensor(np.array([0.3, -0.7]), requires_grad=True)
    identity = retrograd.tensor(np.eye(2))
    (found,) = retrograd.autograd.grad(x.exp(), x, identity, is_grads_batched=True)
    np.testing.assert_allclose(found.numpy(), np.diag(np.exp([0.3, -0.7])))


def test_same_as_torch_e06() -> None:
    """E-06: one and several outputs and inputs, differentiable results and gradients that require grad."""
    assert_agree(lambda t: program(t, lambda t, x, y, z: (x.exp() * y, [x, y], rows(t, 4, 3))))
    assert_agree(lambda t: program(t, lambda t, x, y, z: (x.exp() * y, x, (rows(t, 1, 3),)), retain_graph=True))
    two = lambda t, x, y, z: ([x.exp() * y, x.sum()], [y, x], [rows(t, 2, 3), rows(t, 2)])  # noqa: E731
    assert_agree(lambda t: program(t, two))
    assert_agree(lambda t: program(t, two, create_graph=True))
    tracked = lambda t, x, y, z: (x * x, x, rows(t, 2, 3).requires_grad_())  # noqa: E731
    assert_agree(lambda t: program(t, tracked, create_graph=True))
    assert_agree(lambda t: program(t, tracked))


@pytest.mark.parametrize("options", [{}, {"allow_unused": True}, {"materialize_grads": True}], ids=str)
def test_unused_inputs_e06(options: Options) -> None:
    """E-06: unused inputs are an error, ``None`` or (without the batch dimension) zeros."""
    assert_agree(lambda t: program(t, lambda t, x, y, z: (x * 2, [x, z], rows(t, 2, 3)), **options))


def test_remaining_dimensions_must_match_e06() -> None:
    """E-06: a gradient that is not (batch, *output.shape) is refused, with both shapes in the message."""
    for shape in ((2, 4), (3,), (2, 3, 1)):
        assert_agree(
            lambda t, shape=shape: program(t, lambda t, x, y, z: (x * 2, x, rows(t, *shape))),
            phrase="If `is_grads_batched=True`, we interpret the first",
        )


def test_missing_gradients_are_refused_e06() -> None:
    """E-06: no gradient given is an error even for a single-element output, from the batching layer."""
    found = assert_agree(lambda t: program(t, lambda t, x, y, z: (x.sum(), x, None)))
    assert found.error == "ValueError"
    assert_agree(lambda t: program(t, lambda t, x, y, z: (x * 2, x, None)), phrase="only for scalar outputs")


def test_batches_of_different_length_e06() -> None:
    """E-06: all gradients need the same number of entries."""
    made = lambda t, x, y, z: ([x * 2, y * x], x, [rows(t, 2, 3), rows(t, 4, 3)])  # noqa: E731
    assert_agree(lambda t: program(t, made), phrase="same size in the mapped dimension")


def test_batch_without_entries_or_dimension_e06() -> None:
    """E-06: an empty batch and a gradient without any dimension are index errors."""
    empty = lambda t, x, y, z: (x * 2, x, t.ones(0, 3, dtype=t.float64))  # noqa: E731
    assert assert_agree(lambda t: program(t, empty)).error == "IndexError"
    single = lambda t, x, y, z: (x * 2, x, t.tensor(1.0, dtype=t.float64))  # noqa: E731
    assert assert_agree(lambda t: program(t, single)).error == "IndexError"


def test_graph_is_freed_after_the_batch_e06() -> None:
    """E-06: all passes of a batch share the graph; afterwards it is freed unless retain_graph is given."""

    def twice(torch: Any, keep: bool) -> Any:
        x = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
        out = x * x
        first = torch.autograd.grad(out, x, rows(torch, 3, 2), is_grads_batched=True, retain_graph=keep)
        return first, torch.autograd.grad(out, x, rows(torch, 3, 2), is_grads_batched=True)

    assert_agree(lambda t: twice(t, True))
    assert_agree(lambda t: twice(t, False), phrase="a second time")


def test_batches_under_no_grad_e06() -> None:
    """E-06: create_graph gives differentiable results also under no_grad."""

    def under(torch: Any) -> Any:
        x = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
        out = x * x * x
        with torch.no_grad():
            return torch.autograd.grad(out, x, rows(torch, 3, 2), is_grads_batched=True, create_graph=True)

    assert_agree(under)


def test_tracked_batches_under_no_grad_e06() -> None:
    """E-06: also under no_grad the result is differentiable with respect to a batch that requires grad."""

    def under(torch: Any) -> Any:
        x = torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
        out, batch = x * x * x, rows(torch, 3, 2).requires_grad_()
        with torch.no_grad():
            (found,) = torch.autograd.grad(out, x, batch, is_grads_batched=True, create_graph=True)
        return torch.autograd.grad(found.sum(), [batch, x], allow_unused=True)

    assert_agree(under)


def test_dict_of_inputs_e06() -> None:
    """E-06: a dict of inputs gives a dict of batches."""
    assert_agree(lambda t: program(t, lambda t, x, y, z: (x * y, {"x": x, "y": y}, rows(t, 2, 3))))
