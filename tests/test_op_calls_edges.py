"""Single calls at the edge of what operators take: answered, or refused with the same type of error, as by PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from op_runs import quiet

import retrograd

torch = pytest.importorskip("torch")

CALLS = {
    "kinds of numbers": """
        torch.tensor([True]) << 2 | torch.tensor([True]).bitwise_right_shift(1) | a.add(1, alpha=True)
        a.sub(1, alpha=True) | i.add(1, alpha=.5) | i.add(1, alpha=1j) | torch.addr(m, a, a, alpha=True)
        torch.addr(im, i, i, beta=.5) | torch.addr(im, i, i, alpha=.5) | F.mse_loss(i, i, weight=i)
        F.mse_loss(a * 1j, a, weight=a)
        F.hinge_embedding_loss(i, torch.tensor([1, -1]), margin=1.5, reduction='none') | torch.rms_norm(im, [2])
        torch.lstm_cell(im, (im, im), im.repeat(4, 1), im.repeat(4, 1))
        torch.gru_cell(im, im, im.repeat(3, 1), im.repeat(3, 1))
    """,
    "beside arrays of NumPy": """
        m + A | m - A | m * A | i / A[0] | m // A | m % A | m**A | m @ A | m == A | A == m | i + A[0] | a.half() * A[0]
        A + m | A * m | m < A | m.requires_grad_() + A | m.requires_grad_() @ A | torch.add(m, A) | m.__iadd__(A)
        a - True | True - a | a.sub(True) | torch.sub(a, True) | m[range(1)] | m[0, range(2)] | m[range(2), :1]
    """,
    "matrices of other dtypes": """
        torch.linalg.det(m.half()) | torch.linalg.solve(m.half(), m.half()) | torch.linalg.lu_factor(im)
        torch.linalg.lu(im) | torch.linalg.lu_factor(m.half()) | torch.linalg.qr(m.half()) | torch.linalg.qr(im)
        torch.linalg.svdvals(m.half()) | torch.linalg.svdvals(im) | torch.linalg.eigh(im)
        torch.linalg.eigvalsh(m.half()) | torch.linalg.eigvals(m.half()) | torch.linalg.eigvals(im)
        torch.linalg.cholesky(m.half()) | torch.linalg.cholesky(im) | torch.cholesky(im) | torch.cholesky_inverse(im)
        torch.linalg.solve_triangular(im, im, upper=True) | torch.triangular_solve(im, im) | torch.geqrf(im)
        torch.cholesky_solve(m * 1j, m) | torch.ormqr(m, a, im)
        torch.cross(torch.ones(3), torch.ones(3, dtype=torch.int64))
    """,
    "complex numbers without a kernel": """
        torch.erf(a * 1j) | torch.special.i1e(a * 1j) | torch.lgamma(a * 1j) | torch.polygamma(1, a * 1j)
    """,
    "windows of integers": """
        F.avg_pool1d(im.int(), 2) | F.avg_pool1d(im, 2) | F.avg_pool2d(im[None].int(), 2) | F.avg_pool2d(im[None], 2)
        F.avg_pool3d(im[None, None].int(), (1, 2, 2)) | F.max_pool1d(im, 2) | F.max_pool1d(im, 2, return_indices=True)
        F.max_pool2d(im[None].int(), 2) | F.adaptive_max_pool1d(im, 1) | F.adaptive_max_pool2d(im[None], 1)
        F.adaptive_max_pool3d(im[None, None], 1) | F.conv_transpose2d(im[None, None].int(), im[None, None].int())
        F.conv_transpose2d(im[None, None], im[None, None])
    """,
    "shapes": """
        torch.isclose(a, torch.ones(3)) | torch.isclose(m, a) | torch.allclose(a, torch.ones(3))
        a.as_strided((-1,), (1,)) | torch.nuclear_norm(m, True).shape | a.repeat_interleave(2, output_size=5)
        a.repeat_interleave(2, output_size=4) | torch.repeat_interleave(a, i, output_size=5)
        torch.ones(2, 0).unique_consecutive(dim=0) | torch.ones(0, 3).unique(dim=1) | torch.ones(0, 3).unique(dim=0)
        F.group_norm(torch.ones(1, 2), 2) | F.group_norm(torch.ones(1, 2, 1, 1), 2)
        torch.group_norm(torch.ones(1, 2), 2) | F.group_norm(m, 2) | a.diff(n=0, prepend=a) | a.hash_tensor()
        m.t().unsqueeze(-1).stride() | torch.atleast_3d(torch.ones(2, 3).t()).stride()
        torch.frobenius_norm(m[None], [0, 1, 2]) | torch.constant_pad_nd(a, [1]) | torch.meshgrid([], indexing='ij')
        torch.feature_dropout(a, .5, True) | torch.dropout(a, 2., True) | F.dropout(a, 2., True)
        torch.embedding_bag(m, i, im) | torch.einsum(a) | torch.chain_matmul([m]) | torch.put(a, i[:1] * 0, i[:1])
        torch.searchsorted(a, a, sorter=i.int())
    """,
    "what is not looked at": """
        torch.feature_dropout(a, .5, False) | torch.feature_dropout(a, 0., True) | torch.feature_dropout(e, .5, True)
        torch.linalg.cholesky_ex(torch.tensor([[1., 3.], [0., 1.]]), upper=True).info
        torch.linalg.cholesky_ex(torch.tensor([[1., 3.], [0., 1.]])).info
        torch.linalg.cholesky_ex(torch.tensor([[4., 0., 0.], [2., -1., 0.], [1., 1., 1.]]))
        torch.linalg.cholesky_ex(torch.tensor([[4., 2., 1.], [9., -1., 3.], [9., 9., 1.]]), upper=True)
        torch.linalg.cholesky_ex(torch.tensor([[-1., 0.], [2., 9.]]))
    """,
    "truth values into out": """
        torch.any(a, 0, out=e) | torch.all(a, 0, out=e) | torch.any(a, out=e) | torch.isin(a, 2, out=e)
        torch.isposinf(a, out=e) | torch.isneginf(a, out=e) | torch.signbit(a, out=e) | torch.eq(a, 1, out=e)
        torch.any(a, 0, out=e.bool())
    """,
    "indices that name nothing, or lines without dimensions": """
        torch.scatter(a, 0, n, m) | torch.scatter_add(a, 0, n, m) | torch.scatter_reduce(a, 0, n, m, 'sum')
        torch.gather(m, 0, n) | torch.scatter(a, 0, z, a) | torch.scatter(a, 0, i * 0, s)
        torch.scatter_add(a, 0, i * 0, s) | torch.scatter(a, 0, i, a[:1]) | torch.scatter_reduce(a, 0, z, s, 'prod')
        torch.scatter_reduce(s, 0, i[:1] * 0, s, 'amax') | torch.scatter(m, 0, i * 0, a) | torch.index_add(a, 0, z, s)
        torch.index_add(s, 0, z, s) | torch.index_add(s, 0, z, a[:1]) | torch.index_add(a, 0, n, s)
        torch.index_copy(a, 0, z, s) | torch.index_copy(m, 0, n, s) | torch.index_copy(a, 0, z, m)
        torch.put(a, z, a)
    """,
    "answers that have no history into out": """
        torch.eq(r, 1, out=e.bool()) | torch.lt(r, r, out=e) | torch.ge(r, r, out=torch.ones(2, requires_grad=True))
        torch.logical_not(r, out=e.int()) | torch.argmax(r, out=n) | torch.any(r, out=e.bool())
        torch.nonzero(r, out=n) | torch.isin(r, r, out=e.bool()) | torch.searchsorted(r, r, out=n)
        torch.signbit(r, out=e.bool()) | torch.exp(r, out=e) | torch.floor(r, out=e) | torch.exp(a, out=r)
        torch.sort(r, out=(e, n))
    """,
    "places beyond a shape": """
        torch.unravel_index(torch.tensor([12, -1, -13, 100]), (3, 4)) | torch.unravel_index(z, ())
        torch.unravel_index(i, (3, 0)) | torch.unravel_index(a, (3,)) | torch.unravel_index(i > 0, (3,))
        torch.unravel_index(i, (-3,)) | torch.unravel_index(i, (2.,)) | torch.unravel_index(i, 'a')
        torch.unravel_index(i.int(), 3)[0].dtype == torch.int64 | torch.scatter(m, 0, n.view(0, 2), m)
    """,
    "norms of singular and of empty matrices": """
        torch.linalg.cond(m, 1) | torch.linalg.cond(m * 0, float('inf')) | torch.linalg.cond(m, 'fro')
        torch.linalg.cond(torch.stack([m, m + torch.eye(2)]), -1) | torch.linalg.matrix_norm(torch.ones(0, 0), 1)
        torch.linalg.matrix_norm(torch.ones(2, 0, 3), 1) | torch.linalg.matrix_norm(torch.ones(2, 0, 3), -1)
        torch.linalg.matrix_norm(torch.ones(2, 0, 3), float('inf'), keepdim=True)
        torch.linalg.matrix_norm(torch.ones(2, 0, 3), -float('inf')) | torch.linalg.matrix_norm(torch.ones(0, 0), 2)
        torch.linalg.matrix_norm(torch.ones(0, 0), -2) | torch.linalg.matrix_norm(torch.ones(0, 2, 3), 2)
        torch.linalg.lu_solve(*torch.linalg.lu_factor(m + torch.eye(2)), m, out=e.double())
        torch.mode(torch.tensor([[5., float('nan'), 3., float('nan')], [float('nan'), 1., 1., float('nan')]]), 1)
        torch.mode(torch.tensor([float('nan')])).indices
    """,
    "arguments of other kinds": """
        a.bool(3) | a.byte(3, 4) | a.long('a') | a.double(foo=1) | a.float(memory_format=torch.contiguous_format)
        a.char(memory_format=3) | F.kl_div(a, 1) | F.hinge_embedding_loss(a, True)
        torch.meshgrid(a, -1, indexing='ij') | F.multi_margin_loss(m, 1) | torch.hspmm(m, m) | torch.sspaddmm(m, m, m)
        F.hardshrink(a, a) | F.threshold(a, a, 1) | torch.stft(a, [1, 3], return_complex=True)
    """,
}
"""Expressions separated by bars, by what they are about."""


def names_of(engine: Any) -> dict[str, Any]:
    """What the expressions speak of: ``m`` and ``im`` are matrices, ``s`` and ``z`` 0-d, ``e`` and ``n`` empty."""
    ones = engine.ones
    array = np.array([[1.0, 2.0], [0.5, 3.0]])
    return {
        "torch": engine, "F": engine.nn.functional, "A": array,
        "a": ones(2), "m": ones(2, 2), "i": ones(2, dtype=engine.int64),
        "im": ones(2, 2, dtype=engine.int64), "e": engine.empty(0), "n": engine.empty(0, dtype=engine.int64),
        "s": engine.tensor(2.0), "z": engine.tensor(0), "r": engine.ones(2, requires_grad=True),
    }  # fmt: skip


def answer(engine: Any, call: str) -> Any:
    with warnings.catch_warnings(action="ignore"):
        try:
            found = eval(call, names_of(engine))
        except Exception as error:
            return error
    return [getattr(t, "tolist", lambda t=t: t)() for t in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("subject", CALLS)
def test_calls_at_the_edge(subject: str) -> None:
    for call in (part.strip() for part in CALLS[subject].replace("\n", "|").split("|") if part.strip()):
        theirs, ours = answer(torch, call), answer(retrograd, call)
        if isinstance(theirs, Exception):
            assert type(theirs).__name__ in [kind.__name__ for kind in type(ours).__mro__], (call, theirs, ours)
        else:
            assert ours == theirs, call


@pytest.mark.parametrize("where", ["inv_ex", "cholesky_ex", "solve_ex"])
def test_one_bad_matrix_spoils_only_itself(where: str) -> None:
    """Values, what is wrong and gradients of a batch whose second matrix is singular and not positive-definite."""
    matrices = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 4.0]], [[3.0, -1.0], [-1.0, 2.0]]])
    found = []
    for engine in (torch, retrograd):
        batch = engine.tensor(matrices, requires_grad=True)
        values, info = getattr(engine.linalg, where)(*((batch, batch) if where == "solve_ex" else (batch,)))
        (gradient,) = engine.autograd.grad(values[::2].pow(2).sum(), batch)
        found.append((info.tolist(), values.detach().numpy()[::2], gradient.numpy()[::2]))
    assert found[0][0] == found[1][0] == [0, 2, 0]
    for theirs, ours in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_number_of_differences_has_no_slope() -> None:
    """``dist`` with ``p=0`` counts, so its gradients are zeros, and a tangent there is none."""
    x, y = (retrograd.tensor(v, requires_grad=True) for v in ([[1.0, 2.0]], [[1.0], [3.0]]))
    for gradient in retrograd.autograd.grad(retrograd.dist(x, y, 0), [x, y]):
        assert not gradient.any()
    forward = retrograd.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(x.detach(), retrograd.ones(1, 2))
        assert not forward.unpack_dual(retrograd.dist(dual, y.detach(), 0)).tangent


def test_a_factor_stops_at_nan() -> None:
    """What ``cholesky_ex`` leaves of a matrix whose first pivot is NaN is the matrix."""
    found = []
    for engine in (torch, retrograd):
        left, info = engine.linalg.cholesky_ex(engine.tensor([[float("nan"), 0.0], [0.0, 1.0]]))
        found.append((repr(left.tolist()), info.item()))
    assert found[0] == found[1]


def test_residuals_of_least_squares_are_differentiable() -> None:
    found = []
    for engine in (torch, retrograd):
        a = engine.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]], dtype=engine.float64, requires_grad=True)
        b = engine.tensor([[1.0], [2.0], [-1.0]], dtype=engine.float64, requires_grad=True)
        residuals = engine.linalg.lstsq(a, b, driver="gels").residuals
        found.append([residuals.detach().numpy(), *(g.numpy() for g in engine.autograd.grad(residuals.sum(), [a, b]))])
        assert engine.linalg.lstsq(a * 1j, b * 1j).residuals.dtype == engine.float64
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_spreads_without_freedom_are_told_of() -> None:
    """``std``, ``var`` and both with the mean warn where nothing is left to divide by, and only of that."""
    cases: list[tuple[tuple[int, ...], dict[str, Any]]] = [
        ((1,), {}), ((3, 1), {"dim": 1}), ((0,), {}), ((2,), {"correction": 3}), ((1,), {"correction": 0}), ((2,), {}),
        ((2, 3), {"dim": (0, 1)}), ((0, 3), {"dim": 1}),
    ]  # fmt: skip
    for name in ("std", "var", "std_mean", "var_mean"):
        for shape, arguments in cases:
            said = []
            for engine in (torch, retrograd):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    getattr(engine, name)(engine.ones(shape), **arguments)
                said.append([str(w.message).partition(" (Triggered")[0] for w in caught])
            assert said[0] == said[1], (name, shape, arguments)


@pytest.mark.parametrize("kind", ["bessel_j", "bessel_y", "modified_bessel_i", "modified_bessel_k"])
def test_functions_without_a_derivative(kind: str) -> None:
    """Results of the Bessel functions that PyTorch does not derive need no gradient, and have no tangent."""
    for engine in (torch, retrograd):
        x = engine.tensor([0.5, 2.0], requires_grad=True)
        forward = engine.autograd.forward_ad
        for order in "01":
            function = getattr(engine.special, kind + order)
            assert function(x).grad_fn is None
            with quiet(), forward.dual_level():
                assert forward.unpack_dual(function(forward.make_dual(x.detach(), engine.ones(2)))).tangent is None


def test_sums_of_more_halves_than_halves_can_count() -> None:
    """Sums, means, norms and running sums of halves add in single precision, along each dimension, also backward."""
    found = []
    for engine in (torch, retrograd):
        x = engine.ones(4096, 2, dtype=engine.float16)
        bias = engine.zeros(2, dtype=engine.float16, requires_grad=True)
        (x + bias).backward(x)
        results = [
            x.sum(0), x.sum(), x.t().sum(1), x.mean(0), x.nansum(0), x.norm(dim=0), x.norm(1, dim=0), x.logsumexp(0),
            (x / 8).cumsum(0)[-1], x.t().logcumsumexp(1)[:, -1], x.sum_to_size(1, 2), bias.grad, x.t().matmul(x),
            engine.nn.functional.mse_loss(x, 0 * x, reduction="sum"), engine.nn.functional.log_softmax(x, 0)[0],
        ]  # fmt: skip
        found.append([r.tolist() for r in results])
    assert found[0] == found[1]


def test_halves_are_added_at_one_place_in_single_precision() -> None:
    """What is added to one element 4,096 times, forward and backward, and windows of as many elements."""
    found = []
    for engine in (torch, retrograd):
        x = engine.ones(4096, 1, dtype=engine.float16, requires_grad=True)
        first, nothing = engine.zeros(4096, 1, dtype=engine.int64), engine.zeros(1, 1, dtype=engine.float16)
        results = [
            nothing.index_add(0, first[:, 0], x), nothing.scatter_add(0, first, x),
            nothing.scatter_reduce(0, first, x, "mean"), engine.nn.functional.avg_pool1d(x.t(), 4096),
            engine.nn.functional.adaptive_avg_pool1d(-0.9302 * x.t(), 2),
        ]  # fmt: skip
        for picked in (x.gather(0, first), x.index_select(0, first[:, 0])):
            results += engine.autograd.grad(picked.sum(), x)
        found.append([r.tolist() for r in results])
    assert found[0] == found[1]
