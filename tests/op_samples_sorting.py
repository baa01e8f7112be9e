"""Samples of sorting, searching, distinct values and histograms."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, calls, ints, real

HOLES = np.array([[1.0, np.nan, -2.0, 1.0], [np.nan, 0.5, 3.0, 0.5]])
REPEATED = np.array([1.0, 1.0, 2.0, 2.0, 0.5, 1.0])

SAMPLES: list[Sample] = [
    *calls("sort", [real(2, 4)], [real(2, 4), 0], [real(2, 4), 1, True], [HOLES], [HOLES, 1, True], [real()], [ints(6)],
           [real(2, 4), {"dim": 1, "stable": True}], [REPEATED, {"stable": True, "descending": True}],
           [np.zeros((0, 2)), 0]),
    *calls("argsort", [real(2, 4)], [real(2, 4), 0, True], [REPEATED, {"stable": True}]),
    *calls("msort", [real(3, 2)], [real(4)]),
    *calls("topk", [real(2, 5), 2], [real(2, 5), 3, 1, False], [real(4, 2), 2, 0], [real(), 1], [ints(5, lo=0, hi=99), 2]),
    *calls("kthvalue", [real(2, 5), 2], [real(4, 2), 3, 0, True], [real(), 1]),
    *calls("unique", [REPEATED], [ints(3, 4), True, True, True], [ints(6), {"return_counts": True}],
           [Const(np.array([[1.0, 2], [1, 2], [0, 1]])), True, True, True, 0], grad=False),
    *calls("unique_consecutive", [REPEATED], [REPEATED, True, True], [ints(3, 2, lo=0, hi=2), {"dim": 0}], grad=False),
    *calls("isin", [Const(REPEATED), Const(np.array([1.0, 0.5]))], [ints(2, 3), ints(3)], [ints(4), 1],
           [Const(REPEATED), Const(np.array([2.0])), {"invert": True}], grad=False),
    *calls("searchsorted", [Const(np.arange(5.0)), Const(real(2, 3, lo=-1, hi=6))], [Const(np.arange(5.0)), 2.0],
           [Const(np.arange(5.0)), Const(np.arange(5.0)), {"right": True}],
           [Const(np.sort(real(2, 5))), Const(real(2, 3)), {"side": "right", "out_int32": True}],
           [Const(REPEATED), Const(real(3)), {"sorter": Const(np.argsort(REPEATED))}], grad=False),
    *calls("bucketize", [Const(real(2, 3)), Const(np.array([-1.0, 0.0, 1.0]))],
           [ints(4), Const(np.array([0, 2])), {"right": True}], grad=False),
    *calls("nonzero argwhere", [ints(3, 3)], [real(2)], [np.zeros((0, 2))], grad=False),
    *calls("nonzero_static", [ints(3, 3), {"size": 4}], [ints(2, 2), {"size": 6, "fill_value": 0}], grad=False),
    *calls("histc", [Const(real(20))], [Const(real(20)), 5], [Const(real(20)), 4, -1, 1], [Const(np.ones(3)), 3],
           grad=False),
    *calls("histogram", [Const(real(20)), 5], [Const(real(20)), Const(np.array([-2.0, 0.0, 1.5, 2.0]))],
           [Const(real(20)), 4, {"range": (-1.0, 1.0), "density": True}],
           [Const(real(8)), 3, {"weight": Const(real(8, lo=0))}], grad=False),
    *calls("bincount", [ints(9, lo=0, hi=5)], [ints(9, lo=0, hi=5), Const(real(9))],
           [ints(3, lo=0, hi=2), {"minlength": 5}], grad=False),
    *calls("unravel_index", [ints(4, lo=0, hi=11), (3, 4)], grad=False),
]  # fmt: skip
