"""Parameters computed from others, held against PyTorch."""

from __future__ import annotations

import copy
from typing import Any

from both_engines import differential, raises, warned


def symmetric(torch: Any) -> Any:
    """A step to a symmetric matrix, and back."""

    class Symmetric(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).t()

        def right_inverse(self, x: Any) -> Any:
            return x.triu()

    return Symmetric()


def layer(torch: Any) -> Any:
    """A square layer with known values."""
    made = torch.nn.Linear(2, 2)
    made.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    made.bias.data.zero_()
    return made


@differential
def test_register_assign_remove(torch: Any) -> Any:
    """Text, state, gradients of the original, assignment, copies, cache, removal."""
    room, made = torch.nn.utils.parametrize, layer(torch)
    room.register_parametrization(made, "weight", symmetric(torch))
    seen = [repr(made), made.weight, list(made.state_dict()), room.is_parametrized(made, "weight"), type(made).__name__]
    made(torch.ones(1, 2)).sum().backward()
    seen.append(made.parametrizations.weight.original.grad)
    with room.cached():
        seen.append(made.weight is made.weight)
    copied = copy.deepcopy(made)
    made.weight = torch.eye(2)
    seen += [made.weight is made.weight, made.weight, copied.weight, room.type_before_parametrizations(made).__name__]
    room.register_parametrization(made, "weight", symmetric(torch))
    seen += [made.weight, len(made.parametrizations.weight)]
    room.remove_parametrizations(made, "weight")
    return [*seen, repr(made), made.weight, made.weight.is_leaf, list(made.state_dict()), room.is_parametrized(made)]


@differential
def test_refusals(torch: Any) -> Any:
    """What is not there, and steps that change shape or dtype."""
    room, made = torch.nn.utils.parametrize, layer(torch)

    class First(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x[0]

    class Double(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.double()

    register = room.register_parametrization
    return [
        raises("does not have a parameter", register, made, "nope", symmetric(torch)),
        raises("does not have a parametrization", room.remove_parametrizations, made, "weight"),
        raises("may not change the shape", register, made, "weight", First()),
        raises("may not change the dtype", register, made, "weight", Double()),
        raises("no parameter or buffer", torch.nn.utils.parametrizations.orthogonal, made, "nope"),
        list(made.state_dict()),
    ]  # fmt: skip


@differential
def test_given_parametrizations(torch: Any) -> Any:
    """Weight norm in both ways, spectral norm and orthogonal matrices."""
    utils = torch.nn.utils
    normed = utils.parametrizations.weight_norm(layer(torch))
    normed(torch.ones(1, 2)).sum().backward()
    seen = [repr(normed), normed.weight, list(normed.state_dict()), normed.parametrizations.weight.original0.grad]
    categories, old = warned("deprecated", utils.weight_norm, layer(torch))
    old(torch.ones(1, 2)).sum().backward()
    seen += [categories, list(old.state_dict()), old.weight, old.weight_g.grad, old.weight_v.grad]
    utils.remove_weight_norm(old)
    spectral = utils.parametrizations.spectral_norm(layer(torch))
    for _ in range(20):
        spectral(torch.ones(1, 2))
    turned = utils.parametrizations.orthogonal(torch.nn.Linear(3, 5), "weight", "matrix_exp")
    turned.parametrizations.weight.original.data.normal_()
    gap = (turned.weight.T @ turned.weight - torch.eye(3)).abs().max().item()
    return [
        *seen, list(old.state_dict()), old.weight, list(spectral.state_dict()), spectral.weight, gap < 1e-5,
        torch.linalg.matrix_norm(spectral.weight.detach(), 2),
    ]  # fmt: skip


@differential
def test_V_62_orthogonal_maps(torch: Any) -> Any:
    """Row V-62: each map gives a matrix with orthonormal rows or columns, its gradient, and may be set to another."""
    orthogonal, found = torch.nn.utils.parametrizations.orthogonal, []
    for rows, columns in ((3, 3), (2, 4), (4, 2)):
        for kind in ("matrix_exp", "cayley", "householder"):
            made = torch.nn.Linear(columns, rows).double()
            start = torch.arange(float(rows * columns)).sin().view(rows, columns) + torch.eye(rows, columns)
            made.weight.data = start.double()
            orthogonal(made, orthogonal_map=kind, use_trivialization=False)
            made.weight[0, 0].backward()
            found.append((list(made.state_dict()), made.weight, made.parametrizations.weight.original.grad))
            turned = orthogonal(torch.nn.Linear(columns, rows).double(), orthogonal_map=kind)
            turned.weight = torch.eye(rows, columns).double()
            found.append((list(turned.state_dict()), turned.weight, turned.parametrizations.weight.original))
    fixed = orthogonal(torch.nn.Linear(2, 2), orthogonal_map="cayley", use_trivialization=False)
    return found, [
        raises('orthogonal_map has to be one of "matrix_exp", "cayley", "householder"', orthogonal,
               torch.nn.Linear(2, 2), orthogonal_map="other"),
        raises("It is not possible to assign to the matrix exponential or the Cayley", setattr, fixed, "weight",
               torch.eye(2)),
        raises("of shape torch.Size([2, 2]). Got a tensor of shape", setattr, fixed, "weight", torch.eye(3)),
        raises("does not support complex tensors", orthogonal, torch.nn.Linear(2, 2, dtype=torch.complex64),
               orthogonal_map="householder"),
        list(orthogonal(torch.nn.Linear(2, 3)).state_dict()),
    ]  # fmt: skip
