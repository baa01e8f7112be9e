"""SPEC E, operators: derivatives where a norm, a spread or an angle has none: 0 in first order, NaN in second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd

real_torch = pytest.importorskip("torch")

Call = Callable[[Any, Any], Any]
AT_ZERO: dict[str, Call] = {
    "norm": lambda t, x: t.norm(x),
    "norm of rows": lambda t, x: t.linalg.vector_norm(x.reshape(3, 2), 3, dim=1),
    "normalize": lambda t, x: t.nn.functional.normalize(x, dim=0),
    "dist": lambda t, x: t.dist(x, x * 2),
    "std": lambda t, x: t.std(x),
    "atan2": lambda t, x: t.atan2(x, 2 * x),
    "zero to a power": lambda t, x: t.pow(0, x + 2),
}
FEW_FREEDOMS: dict[str, Call] = {
    "var, more correction than elements": lambda t, x: t.var(x.reshape(3, 2), 1, correction=5),
    "std, more correction than elements": lambda t, x: t.std(x.reshape(3, 2), 1, correction=5),
    "std_mean": lambda t, x: sum(t.std_mean(x.reshape(3, 2), 1, correction=4)),
    "var_mean of all": lambda t, x: sum(t.var_mean(x, correction=6)),
    "nansum": lambda t, x: t.nansum(x * t.tensor([1.0, np.nan, 1.0, 1.0, 1.0, 1.0], dtype=t.float64)),
}


def _derivatives(torch: Any, call: Call, values: Any) -> list[Any]:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = call(torch, x)
    back = torch.ones_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, back, create_graph=True)
    second = torch.autograd.grad(g.sum(), [x, back], allow_unused=True)
    along = torch.func.jvp(lambda v: call(torch, v), (x.detach(),), (torch.ones_like(x).detach(),))[1]
    return [None if t is None else t.detach().numpy() for t in (y, g, *second, along)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", [*AT_ZERO, *FEW_FREEDOMS])
def test_derivatives_are_torchs(name: str) -> None:
    values = np.zeros(6) if name in AT_ZERO else np.arange(6.0) ** 2
    call = (AT_ZERO | FEW_FREEDOMS)[name]
    for ours, theirs in zip(*(_derivatives(t, call, values) for t in (retrograd, real_torch)), strict=True):
        if theirs is None:
            assert ours is None or not ours.any()
        else:
            np.testing.assert_allclose(ours, theirs)


def test_inputs_that_nothing_depends_on_may_be_entries_of_a_batch() -> None:
    """Their gradients are zeros."""

    def gradients(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3)
        back = torch.ones(3)
        return torch.func.vmap(lambda a, b: torch.func.vjp(lambda a, b: a.view_as(b), a, b)[1](back))(x, x + 1)

    for ours, theirs in zip(gradients(retrograd), gradients(real_torch), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_numbers_scattered_among_integers_are_integers() -> None:
    """Fractions are cut off before they are added; -1 is the largest byte."""
    for torch in (retrograd, real_torch):
        assert torch.nn.functional.threshold(torch.tensor([0, 3], dtype=torch.uint8), 1, -1).tolist() == [255, 3]
    for number, dtype, reduce in ((1.5, "int64", "add"), (2.5, "int8", "multiply"), (-1, "uint8", None)):
        more = {} if reduce is None else {"reduce": reduce}
        ours, theirs = (
            t.scatter(t.tensor([3, 4, 5], dtype=getattr(t, dtype)), 0, t.tensor([1, 1]), number, **more)
            for t in (retrograd, real_torch)
        )
        assert ours.tolist() == theirs.tolist()


def test_a_norm_in_a_wider_dtype_has_its_slope_there() -> None:
    """The largest element is found again, though it was rounded."""

    def gradient(torch: Any) -> Any:
        x = torch.tensor([0.1, -1.3, 0.7], dtype=torch.float32, requires_grad=True) * (1 + 1j)
        norm = torch.linalg.vector_norm(x, float("inf"), dtype=torch.complex128)
        return torch.autograd.grad(norm, x)[0].numpy()

    np.testing.assert_allclose(gradient(retrograd), gradient(real_torch), rtol=1e-6)


def test_medians_of_nothing_are_what_c_makes_of_nan() -> None:
    for dtype in ("uint8", "int8", "int16", "int32", "int64"):
        ours, theirs = (t.zeros(0, dtype=getattr(t, dtype)).median().item() for t in (retrograd, real_torch))
        assert ours == theirs, dtype
