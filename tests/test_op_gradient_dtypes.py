"""Every operator's backward: each gradient has the dtype and the shape of what it is the gradient of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from many_cases import by_operators
from op_runs import Run, cast, first_order, quiet, run, second_order
from op_samples import Sample, all_samples

import retrograd

WITH_GRADIENT = [s for s in all_samples() if s.grad]
FIRST_OF_NAME = {id(s) for s in {s.name: s for s in reversed(WITH_GRADIENT) if s.second}.values()}


def wrong(ours: Run, gradients: list[Any]) -> list[str]:
    """Gradients that do not fit their leaf."""
    return [
        f"gradient {i} is {g.dtype} {tuple(g.shape)} for {leaf.dtype} {tuple(leaf.shape)}"
        for i, (leaf, g) in enumerate(zip(ours.leaves, gradients, strict=False))
        if g is not None and (g.dtype is not leaf.dtype or g.shape != leaf.shape)
    ]


def misfits(sample: Sample, order: Callable[[Run], list[Any]] = first_order) -> list[str]:
    """Gradients of a sample that do not fit; none where it is refused, as other tests compare with PyTorch."""
    try:
        ours = run(retrograd, sample)
        gradients = order(ours) if ours.outputs else []
    except Exception:
        return []
    return wrong(ours, gradients)


@by_operators(WITH_GRADIENT)
def test_gradients_fit_their_inputs(sample: Sample) -> None:
    """Of first order in float16 and complex64, and of second order; those of float64 are held against PyTorch's."""
    with quiet(), np.errstate(all="ignore"):
        if id(sample) in FIRST_OF_NAME:
            assert misfits(sample, second_order) == []
        for dtype in ("float16", "complex64"):
            assert misfits(cast(sample, dtype)) == [], dtype
