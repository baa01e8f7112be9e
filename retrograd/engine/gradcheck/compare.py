"""Comparison of Jacobians: whole ones, or in fast mode one random product of each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np

from ..core.base import wrap
from ..tensors.tensor import Tensor
from .case import Case, GradcheckError
from .elements import Array, positions_of
from .jacobians import (
    forward_direction,
    forward_jacobian,
    numerical_direction,
    numerical_jacobian,
    reverse_direction,
    reverse_jacobian,
)

Direction: TypeAlias = Array | tuple[Array, Array]

# Fast mode draws from a generator of its own: a check must not move the program's random numbers, and must not
# pass or fail by chance.
_SEED = 20240229


def compare_jacobians(case: Case) -> None:
    """``GradcheckError`` unless every analytical Jacobian is close to the numerical one."""
    numerical = [numerical_jacobian(case, position) for position in case.varied_positions]
    if not case.checked_positions:
        _check_all_zero([block for blocks in numerical for block in blocks], 0.0)
        return
    for number, analytical in enumerate(_analytical_jacobians(case)):
        place = case.checked_positions[number]
        for index, (a, blocks) in enumerate(zip(analytical, numerical, strict=True)):
            n = blocks[place]
            if n is not None and not _close(a, n, case.options.rtol, case.options.atol):
                raise GradcheckError(_mismatch(case, number, index, n, a))


def compare_directions(case: Case) -> None:
    """The fast check: products of random unit vectors with the Jacobians instead of the matrices.

    Per entry an error of ``atol`` is allowed, so that a product with ``u`` and ``v`` may be off by ``atol`` times
    the sum of the products of their entries.
    """
    us, vs = _random_directions(case)
    along = [numerical_direction(case, place, u) for place, u in zip(case.varied_positions, us, strict=True)]
    if not case.checked_positions:
        _check_all_zero([block for blocks in along for block in blocks], case.options.nondet_tol)
        return
    for number, products in enumerate(_analytical_directions(case, us, vs)):
        for index, (a, u) in enumerate(zip(products, us, strict=True)):
            numeric = along[index][case.checked_positions[number]]
            if numeric is None:
                continue
            n = numeric if case.forward else np.sum(vs[number] * numeric)
            atol = case.options.atol * _total(u) * (1.0 if case.forward else float(vs[number].sum()))
            if not _close(a, n, case.options.rtol, atol):
                raise GradcheckError(_mismatch(case, number, index, n, a) + _slow_report(case, number, index))


def _analytical_jacobians(case: Case) -> Iterator[list[Array]]:
    """For one checked output after the other its Jacobians with respect to the varied inputs."""
    if case.forward:
        yield from _by_output(case, [forward_jacobian(case, position) for position in case.varied_positions])
    else:
        for output in case.checked:
            yield reverse_jacobian(case, output)


def _analytical_directions(case: Case, us: list[Direction], vs: list[Array]) -> Iterator[list[Array]]:
    """Likewise the products with the directions: v, Jacobian and u, or in forward mode Jacobian and u."""
    if case.forward:
        pairs = zip(case.varied_positions, us, strict=True)
        yield from _by_output(case, [forward_direction(case, position, np.asarray(u)) for position, u in pairs])
    else:
        for output, v in zip(case.checked, vs, strict=True):
            rows = reverse_direction(case, output, v)
            yield [_project(row, u) for row, u in zip(rows, us, strict=True)]


def _by_output(case: Case, by_input: list[list[Array | None]]) -> Iterator[list[Array]]:
    for place in case.checked_positions:
        blocks = [blocks[place] for blocks in by_input]
        yield [block for block in blocks if block is not None]


def _project(row: Array, u: Direction) -> Array:
    # For a complex input the two parts are independent directions, as on the numerical side.
    if isinstance(u, tuple):
        return np.asarray(row.real @ u[0] + 1j * (row.imag @ u[1]))
    return np.asarray(row @ u)


def _random_directions(case: Case) -> tuple[list[Direction], list[Array]]:
    generator = np.random.default_rng(_SEED)

    def unit(tensor: Tensor) -> Array:
        vector = np.zeros(tensor.numel())
        there = positions_of(tensor)  # a sparse input is moved where it has entries
        vector[there] = generator.random(len(there))
        length = float(np.linalg.norm(vector))
        return np.asarray(vector / length) if length else vector

    us: list[Direction] = [(unit(x), unit(x)) if x.is_complex() else unit(x) for x in case.varied]
    return us, [unit(output) for output in case.checked]


def _total(u: Direction) -> float:
    return float(sum(part.sum() for part in u)) if isinstance(u, tuple) else float(u.sum())


def _close(a: Array, n: Array, rtol: float, atol: float) -> bool:
    return bool(np.allclose(a, n, rtol=rtol, atol=atol))


def _check_all_zero(blocks: list[Array | None], tolerance: float) -> None:
    if any(block is not None and block.size and np.abs(block).max() > tolerance for block in blocks):
        raise GradcheckError(
            "Numerical gradient for function expected to be zero: no output requires grad, yet the outputs change "
            "with the inputs. Is there a detach() on the way?"
        )


def _mismatch(case: Case, output: int, index: int, numerical: Array, analytical: Array) -> str:
    side, number = ("inputs", index) if case.forward else ("outputs", output)
    prefix = ""
    if case.part and number in case.complex_positions:
        prefix = f"While considering the {case.part} part of complex {side} only, "
    mode = "computed with forward mode " if case.forward else ""
    return (
        f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {index},\n"
        f"numerical:{_shown(numerical)}\nanalytical:{_shown(analytical)}\n"
    )


def _shown(array: Array) -> str:
    array = np.asarray(array)
    return str(wrap(array) if array.ndim else array.item())


def _slow_report(case: Case, output: int, index: int) -> str:
    """The full matrices for a mismatch that fast mode has found."""
    place = case.checked_positions[output]
    numerical = numerical_jacobian(case, case.varied_positions[index])[place]
    analytical = next(islice(_analytical_jacobians(case), output, None))[index]
    assert numerical is not None, "a checked output is differentiable"
    report = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode. "
        "The same in slow mode:\n\n"
        f"Numerical:\n{_shown(numerical)}\nAnalytical:\n{_shown(analytical)}\n\n"
        f"The max per-element difference (slow mode) is: {np.abs(numerical - analytical).max()}.\n"
    )
    if _close(analytical, numerical, case.options.rtol, case.options.atol):
        report += (
            "Fast gradcheck failed but element-wise differences are small: the check might pass with "
            "`fast_mode=False`.\n"
        )
    return report
