"""Transposes: ``T``, ``mT``, and conjugated ``H``, ``mH`` and ``adjoint``."""

from __future__ import annotations

from typing import Any

from ...table.public import FUNCTIONS, property_, public
from ...table.registry import F


@property_("T")
def transposed(self: Any) -> Any:
    """All dimensions reversed."""
    return F._permute(self, tuple(reversed(range(self.ndim))))


@property_("mT")
def matrix_transposed(self: Any) -> Any:
    """The last two dimensions exchanged; a number is its own transpose."""
    if not self.ndim:
        return self
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return F.transpose(self, -2, -1)


@public("adjoint")
def adjoint(input: Any) -> Any:  # noqa: A002
    """The conjugate transpose of matrices."""
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    return FUNCTIONS["conj"](F.transpose(input, -2, -1) if input.ndim else input)


@property_("mH")
def matrix_adjoint(self: Any) -> Any:
    """The conjugate transpose of matrices."""
    return adjoint(self)


@property_("H")
def hermitian_transpose(self: Any) -> Any:
    """The conjugate transpose of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    return adjoint(self)
