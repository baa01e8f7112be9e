"""How tensors print, held against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from both_engines import differential

VALUES = [
    [1.23, 1e6], [1e-5, 1.0], [0.5, 1234.5], [1.0, 2.0, float("nan")], [1e10], [1e-8, 1e-9], [123456.7, 1.0],
    [1.0, 1e9], [0.1, float("inf")], [1.0, 2000.0], [1.0, 1000.0], [-3.0, 2e5], [0.0, 5.0], [0.0, 0.0], [-0.5, 100.25],
    [float("nan")], [1e9, 2e9], [-1000.0, 3.0], [[1.5, -2.25], [1000.125, 3.0]], [1 + 2j, 3e5j], [1e-9 + 1j],
    [1 + 2j, 3 - 4j],
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"},
                                     {"precision": 2, "linewidth": 40}])  # fmt: skip
def test_numbers_and_options(options: dict[str, Any]) -> None:
    """Exponents, widths and digits, chosen by the range of the values or by options; the default comes back."""

    @differential
    def test(torch: Any) -> Any:
        torch.set_printoptions(**options)
        try:
            return [repr(torch.tensor(value)) for value in VALUES] + [repr(torch.arange(20.0) / 3)]
        finally:
            torch.set_printoptions(profile="default")

    test()


@differential
def test_a_tensor_from_a_tensor(torch: Any) -> Any:
    """``new_tensor`` of a tensor warns that a clone was meant."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = torch.ones(1).new_tensor(torch.tensor([2]))
    return made, ["To copy construct from a tensor" in str(warning.message) for warning in told]


@differential
def test_lines_and_ends(torch: Any) -> Any:
    """Lines break where PyTorch breaks them; of a large tensor only what is shown decides about the format."""
    shapes = [(1, 20), (2, 20), (1, 1, 20), (20,), (3, 7, 9), (2, 0, 3), (1, 1, 1, 1), (1001,), (40, 50), (3, 20, 30)]
    made = [fill(*shape) for shape in shapes for fill in (torch.ones, torch.zeros)]
    made += [m * 0.1234 for m in made] + [m.bool() for m in made] + [m.long() * 12345 for m in made]
    made += [torch.complex(m, m * -0.5) for m in made[:6]]
    outlier = torch.ones(3000)
    outlier[1500] = 1e9
    return [repr(m) for m in [*made, outlier, outlier.view(60, 50), torch.arange(2000) - 1000, torch.eye(3)[:, 0]]]


@differential
def test_spaced_numbers(torch: Any) -> Any:
    """The step is rounded to single precision first."""
    spaced = [torch.linspace(a, b, n) for a, b, n in ((-1, 1, 7), (0, 1, 11), (-3, 5.5, 10), (0.1, 0.7, 4))]
    return [torch.cat(spaced), torch.linspace(-1, 1, 7)[3].item() < 0, torch.linspace(-1, 1, 7, dtype=torch.float64)]


@differential
def test_tangents_in_texts(torch):
    """A tangent of one number is written as that number, others as tensors."""
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        return [repr(ad.make_dual(torch.zeros(n), torch.ones(n))) for n in ((), (2,))]
