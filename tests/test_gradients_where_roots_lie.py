"""Gradients of writes into views are found where the root lies in memory, however its gradient lies.  Row V-42."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_same, run

import retrograd

real_torch = pytest.importorskip("torch")


@pytest.mark.parametrize("root_across", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
def test_writes_into_views_of_transposed_memory(root_across: bool, recorded: bool) -> None:
    """Views by strides, and flat ones, of a root that lies otherwise than the incoming gradient."""

    def program(torch: Any) -> Any:
        def lying(across: bool, first: float) -> Any:
            return (
                torch.arange(first, first + 6).reshape(3, 2).t()
                if across
                else torch.arange(first, first + 6).reshape(2, 3)
            )

        x = lying(root_across, 0.0).requires_grad_()
        g = lying(not root_across, 1.0).requires_grad_(recorded)
        found = []
        for write in (
            lambda y: y.fill_diagonal_(1.0),
            lambda y: y.as_strided((2,), (2,)).mul_(x[0, :2]),
            lambda y: (y.t() if root_across else y).view(-1)[1::2].mul_(x[1]),
        ):
            y = x.clone()
            write(y)
            (first,) = torch.autograd.grad(y, x, g, create_graph=recorded)
            found += [first, *(torch.autograd.grad(first.sum(), g) if recorded else ())]
        return found

    wanted, have = [run(program, engine) for engine in (real_torch, retrograd)]
    assert_same(wanted, have, "")


def test_a_filled_copy_is_memory_of_its_own() -> None:
    """``torch.fill`` gives a tensor that can be written."""

    def program(torch: Any) -> Any:
        x = torch.zeros(2, 3).t()
        made = [torch.fill(x, 2.0), torch.fill(x, torch.tensor(3.0))]
        for y in made:
            y[0, 1] = 7.0
            y.add_(1)
        return [made, [y.stride() for y in made]]

    wanted, have = [run(program, engine) for engine in (real_torch, retrograd)]
    assert_same(wanted, have, "")


def test_layout_and_second_derivatives_of_slopes() -> None:
    """Gradients of norms lie as the operand; what has no slope at 0 has no second one either."""

    def program(torch: Any) -> Any:
        x = (torch.arange(12.0).reshape(4, 3).t() / 13).requires_grad_()
        norms = [
            torch.autograd.grad(f(), x)[0].stride()
            for f in (x.norm, lambda: torch.linalg.vector_norm(x, 0.5), lambda: torch.linalg.matrix_norm(x))
        ]
        z = torch.tensor([0.0, 1.0, -2.0], requires_grad=True)
        (first,) = torch.autograd.grad(torch.copysign(z, -1.0).sum(), z, create_graph=True)
        return [norms, first, torch.autograd.grad(first.sum(), z)]

    wanted, have = [run(program, engine) for engine in (real_torch, retrograd)]
    assert_same(wanted, have, "")
