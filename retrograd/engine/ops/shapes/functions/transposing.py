"""Dimensions in another order: ``permute``, ``movedim``, ``T``, ``mT``; and conjugated: ``H``, ``mH``, ``adjoint``."""

from __future__ import annotations

from typing import Any

from ....deprecations import discourage
from ....table.public import FUNCTIONS, property_, public
from ....table.registry import F
from ....tensors.convert import checked_dim
from .sizes import ints_of


@public("permute")
def permute(input: Any, *dims: Any) -> Any:  # noqa: A002
    """Dimensions in another order."""
    return F._permute(input, ints_of(dims))


@public("movedim")
def movedim(input: Any, source: Any, destination: Any) -> Any:  # noqa: A002
    """Dimensions moved to other places, the rest in their order."""
    source = (source,) if isinstance(source, int) else source
    destination = (destination,) if isinstance(destination, int) else destination
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    sources = [checked_dim(d, input.ndim) for d in source]
    places = [checked_dim(d, input.ndim) for d in destination]
    for name, dims, given in (("source", sources, source), ("destination", places, destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not input.ndim:
        return F._permute(input, ())
    order = [d for d in range(input.ndim) if d not in sources]
    for place, s in sorted(zip(places, sources, strict=True)):
        order.insert(place, s)
    return F._permute(input, tuple(order))


public("moveaxis")(movedim)


@property_("T")
def transposed(self: Any) -> Any:
    """All dimensions reversed."""
    if self.ndim != 2:
        discourage("T")
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
    if not self.ndim:
        discourage("H")
    return adjoint(self)
