"""SPEC E, operators: pictures of bytes are resampled in integers, along rows, then along columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd

real_torch = pytest.importorskip("torch")

MODES: list[dict[str, Any]] = [
    {"mode": mode, "align_corners": align, "antialias": smooth}
    for mode in ("bilinear", "bicubic") for align in (False, True) for smooth in (False, True) if not (align and smooth)
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_each_byte_is_torchs(mode: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    for shape in ((2, 3, 4, 5), (1, 1, 7, 9), (1, 6, 13, 3)):
        pixels = rng.integers(0, 256, shape).astype(np.uint8)
        for wanted in ({"size": (6, 6)}, {"size": (2, 3)}, {"size": (9, shape[3])}, {"scale_factor": 1.7}):
            ours, theirs = (
                t.nn.functional.interpolate(t.tensor(pixels), **wanted, **mode).numpy() for t in (retrograd, real_torch)
            )
            np.testing.assert_array_equal(ours, theirs, err_msg=str((shape, wanted)))
            assert ours.strides == theirs.strides
