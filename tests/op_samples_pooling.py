"""Samples of max, average, adaptive, norm and fractional pools."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, calls, program, real

NN = "nn.functional."

MAX = [
    *calls(
        NN + "max_pool1d",
        [real(2, 3, 7), 2],
        [real(3, 7), 3, 1, 1],
        [real(2, 3, 9), 3, 2, {"dilation": 2, "ceil_mode": True}],
        [real(2, 3, 7), 2, {"return_indices": True}],
    ),
    *calls(
        NN + "max_pool2d",
        [real(2, 3, 6, 4), 2],
        [real(3, 6, 5), (3, 2), (1, 2), (1, 0)],
        [real(2, 3, 7, 7), 3, 2, 1, {"ceil_mode": True}],
        [real(1, 2, 8, 8), 2, 1, 0, 3],
        [real(2, 3, 7, 7), 3, 2, 1, {"return_indices": True, "ceil_mode": True}],
        [np.floor(real(2, 3, 6, 6)), 3, 1],
    ),
    *calls(NN + "max_pool2d", [np.array([[[1.0, np.nan, 3.0, -np.inf], [2.0, 2.0, np.inf, 2.0]]]), 2], second=False),
    *calls(
        NN + "max_pool3d",
        [real(1, 2, 4, 4, 4), 2],
        [real(1, 2, 5, 4, 5), (2, 1, 3), 2, (0, 0, 1), {"return_indices": True}],
    ),
    *calls(NN + "adaptive_max_pool1d", [real(2, 3, 7), 3], [real(3, 6), 3], [real(3, 7), 3, {"return_indices": True}]),
    *calls(
        NN + "adaptive_max_pool2d",
        [real(2, 3, 7, 5), 3],
        [real(2, 3, 6, 4), (3, 2)],
        [real(3, 6, 4), (None, 3), {"return_indices": True}],
        [real(2, 3, 6, 4), (3, 2), {"return_indices": True}],
    ),
    *calls(NN + "adaptive_max_pool3d", [real(1, 2, 4, 5, 4), (2, 3, 2)], [real(1, 2, 4, 4, 4), 2]),
]

AVERAGE = [
    *calls(NN + "avg_pool1d", [real(2, 3, 7), 2], [real(3, 7), 3, 2, 1, True, False], [real(2, 3, 7), 3, 1, 1]),
    *calls(
        NN + "avg_pool2d",
        [real(2, 3, 6, 4), 2],
        [real(3, 6, 5), (3, 2), (1, 2), (1, 0)],
        [real(2, 3, 7, 7), 3, 2, 1, True],
        [real(2, 3, 7, 7), 3, 2, 1, True, False],
        [real(2, 3, 7, 7), 3, 2, 1, {"divisor_override": 5}],
    ),
    *calls(NN + "avg_pool3d", [real(1, 2, 4, 4, 4), 2], [real(1, 2, 5, 4, 5), (2, 1, 3), 2, (0, 0, 1), True, False]),
    *calls(NN + "adaptive_avg_pool1d", [real(2, 3, 7), 3], [real(3, 6), 1]),
    *calls(NN + "adaptive_avg_pool2d", [real(2, 3, 7, 5), 3], [real(3, 6, 4), (None, 2)], [real(2, 3, 6, 4), 1]),
    *calls(NN + "adaptive_avg_pool3d", [real(1, 2, 4, 5, 4), (2, 3, 2)], [real(1, 2, 4, 4, 4), 1]),
    *calls(NN + "lp_pool1d", [real(2, 3, 7, lo=0.2), 2.0, 2], [real(2, 3, 7, lo=0.2), 3.0, 3, 2, True]),
    *calls(NN + "lp_pool2d", [real(2, 3, 6, 6, lo=0.2), 2.0, 2], [real(2, 3, 6, 6, lo=0.2), 1.5, (2, 3), 1]),
    *calls(NN + "lp_pool3d", [real(1, 2, 4, 4, 4, lo=0.2), 2.0, 2]),
]


def unpooled(dims: int) -> Sample:
    """A max pool undone."""

    def call(torch, x):  # type: ignore[no-untyped-def]
        functional = torch.nn.functional
        values, where = getattr(functional, f"max_pool{dims}d")(x, 2, return_indices=True)
        return getattr(functional, f"max_unpool{dims}d")(values, where, 2)

    return program(f"{NN}max_unpool{dims}d", call, real(2, 2, *(4,) * dims), node=True)


REST = [
    *(unpooled(dims) for dims in (1, 2, 3)),
    *calls(
        NN + "max_unpool2d",
        [real(1, 1, 2, 2), Const(np.array([[[[0, 3], [8, 11]]]])), 2, {"output_size": (4, 4)}],
        [real(1, 1, 2, 2), Const(np.array([[[[0, 3], [8, 11]]]])), 2, 2],
    ),
    *calls(
        NN + "fractional_max_pool2d",
        [real(2, 3, 7, 6), 2, (3, 4), {"_random_samples": Const(real(2, 3, 2, lo=0.05, hi=0.95))}],
        [real(2, 3, 7, 6), (2, 3), {"output_ratio": (0.5, 0.5), "return_indices": True,
         "_random_samples": Const(real(2, 3, 2, lo=0.05, hi=0.95))}],
        variants=False,
    ),
    *calls(
        NN + "fractional_max_pool3d",
        [real(1, 2, 5, 5, 6), 2, (3, 2, 4), {"_random_samples": Const(real(1, 2, 3, lo=0.05, hi=0.95))}],
        variants=False,
    ),
]  # fmt: skip

SAMPLES = [*MAX, *AVERAGE, *REST]
