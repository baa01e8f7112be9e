"""Samples of reductions: products, spreads, extremes, medians, quantiles, norms, running ones, differences."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, bools, calls, cplx, ints, program, real

TIES = np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
HOLES = np.array([[1.0, np.nan, -2.0], [np.nan, 0.5, 3.0]])
ZEROS = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [1.5, 2.5, -1.0]])

PRODUCTS = [
    *calls("prod", [real(2, 3)], [real(2, 3), 1], [real(2, 3), 0, True], [real()], [ZEROS], [ZEROS, 1], [cplx(2, 3)],
           [cplx(2, 3), -1], [np.zeros((0, 3))], [np.zeros((0, 3)), 0], [ints(2, 3)], [bools(3)], [real(), 0]),
    *calls("prod", [np.array([0.0, 0.0, 2.0])], note="zeros"),
]  # fmt: skip

SPREADS = [
    *calls("var std", [real(2, 3)], [real(2, 3), 1], [real(2, 3), {"dim": (0, 1), "keepdim": True}],
           [real(2, 3), {"correction": 0}], [real(2, 3), False], [real(2, 3), 0, False, True],
           [real(2, 3), {"dim": -1, "unbiased": False}], [real(2, 3, 2), (0, 2)], [real(2, 3), {"correction": 0.5}]),
    *calls("var_mean std_mean", [real(2, 3)], [real(2, 3), 1], [real(2, 3), {"dim": 0, "keepdim": True}],
           [real(2, 3), {"dim": (0, 1), "correction": 0}]),
    *calls("var std var_mean", [cplx(2, 3), 1], note="complex"),
    *calls("std var", [np.ones(3)], note="constant", second=False),
]  # fmt: skip

EXTREMES = [
    *calls("amax amin", [real(2, 3)], [real(2, 3), 1], [real(2, 3), (0, 1), True], [TIES, 1], [TIES], [real()],
           [ints(2, 3), 0], [bools(2, 3), 1]),
    *calls("aminmax", [real(2, 3)], [TIES, {"dim": 1}], [TIES], [real(2, 3), {"dim": 0, "keepdim": True}], [real()]),
    *calls("max min", [real(2, 3)], [TIES], [real(2, 3), 1], [real(2, 3), 0, True], [TIES, 1], [HOLES, 1],
           [real()], [ints(2, 3)], [real(2, 3), real(3)], [real(), 0]),
    *calls("median nanmedian", [real(2, 3)], [real(2, 4), 1], [real(3, 4), 0, True], [HOLES, 1], [real()],
           [real(), 0], [ints(5)], [ints(5, start=2), 0]),
    *calls("median nanmedian max min", [HOLES], note="NaN", forward=False),  # torch's tangent is NaN
    *calls("mode", [np.array([[1.0, 2.0, 2.0, 1.0, 2.0], [0.5, 3.0, 3.0, 0.5, -1.0]])], [real(), 0],
           [np.array([[1.0, 2.0], [1.0, 3.0], [0.0, 3.0]]), 0, True]),
    *calls("argmax argmin", [real(2, 3)], [real(2, 3), 1], [real(2, 3), 0, True], [TIES], [HOLES, 1]),
]  # fmt: skip

SUMS = [
    *calls("sum mean", [real(2, 3)], [real(2, 3), 1], [real(2, 3), (0, 1), True], [cplx(2, 3), 0], [real()],
           [np.zeros((0, 3)), 0], [real(2, 3, 2), (0, -1)], [real(2, 3), {"dim": 1, "dtype": None}]),
    *calls("sum", [ints(2, 3)], [bools(2, 3), 1]),
    *calls("logsumexp", [real(2, 3), 1], [real(2, 3), (0, 1)], [real(2, 3), 0, True], [real(), 0], [ints(2, 3), 1],
           [np.array([[-np.inf, 1.0], [800.0, 801.0]]), 1], [cplx(2, 3), 1]),
    *calls("special.logsumexp", [real(2, 3), 1]),
    *calls("nansum nanmean", [HOLES], [HOLES, 1], [HOLES, 0, True], [real(2, 3), (0, 1)]),
    *calls("nansum", [ints(2, 3)]),
    *calls("count_nonzero", [real(2, 3)], [ZEROS, 1], [ints(2, 3), (0, 1)], [bools(3)]),
    *calls("any all", [bools(2, 3)], [bools(2, 3), 1], [ZEROS, 0, True], [ints(2, 3)], [np.zeros((0, 2))],
           [bools(2, 3), (0, 1)], [ints(3).astype(np.uint8)]),
]  # fmt: skip

QUANTILES = [
    *calls("quantile", [real(7), 0.3], [real(2, 5), 0.3, 1], [real(2, 5), 0.3, 0, True], [real(5), Const(real(3, lo=0, hi=1))],
           [real(2, 5), Const(real(3, lo=0, hi=1)), 1], [real(3, 4, 2), Const(real(2, lo=0, hi=1)), 1, True],
           [real(2, 3), 0.0], [real(2, 3), 1.0, {"keepdim": True}], [HOLES, 0.5, 1], [real(3, 4, 2), 0.5, 0]),
    *calls("nanquantile", [HOLES, 0.3], [HOLES, 0.3, 1], [real(2, 5), 0.7, 0]),
    *calls("quantile", *[[real(6), 0.3, {"interpolation": how}] for how in ("lower", "higher", "nearest", "midpoint")],
           note="interpolation"),
]  # fmt: skip

NORMS = [
    *calls("norm", [real(2, 3)], [real(2, 3), 2, 1], [real(2, 3), 1], [real(2, 3), 3, 0, True], [real(2, 3), "fro", (0, 1)],
           [real(2, 3), "nuc"], [real(2, 3), float("inf")], [TIES, float("inf"), 1], [real(2, 3), 0], [real(2, 3), -1],
           [real(2, 3), 0.5], [cplx(2, 3)], [cplx(2, 3), 1], [real()]),
    *calls("linalg.vector_norm", [real(2, 3)], [real(2, 3), 3], [real(2, 3), 1.5, 1], [real(2, 3), float("inf"), (0, 1)],
           [TIES, -float("inf"), 1], [real(2, 3), 0, 0], [cplx(2, 3), 2, 1, True], [cplx(2, 3), 3], [cplx(2), float("inf")]),
    *calls("linalg.vector_norm norm", *[[np.zeros(3), p] for p in (1, 2, 3, float("inf"), 0)], note="zero",
           second=False),
    *calls("linalg.norm", [real(2, 3)], [real(3)], [real(2, 3), "fro"], [real(2, 3), 2], [real(2, 3), 1],
           [real(2, 3), "nuc"], [real(3), float("inf")], [real(2, 3), {"dim": 1}], [real(2, 3), -2]),
    *calls("linalg.matrix_norm", [real(2, 3)], [real(2, 2, 3), 2], [real(2, 2, 3), "nuc"], [real(2, 3), 1],
           [real(2, 3), float("inf")], [real(2, 3), -1], [real(2, 3), -2], [real(2, 3, 2), "fro", (0, 2), True],
           [real(2, 3, 2), 2, (0, 1), True], [cplx(2, 2)], [cplx(2, 2), 2]),
    *calls("dist", [real(2, 3), real(3)], [real(3), real(3, start=2), 1], [real(3), real(3, start=2), 3],
           [real(3), real(3, start=2), float("inf")]),
    *calls("renorm", [real(3, 4), 2, 0, 1.0], [real(3, 4), 1, 1, 3.0], [real(3, 4), 2, 0, 100.0]),
    *calls("nuclear_norm", [real(2, 3)]),
    *calls("frobenius_norm", [real(2, 3), [1]], node=False),
]  # fmt: skip

RUNNING = [
    *calls("cumsum cumprod", [real(2, 3), 1], [real(2, 3), 0], [real(), 0], [cplx(2, 3), -1], [np.zeros((0, 2)), 1],
           [ints(2, 3), 1], [bools(4), 0]),
    *calls("cumprod", [ZEROS, 0], [ZEROS, 1], note="zeros"),
    *calls("cummax cummin", [real(2, 5), 1], [TIES, 1], [real(4, 2), 0], [real(), 0], [HOLES, 1], [ints(2, 4), 1]),
    *calls("logcumsumexp", [real(2, 3), 1], [real(4), 0], [real(), 0], [cplx(3), 0]),
    *calls("logcumsumexp", [np.array([-900.0, 0.0, 900.0]), 0], note="wide", forward=False),  # torch's tangents are 0
    *calls("diff", [real(2, 4)], [real(4), 2], [real(2, 4), 1, 0], [bools(4)], [ints(4)],
           [real(2, 3), {"prepend": real(2, 1), "append": real(2, 2)}], [real(3), 3]),
    *calls("trapezoid trapz", [real(2, 4)], [real(2, 4), real(4)], [real(2, 4), {"dx": 0.5, "dim": 0}],
           [real(2, 4), real(2, 4)], node=False),
    *calls("cumulative_trapezoid", [real(2, 4)], [real(2, 4), real(4)], [real(2, 4), {"dx": 0.5, "dim": 0}], node=False),
    *calls("cov", [real(3, 4)], [real(4)], [real(3, 4), {"correction": 0}], [cplx(2, 3)],
           [real(2, 4), {"fweights": ints(4, lo=1, hi=4)}], [real(2, 4), {"aweights": real(4, lo=0.1)}],
           [real(2, 4), {"fweights": ints(4, lo=1, hi=4), "aweights": real(4, lo=0.1)}], node=False),
    *calls("corrcoef", [real(3, 4)], [real(4)]),
    *calls("gradient", [real(5)], [real(3, 4)], [real(3, 4), {"dim": 1, "spacing": 0.5}],
           [real(5), {"edge_order": 2}], [real(4, 5), {"spacing": (2.0, 3.0), "edge_order": 2}],
           [real(5), {"spacing": [Const(np.array([0.0, 1.0, 3.0, 4.0, 7.0]))]}],
           [real(5), {"spacing": [Const(np.array([0.0, 1.0, 3.0, 4.0, 7.0]))], "edge_order": 2}], node=False),
    program("cumsum_", lambda torch, x: (x * 1).cumsum_(0), real(3, 2), node=True),
    program("sum_to_size", lambda torch, x: x.sum_to_size(1, 3), real(2, 3), node=True),
]  # fmt: skip

SAMPLES: list[Sample] = [*PRODUCTS, *SPREADS, *EXTREMES, *SUMS, *QUANTILES, *NORMS, *RUNNING]
