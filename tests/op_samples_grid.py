"""Samples of ``grid_sample`` and ``affine_grid``."""

from __future__ import annotations

import itertools

from op_samples import calls, real

NN = "nn.functional."
IMAGE, POINTS = real(2, 3, 4, 5), real(2, 3, 2, 2, lo=-1.3, hi=1.3)
VOLUME, PLACES = real(1, 2, 3, 2, 4), real(1, 2, 2, 2, 3, lo=-1.3, hi=1.3)

SAMPLES = [
    *calls(
        NN + "grid_sample",
        *([IMAGE, POINTS, mode, padding, align] for mode, padding, align in itertools.product(
            ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True))),
        variants=False,
    ),
    *calls(
        NN + "grid_sample",
        *([VOLUME, PLACES, mode, padding, align] for mode, padding, align in itertools.product(
            ("bilinear", "nearest"), ("zeros", "border", "reflection"), (False, True))),
        variants=False, note="volume",
    ),
    *calls("grid_sampler", [IMAGE, POINTS, 0, 0, True], variants=False),
    *calls(
        NN + "affine_grid",
        [real(2, 2, 3), (2, 1, 3, 4), {"align_corners": True}], [real(2, 2, 3), (2, 1, 3, 4), {"align_corners": False}],
        [real(1, 3, 4), (1, 1, 2, 3, 2), {"align_corners": False}], [real(1, 2, 3), (1, 1, 1, 4), {"align_corners": True}],
        variants=False,
    ),
]  # fmt: skip
