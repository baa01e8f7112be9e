"""``out=`` of another dtype is taken or refused by the same overloads as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_runs import quiet

import retrograd
from retrograd.engine.calls.out_argument import Out, OutDtype

real_torch = pytest.importorskip("torch")

Call = Callable[[Any, Any], Any]
CALLS: dict[str, Call] = {
    "clamp by numbers": lambda t, out: t.clamp(t.ones(3), 0.0, 1.0, out=out()),
    "clamp by tensors": lambda t, out: t.clamp(t.ones(3), t.zeros(3), t.ones(3), out=out()),
    "clip by a tensor": lambda t, out: t.clip(t.ones(3), t.zeros(3), out=out()),
    "clamp_min by a number": lambda t, out: t.clamp_min(t.ones(3), 0.5, out=out()),
    "clamp_min by a tensor": lambda t, out: t.clamp_min(t.ones(3), t.ones(3), out=out()),
    "max along": lambda t, out: t.max(t.ones(2, 3), 0, out=(out(), t.empty(0, dtype=t.int64))),
    "max of two": lambda t, out: t.max(t.ones(3), t.ones(3), out=out()),
    "min along": lambda t, out: t.min(t.ones(2, 3), 0, out=(out(), t.empty(0, dtype=t.int64))),
    "sum": lambda t, out: t.sum(t.ones(2, 3), 0, out=out()),
    "inner": lambda t, out: t.inner(t.ones(3), t.ones(3), out=out()),
    "tensordot": lambda t, out: t.tensordot(t.ones(3), t.ones(3), 1, out=out()),
    "norm": lambda t, out: t.norm(t.ones(3), out=out()),
    "slogdet": lambda t, out: t.slogdet(t.eye(3), out=(out(), out())),
    "add": lambda t, out: t.add(t.ones(3), 1, out=out()),
    "abs of complex numbers": lambda t, out: t.abs(t.ones(3, dtype=t.complex64), out=out()),
    "irfft": lambda t, out: t.fft.irfft(t.ones(4), out=out()),
    "hfft2": lambda t, out: t.fft.hfft2(t.ones(2, 4), out=out()),
    "matrix_power": lambda t, out: t.linalg.matrix_power(t.eye(2), 3, out=out()),
    "cumsum": lambda t, out: t.cumsum(t.ones(3), 0, out=out()),
}


def taken(engine: Any, name: str, dtype: str) -> bool:
    """Whether an engine takes an ``out=`` of this dtype."""
    try:
        with quiet():
            CALLS[name](engine, lambda: engine.empty(0, dtype=getattr(engine, dtype)))
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", CALLS)
def test_out_dtypes(name: str) -> None:
    """The dtype of the result is taken, another floating or complex one only where PyTorch takes it."""
    assert taken(retrograd, name, "float32")
    for dtype in ("float64", "complex64"):
        assert taken(retrograd, name, dtype) == taken(real_torch, name, dtype), dtype


@pytest.mark.parametrize("dtype", ["int64", "bool", "float32", "complex64"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_sums_and_products_are_computed_in_the_dtype_of_out(name: str, dtype: str) -> None:
    """``out=`` of any dtype: elements are cast before they are added up, as with ``dtype=``."""

    def computed(torch: Any) -> Any:
        x = torch.tensor([[1.6, 1.6], [2.7, 0.9]], dtype=torch.float64)
        out = torch.empty(0, dtype=getattr(torch, dtype))
        with quiet():
            try:
                getattr(torch, name)(x, 0, out=out)
            except NotImplementedError as error:
                return str(error).split("for")[-1]
        return out.tolist()

    ours, theirs = computed(retrograd), computed(real_torch)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        getattr(retrograd, name)(retrograd.ones(2, 2), 0, dtype=retrograd.float64, out=retrograd.empty(0))


REFUSED: dict[str, Call] = {
    "all": lambda t, out: t.all(t.ones(2, 3), 0, out=out()),
    "signbit": lambda t, out: t.signbit(t.ones(3), out=out()),
    "index_select": lambda t, out: t.index_select(t.ones(3), 0, t.tensor([1]), out=out()),
    "kthvalue": lambda t, out: t.kthvalue(t.ones(3), 1, out=(out(), t.empty(0, dtype=t.int64))),
    "quantile": lambda t, out: t.quantile(t.ones(3), 0.5, out=out()),
    "float_power": lambda t, out: t.float_power(t.ones(3), 2, out=out()),
    "cat": lambda t, out: t.cat([t.ones(3)], out=out()),
    "hstack": lambda t, out: t.hstack([t.ones(3)], out=out()),
    "fft": lambda t, out: t.fft.fft(t.ones(3), out=out()),
    "svd": lambda t, out: t.linalg.svd(t.eye(2), out=(out(), out(), out())),
    "eigh": lambda t, out: t.linalg.eigh(t.eye(2), out=(out(), out())),
    "eigvals": lambda t, out: t.linalg.eigvals(t.eye(2), out=out()),
    "matrix_norm": lambda t, out: t.linalg.matrix_norm(t.eye(2), out=out()),
    "var_mean has no out=": lambda t, out: t.var_mean(t.ones(3), 0, out=(out(), out())),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_out_dtypes(name: str) -> None:
    """The class of the error is PyTorch's, and so is the sentence that tells what is wrong."""

    def said(torch: Any) -> tuple[str, str]:
        with pytest.raises((RuntimeError, TypeError)) as caught, quiet():
            REFUSED[name](torch, lambda: torch.empty(0, dtype=torch.int32))
        return caught.typename, str(caught.value).partition(";")[0].partition("\n")[0]

    assert said(retrograd) == said(real_torch)


def test_out_of_a_spectrum_lies_row_by_row() -> None:
    """An empty ``out=`` gets the strides that PyTorch's has, where the result itself would lie otherwise."""

    def strides(torch: Any) -> list[tuple[int, ...]]:
        x = torch.ones(3, 4)
        outs = [torch.empty(0, dtype=torch.complex64), torch.empty(0)]
        torch.fft.fft(x, dim=0, out=outs[0])
        torch.cholesky_solve(torch.ones(3, 2), torch.eye(3), out=outs[1])
        return [out.stride() for out in outs]

    assert strides(retrograd) == strides(real_torch)


def test_a_diagonal_repeated_in_a_transposed_matrix() -> None:
    """``fill_diagonal_(wrap=True)`` counts rows by their stride."""
    for torch in (retrograd, real_torch):
        filled = torch.zeros(2, 5).t().fill_diagonal_(1.0, wrap=True)
        assert filled.nonzero().tolist() == [[0, 0], [1, 1], [3, 0], [4, 1]]


def test_misspelt_facts_of_out_fail() -> None:
    """A row and a line of the table of signatures cannot ask for a way of ``out=`` that there is not."""
    with pytest.raises(TypeError, match="exakt"):
        Out(exakt=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="exakt"):
        OutDtype("exakt")
