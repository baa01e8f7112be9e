"""Shape and dtype checks of linear algebra."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..calls.refusals import refuse_kind
from ..core.dtypes import scalar_name
from ..core.narrow import kind_of

Forward = Callable[..., Any]


class _LinAlgError(RuntimeError):
    """A matrix that the computation cannot take: singular, or not positive-definite."""


_LinAlgError.__module__ = "retrograd._C"  # as tracebacks and pickles of PyTorch name it
LinAlgError = _LinAlgError
"""PyTorch's public name; tracebacks show the other one."""


UNKNOWN_PRECISION = "This function doesn't handle types other than float and double"
"""What functions say of other dtypes that first ask how precise one is."""


def check_matrix(name: str, letter: str, t: Any) -> None:
    """``RuntimeError`` for an argument, called ``letter``, that is not a matrix or a batch of them."""
    if t.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")


def check_sides(name: str, a: Any) -> None:
    """``RuntimeError`` for matrices, called ``A``, that are not square."""
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )


def check_square(name: str, a: Any, *, half: bool = False) -> None:
    """``RuntimeError`` for anything but square matrices of a floating (float16 with ``half``) or complex dtype."""
    check_matrix(name, "A", a)
    check_sides(name, a)
    if not half or a.dtype != np.float16:
        check_dtype(name, a)


_KERNELS = {
    "linalg.lu_factor": "lu_cpu", "linalg.eigh": "linalg_eigh_cpu", "cholesky": "cholesky_cpu", "geqrf": "geqrf_cpu",
    "cholesky_inverse": "cholesky_inverse_out_cpu", "linalg.solve_triangular": "triangular_solve_cpu",
}  # fmt: skip
"""Functions that leave it to their kernels to refuse a dtype."""
_KERNELS_OF_FLOATS = _KERNELS | {
    "linalg.det": "lu_cpu", "linalg.solve": "lu_cpu", "linalg.qr": "geqrf_cpu", "linalg.svd": "linalg_svd_cpu",
    "linalg.eig": "linalg_eig_out_cpu", "linalg.cholesky": "cholesky_cpu",
    "linalg.ldl_factor_ex": "ldl_factor_kernel_cpu",
}  # fmt: skip
"""Those that look at integers themselves and leave half precision to their kernels, too."""


def _kernel(name: str, dtype: Any) -> str | None:
    return (_KERNELS_OF_FLOATS if kind_of(dtype) == "f" else _KERNELS).get(name)


def takes_empty(name: str) -> Callable[[Forward], Forward]:
    """For forward functions whose kernel would refuse a dtype, but does not run for empty matrices."""

    def decorate(forward: Forward) -> Forward:
        @functools.wraps(forward)
        def taken(self: Any, *others: Any, **more: Any) -> Any:
            narrow = self.dtype
            if self.size or self.ndim < 2 or narrow.char in "fdFD" or _kernel(name, narrow) is None:
                return forward(self, *others, **more)
            wide = [_cast(x, narrow, np.float64) for x in (self, *others)]
            made = forward(*wide, **more)
            if isinstance(made, tuple):
                return tuple(_cast(x, np.float64, narrow) for x in made)
            return _cast(made, np.float64, narrow)

        return taken

    return decorate


def _cast(x: Any, before: Any, after: Any) -> Any:
    return x.astype(after) if isinstance(x, np.ndarray) and x.dtype == before else x


def left_where_failed(failed: Any, a: Any, left: Any, compute: Callable[[Any], Any]) -> Any:
    """What is computed of each matrix; of those that failed what was left behind."""
    failed = failed[..., None, None]
    return np.where(failed, left, compute(np.where(failed, np.eye(a.shape[-1], dtype=a.dtype), a)))


def check_dtype(name: str, a: Any) -> None:
    """``RuntimeError`` for dtypes that linear algebra does not take, or the kernel's ``NotImplementedError``."""
    kernel = _kernel(name, a.dtype)
    if kernel is not None:
        refuse_kind(kernel, a.dtype, "wc")
    if kind_of(a.dtype) not in "fc" or a.dtype.itemsize < 4:
        kind = (
            "Low precision dtypes not supported."
            if kind_of(a.dtype) == "f"
            else "Expected a floating point or complex tensor as input."
        )
        raise RuntimeError(f"{name}: {kind} Got {scalar_name(a.dtype)}")
