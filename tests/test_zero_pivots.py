"""What ``linalg.inv_ex`` and ``solve_ex`` leave of singular matrices is what LAPACK leaves of them."""

from __future__ import annotations

import warnings

from both_engines import differential

MATRICES = (
    [[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 0.0]], [[0.0]],
    [[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.0, 0.0, 2.0]],
)  # fmt: skip


@differential
def test_quotients_by_zero_pivots(torch):
    """Infinities where something is divided by the pivot, and numbers where elimination never meets it."""
    found = []
    for rows in MATRICES:
        a = torch.tensor(rows, dtype=torch.float64)
        b = torch.ones(len(rows), 2, dtype=torch.float64)
        results = [
            torch.linalg.inv_ex(a), torch.linalg.solve_ex(a, b), torch.linalg.solve_ex(a, b[:, 0]),
            torch.linalg.solve_ex(a, b.mT, left=False),
        ]  # fmt: skip
        found += [
            str(part.tolist()) if part.isnan().any() or part.isinf().any() else part for r in results for part in r
        ]
    return found


@differential
def test_regular_matrices_beside_singular_ones(torch):
    """In a batch the regular matrices are inverted, and their gradient is that of the inverse."""
    a = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]]], requires_grad=True)
    inverse, info = torch.linalg.inv_ex(a)
    return [info, inverse[1], str(inverse[0].tolist())]


@differential
def test_gradients_of_what_is_left(torch):
    """Computed from what is left, not cut off: NaN, or the infinities of elimination; regular matrices keep theirs."""
    singular, regular = [[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.5], [0.5, 1.0]]
    linalg = torch.linalg
    functions = (linalg.inv_ex, linalg.cholesky_ex, lambda a: linalg.solve_ex(a, a[..., 0].detach()))
    found = []
    for rows in (singular, [singular, regular], [[singular], [regular]]):
        for function in functions:
            a = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
            result, info = function(a)
            for live in (None, torch.empty(1, device="meta")):  # without tensors of such classes rules get arrays
                (gradient,) = torch.autograd.grad(result.sum(), a, retain_graph=True)
                found += [info, live is None, result.grad_fn.name(), str((gradient.round(decimals=6) + 0.0).tolist())]
    return found


@differential
def test_singular_cholesky_factors(torch):
    """Substitution divides by the zeros on their diagonal; the inverse names the first of them."""
    found = []
    for rows in (
        [[1.0, 0.0], [2.0, 0.0]],
        [[0.0, 0.0], [2.0, 1.0]],
        [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [2.0, 3.0]]],
    ):
        for upper in (False, True):
            factor = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
            factor = factor.mT if upper else factor
            solved = torch.cholesky_solve(torch.ones(*factor.shape[:-1], 1, dtype=torch.float64), factor, upper)
            found.append(str((solved.detach().round(decimals=6) + 0.0).tolist()))
            try:
                torch.cholesky_inverse(factor, upper)
            except torch.linalg.LinAlgError as error:
                found.append(str(error))
    return found


@differential
def test_errors_say_which_matrix_and_pivot(torch):
    """A singular matrix is named by its place in the batch, its pivot counted from 1."""
    linalg, zero, sides = torch.linalg, torch.zeros(2, 2), torch.ones(3, 3, 1)
    batch = torch.eye(3).repeat(3, 1, 1)
    batch[1, 2, 2] = 0
    calls = (
        lambda: linalg.inv(zero), lambda: linalg.inv(batch), lambda: linalg.inv_ex(batch, check_errors=True),
        lambda: linalg.solve(zero, torch.ones(2)), lambda: linalg.solve(batch, sides),
        lambda: linalg.solve(batch, sides.mT, left=False), lambda: linalg.solve(batch[1], sides),
        lambda: linalg.solve_ex(batch, sides, check_errors=True), lambda: torch.inverse(batch[:2].unsqueeze(0)),
    )  # fmt: skip
    found = []
    for call in calls:
        try:
            call()
        except linalg.LinAlgError as error:
            found.append(str(error))
    return found


@differential
def test_factors_say_which_pivot_is_zero(torch):
    """``info`` of ``lu_factor_ex`` and of ``lu``, for one matrix, a batch, and matrices that are not square."""
    linalg, ones = torch.linalg, torch.ones(3, 3)
    batch = torch.stack([ones, torch.eye(3), ones * 0])
    shapes = [ones, batch, ones[:2], ones[:, :2], torch.zeros(0, 0), torch.zeros(2, 0, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old name
        old = torch.lu(batch, get_infos=True).info, torch.lu(ones)[1]
    return [*[linalg.lu_factor_ex(a).info for a in shapes], *old]


@differential
def test_slopes_of_determinants_of_singular_matrices(torch):
    """Infinities where elimination meets a zero pivot; with a graph to come the matrix is refused."""
    found = []
    for rows in (
        [[0.0, 0.0], [0.0, 0.0]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]],
    ):
        x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
        for function in (lambda t: torch.linalg.slogdet(t)[1], torch.logdet):
            (gradient,) = torch.autograd.grad(function(x).sum(), x)
            found.append(str((gradient.round(decimals=6) + 0.0).tolist()))
            try:
                torch.autograd.grad(function(x).sum(), x, create_graph=True)
            except torch.linalg.LinAlgError as error:
                found.append(str(error))
    return found


@differential
def test_tangents_of_singular_matrices(torch):
    """Forward mode refuses none: the tangents are what elimination leaves."""
    linalg, double = torch.linalg, torch.float64
    zeros, ones = torch.zeros(2, 2, dtype=double), torch.ones(2, 2, dtype=double)
    cases = (
        (lambda a: linalg.solve_ex(a, ones)[0], zeros),
        (lambda a: linalg.inv_ex(a)[0], zeros),
        (lambda a: linalg.slogdet(a)[1], zeros),
        (lambda a: linalg.slogdet(a)[1], ones),
        (torch.logdet, ones),
    )
    return [str([x.tolist() for x in torch.func.jvp(f, (a,), (torch.eye(2, dtype=double),))]) for f, a in cases]
