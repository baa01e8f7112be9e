"""Mantissa and exponent; complex numbers from their parts."""

from __future__ import annotations

from typing import Any

from ....calls.refusals import refuse
from ....return_types import named
from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.dtype_names import scalar_name


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
