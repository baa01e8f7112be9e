"""SPEC E, operators: ranges of whole numbers by steps that are none; NaN where a positive number is wanted."""

from __future__ import annotations

from typing import Any

from both_engines import differential, raises

RANGES: list[tuple[float, ...]] = [
    (0, 5, 1.5), (0.5, 5, 1.5), (0.5, 5.2, 1.5), (-1.7, 6, 2.6), (5, -1.5, -1.2), (1.9, 4.1), (2.5,), (0, 7, 2),
]  # fmt: skip


@differential
def test_whole_ranges(torch: Any) -> Any:
    """Bounds and steps are whole numbers before they are counted in int64, after that in smaller dtypes."""
    made = [torch.arange(*r, dtype=dtype) for r in RANGES for dtype in (torch.int64, torch.int32, torch.int16)]
    into = [torch.arange(*r, out=torch.zeros(0, dtype=torch.int32)) for r in RANGES]
    refused = [
        raises("step must be nonzero", torch.arange, 0, 2, 0.5, dtype=torch.int64),
        raises("not implemented for 'ComplexDouble'", torch.arange, 3, out=torch.zeros(0, dtype=torch.complex128)),
    ]
    return [made, into, refused, torch.arange(0, 2, 0.5, dtype=torch.int32), torch.arange(0.5, 3, 0.7)]


@differential
def test_nan_is_not_positive(torch: Any) -> Any:
    """A NaN as threshold or norm is refused where a positive number is wanted."""
    x, nan, functional = torch.ones(2, 2), float("nan"), torch.nn.functional
    return [
        raises("non-positive values for delta", functional.huber_loss, x, x, delta=nan),
        raises("negative values for beta", functional.smooth_l1_loss, x, x, beta=nan),
        raises("expected maxnorm to be >= 0", torch.renorm, x, 2, 0, nan),
    ]
