"""Complex functions as pairs of real ones, since the comparisons of gradcheck are between real quantities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..table.registry import F
from ..tensors.tensor import Tensor
from .case import Case, as_tuple


def outputs_by_part(case: Case) -> list[Case]:
    """The case itself, or with complex outputs two: for their imaginary and for their real parts."""
    if not any(output.is_complex() for output in case.outputs):
        return [case]
    complex_positions = tuple(number for number, output in enumerate(case.checked) if output.is_complex())
    return [
        _part(case, name, _taking(case.func, take), case.inputs, complex_positions)
        for name, take in (("imaginary", F.imag), ("real", F.real))
    ]


def inputs_by_part(case: Case) -> list[Case]:
    """The case itself, or with complex inputs two: as function of their imaginary and of their real parts.

    The other part stays what it is in the inputs, so that the function is only called at points near the given one.
    """
    places = {index for index, x in enumerate(case.inputs) if isinstance(x, Tensor) and x.is_complex()}
    if not places:
        return [case]
    numbers = tuple(number for number, index in enumerate(case.varied_positions) if index in places)
    originals = {index: case.inputs[index].detach() for index in places}
    return [
        _part(case, name, _restoring(case.func, originals, name), _parts_of(case.inputs, places, name), numbers)
        for name in ("imaginary", "real")
    ]


def _part(
    case: Case, name: str, func: Callable[..., Any], inputs: tuple[Any, ...], complex_positions: tuple[int, ...]
) -> Case:
    part = Case.call(func, inputs, case.options)
    return replace(part, forward=case.forward, part=name, complex_positions=complex_positions)


def _taking(func: Callable[..., Any], take: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def part_of_outputs(*args: Any) -> tuple[Any, ...]:
        return tuple(take(output) if output.is_complex() else output for output in as_tuple(func(*args)))

    return part_of_outputs


def _parts_of(inputs: tuple[Any, ...], places: set[int], name: str) -> tuple[Any, ...]:
    parts = list(inputs)
    for index in places:
        whole = inputs[index].detach()
        part = (whole.imag if name == "imaginary" else whole.real).clone()
        parts[index] = part.requires_grad_(inputs[index].requires_grad)
    return tuple(parts)


def _restoring(func: Callable[..., Any], originals: dict[int, Tensor], name: str) -> Callable[..., Any]:
    def of_part(*args: Any) -> Any:
        whole = list(args)
        for index, original in originals.items():
            part = whole[index]
            whole[index] = original.real + part * 1j if name == "imaginary" else part + original.imag * 1j
        return func(*whole)

    return of_part
