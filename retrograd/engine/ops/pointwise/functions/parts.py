"""Parts of numbers: complex conjugates, mantissa and exponent, rounding."""

from __future__ import annotations

from typing import Any

from ....aliasing.strided import storage_offset
from ....calls.inplace import call_inplace
from ....calls.refusals import refuse
from ....core.bits import CONJUGATE, NEGATIVE, bits_of
from ....core.dtypes import scalar_name
from ....core.registry import OPS, F
from ....return_types import named
from ....table.public import check_tensor, public

# Complex conjugates: as views that are conjugated when they are read, or as values; the same for negation.


@public("conj")
def conj(input: Any) -> Any:  # noqa: A002
    """The complex conjugate, a view; a real tensor itself."""
    check_tensor("conj", input)
    return F._conj(input) if input._sig.kind == "c" else input


@public("_conj")
def lazy_conj(input: Any) -> Any:  # noqa: A002
    """What ``conj`` calls."""
    return conj(input)


@public("_neg_view")
def neg_view(input: Any) -> Any:  # noqa: A002
    """A view with the sign changed when it is read."""
    check_tensor("_neg_view", input)
    return F._neg_view(input)


@public("_conj_physical", method=True)
def conj_physical_of(input: Any) -> Any:  # noqa: A002
    """What ``conj_physical`` calls."""
    return conj_physical(input)


@public("conj_physical", out=True)
def conj_physical(input: Any) -> Any:  # noqa: A002
    """The complex conjugate, with memory of its own; a real tensor itself."""
    check_tensor("conj_physical", input)
    return F._conj_physical(input) if input._sig.kind == "c" else input


@public("conj_physical_")
def conj_physical_(self: Any) -> Any:
    """In-place complex conjugate."""
    return call_inplace(OPS["_conj_physical"].in_place, (self,), {}) if self._sig.kind != "b" else self


@public("is_conj")
def is_conj(input: Any) -> bool:  # noqa: A002
    """Whether a tensor is conjugated when it is read."""
    check_tensor("is_conj", input)
    return bool(bits_of(input) & CONJUGATE)


@public("is_neg")
def is_neg(input: Any) -> bool:  # noqa: A002
    """Whether the sign is changed when a tensor is read."""
    check_tensor("is_neg", input)
    return bool(bits_of(input) & NEGATIVE)


@public("resolve_conj")
def resolve_conj(input: Any) -> Any:  # noqa: A002
    """The tensor itself, or a copy of one that is conjugated when it is read."""
    return F.clone(input) if is_conj(input) else input


@public("resolve_neg")
def resolve_neg(input: Any) -> Any:  # noqa: A002
    """The tensor itself, or a copy of one whose sign is changed when it is read."""
    return F.clone(input) if is_neg(input) else input


@public("view_as_real")
def view_as_real(input: Any) -> Any:  # noqa: A002
    """A complex tensor as a real one with a last dimension of 2 (a view)."""
    if is_conj(input):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias "
            "the original."
        )
    return F.view_as_real(input)


@public("view_as_complex")
def view_as_complex(input: Any) -> Any:  # noqa: A002
    """A real tensor with a last dimension of 2 as complex numbers (a view), where they lie in pairs."""
    check_tensor("view_as_complex", input)
    made = F.view_as_complex(input)
    if storage_offset(input) % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return made


# Mantissa and exponent; complex numbers from their parts.


@public("frexp", out=True)
def frexp(input: Any) -> Any:  # noqa: A002
    """Mantissa in ``[0.5, 1)`` and int32 exponent with ``input = mantissa * 2 ** exponent``."""
    check_tensor("frexp", input)
    if input._sig.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return named("frexp", *F._frexp(input))


@public("complex", method=False, out=True)
def complex(real: Any, imag: Any) -> Any:  # noqa: A001
    """Complex tensor from its real and imaginary part."""
    _check_parts("complex", real, imag, ("real", "imag"))
    return F._complex(real, imag)


def _check_parts(name: str, first: Any, second: Any, names: tuple[str, str]) -> None:
    check_tensor(name, first, name=names[0])
    check_tensor(name, second, 2, names[1])
    a, b = first._sig.numpy, second._sig.numpy
    refuse(
        a.kind != "f" or b.kind != "f",
        f"Expected both inputs to be Half, Float or Double tensors but got {scalar_name(a)} and {scalar_name(b)}",
    )
    refuse(
        a != b,
        f"Expected object of scalar type {scalar_name(a)} but got scalar type {scalar_name(b)} for second argument",
    )


@public("polar", method=False, out=True)
def polar(abs: Any, angle: Any) -> Any:  # noqa: A002
    """Complex tensor from absolute value and angle."""
    _check_parts("polar", abs, angle, ("abs", "angle"))
    return F._polar(abs, angle)


# `round` to whole numbers or decimals.


def _round_call(input: Any, decimals: int | None) -> tuple[Any, tuple[Any, ...]]:  # noqa: A002
    return (OPS["_round"], (input,)) if decimals is None else (OPS["_round_decimals"], (input, decimals))


def round(input: Any, *, decimals: int | None = None) -> Any:  # noqa: A001, A002
    """Nearest integer (halves to even), or nearest multiple of ``10 ** -decimals``."""
    check_tensor("round", input)
    row, args = _round_call(input, decimals)
    return row(*args)


def round_(self: Any, *, decimals: int | None = None) -> Any:
    """In-place rounding."""
    row, args = _round_call(self, decimals)
    return call_inplace(row, args, {})


def _special_round(input: Any, *, decimals: int = 0) -> Any:  # noqa: A002
    """Nearest multiple of ``10 ** -decimals``."""
    return round(input, decimals=decimals)


public("round", out=True)(round)
public("round", out=True, namespace="special")(_special_round)
public("round_")(round_)
