"""Sums of many numbers are as exact as PyTorch's, whatever is summed, along whichever dimensions, however it lies."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import retrograd

EPS = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53, "complex64": 2.0**-24, "complex128": 2.0**-53}
"""How much of a number is lost when it is rounded to nearest."""
MANY = 400_003
"""Rows beyond any block, and no multiple of one."""


def layouts(array: Any) -> dict[str, Any]:
    """Tensors that lie in memory in several ways."""
    tensor = retrograd.from_numpy(array)
    return {
        "rows": tensor,
        "columns": retrograd.from_numpy(np.asfortranarray(array)),
        "every second": retrograd.from_numpy(np.repeat(array, 2, -1))[..., ::2],
        "rows apart": retrograd.from_numpy(np.repeat(array, 3, 0))[::3],
        "one repeated": tensor[:1].expand(tensor.shape),
        "one repeated beside": tensor[..., :1].expand(tensor.shape),
    }


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("shape", [(20_000, 3), (3, 20_000), (130, 7, 65), (9, 2_100, 2), (70, 5, 3, 17), (33, 1_000)])
def test_sums_in_any_layout(dtype: str, shape: tuple[int, ...]) -> None:
    """Along any dimensions the error is of a dozen roundings of the sum of sizes, not of one for each element."""
    rng = np.random.default_rng(len(shape))
    numbers = (0.1 + rng.integers(0, 2, shape) * 1e-3).astype(dtype)  # nearly equal ones are rounded in one direction
    for way, tensor in layouts(numbers).items():
        wide = tensor.numpy().astype(np.complex256 if "complex" in dtype else np.longdouble)
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                have = tensor.sum(axes).numpy()
                want = wide.sum(axes)
                assert have.shape == want.shape
                size = np.abs(wide).sum(axes).max()
                assert np.abs(have - want).max() <= 12 * EPS[dtype] * size, (way, axes)


def gradients(engine: Any, x: Any, program: Any, *sizes: tuple[int, ...]) -> Any:
    """Gradients of parameters of these sizes, in one row."""
    found = [engine.full(size, 0.5, dtype=x.dtype, requires_grad=True) for size in sizes]
    program(*found).backward()
    return engine.cat([p.grad.reshape(-1) for p in found])


REDUCTIONS = {
    "sum": lambda e, x: x.sum(0),
    "sum of all": lambda e, x: x.sum(),
    "sum, kept": lambda e, x: x.sum(0, keepdim=True),
    "mean": lambda e, x: x.mean(0),
    "nansum": lambda e, x: x.nansum(0),
    "nanmean": lambda e, x: x.nanmean(0),
    "var": lambda e, x: x.var(0),
    "std of all": lambda e, x: x.std(),
    "var and mean": lambda e, x: e.stack(e.var_mean(x, 0)),
    "norm": lambda e, x: x.norm(dim=0),
    "norm 1": lambda e, x: e.linalg.vector_norm(x, 1, 0),
    "norm 3": lambda e, x: e.linalg.vector_norm(x, 3, 0),
    "logsumexp": lambda e, x: e.logsumexp(x, 0),
    "softmax": lambda e, x: e.softmax(x, 0)[:3],
    "log_softmax": lambda e, x: e.log_softmax(x, 0)[:3],
    "cumsum": lambda e, x: x.cumsum(0)[-3:],
    "logcumsumexp": lambda e, x: e.logcumsumexp(x[:100_000], 0)[-3:],
    "trapezoid": lambda e, x: e.trapezoid(x, dim=0),
    "einsum": lambda e, x: e.einsum("ij->j", x),
    "einsum of two": lambda e, x: e.einsum("ij,ij->j", x, x),
    "dot": lambda e, x: x[:, 0].dot(x[:, 1]),
    "vdot": lambda e, x: e.vdot(x[:, 0], x[:, 1]),
    "product of matrices": lambda e, x: x.t()[:, :100_000] @ x[:100_000],
    "dist": lambda e, x: e.dist(x, -x),
    "cosine similarity": lambda e, x: e.nn.functional.cosine_similarity(x, x + 1, 0),
    "mse": lambda e, x: e.nn.functional.mse_loss(x, -x),
    "l1": lambda e, x: e.nn.functional.l1_loss(x, -x, reduction="sum"),
    "nll": lambda e, x: e.nn.functional.nll_loss(x, e.zeros(len(x), dtype=e.int64)),
    "cross entropy": lambda e, x: e.nn.functional.cross_entropy(x, e.zeros(len(x), dtype=e.int64)),
    "global pool": lambda e, x: e.nn.functional.adaptive_avg_pool1d(x.t()[None], 1),
    "layer norm": lambda e, x: e.nn.functional.layer_norm(x.t(), x.shape[:1])[:, :3],
    "group norm": lambda e, x: e.nn.functional.group_norm(x.t()[None], 2)[0, :, :3],
    "batch norm": lambda e, x: e.nn.functional.batch_norm(x, None, None, training=True)[:3],
    "gradient of a broadcast bias": lambda e, x: gradients(e, x, lambda b: ((x + b) * x).sum(), (2,)),
    "gradients of a linear layer": lambda e, x: gradients(
        e, x, lambda w, b: (e.nn.functional.linear(x, w, b) * x[:, :1]).sum(), (3, 2), (3,)
    ),
    "gradient of a convolution's bias": lambda e, x: gradients(
        e, x, lambda w, b: (e.nn.functional.conv1d(x.t()[None], w, b) * x[:, 0]).sum(), (2, 2, 1), (2,)
    ),
    "gradients of a layer norm": lambda e, x: gradients(
        e, x, lambda w, b: (e.nn.functional.layer_norm(x, (2,), w, b) * x).sum(), (2,), (2,)
    ),
    "gradients of a batch norm": lambda e, x: gradients(
        e, x, lambda w, b: (e.nn.functional.batch_norm(x, None, None, w, b, True) * x).sum(), (2,), (2,)
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=["equal", "uniform"])
def numbers(request: Any) -> Any:
    rng = np.random.default_rng(0)
    drawn = np.full((MANY, 2), 0.1) if request.param == "equal" else rng.random((MANY, 2))
    return drawn.astype(np.float32)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_many_rows(name: str, numbers: Any) -> None:
    """The error is at most twice that of PyTorch, or three roundings."""
    torch = pytest.importorskip("torch")
    reduce = REDUCTIONS[name]
    exact, theirs, ours = (
        reduce(engine, engine.from_numpy(array)).detach().numpy().astype(np.float64)
        for engine, array in ((torch, numbers.astype(np.float64)), (torch, numbers), (retrograd, numbers))
    )
    size = np.abs(exact).max()
    assert np.abs(ours - exact).max() <= max(2 * np.abs(theirs - exact).max(), 6 * EPS["float32"] * size)


def test_ten_million_rows() -> None:
    """A sum of 10,000,000 rows and the gradient of what was broadcast to as many are exact to six digits."""
    x = retrograd.full((10_000_000, 2), 0.1)
    assert x.sum(0).tolist() == pytest.approx([1e6, 1e6], rel=1e-6)
    bias = retrograd.zeros(2, requires_grad=True)
    (bias.expand(10_000_000, 2) * 0.1).sum().backward()
    assert bias.grad.tolist() == pytest.approx([1e6, 1e6], rel=1e-6)


@pytest.mark.parametrize("dtype", [retrograd.float32, retrograd.float64])
def test_deviations_of_equal_elements_are_zero(dtype: Any) -> None:
    """0, and so is the slope of the deviation there, where a rounded mean would leave a slope of noise."""
    x = retrograd.full((1001, 3), 0.1, dtype=dtype, requires_grad=True)
    deviation = x.std(0)
    deviation.sum().backward()
    assert deviation.tolist() == [0, 0, 0]
    assert x.grad.abs().max() == 0


def test_small_deviations_of_large_numbers() -> None:
    """A variance is right where the mean's rounding is as large as the deviation."""
    numbers = np.float32(10_000) + np.arange(1000, dtype=np.float32).reshape(-1, 1) % 2 * np.float32(2**-9)
    want = numbers.astype(np.float64).var(0, ddof=1).item()
    assert retrograd.from_numpy(numbers).var(0).item() == pytest.approx(want, rel=1e-6)
    norm = retrograd.nn.BatchNorm1d(1, momentum=1.0)
    norm(retrograd.from_numpy(numbers))
    assert norm.running_var.item() == pytest.approx(want, rel=1e-3)
    assert math.isclose(norm.running_mean.item(), numbers.astype(np.float64).mean(), abs_tol=2**-11)
