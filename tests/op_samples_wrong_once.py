"""Samples of calls that once gave something else than PyTorch, found by random calls made from its schemas."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Dtype, Sample, calls, cplx, ints, real

NN = "nn.functional."
INF, NAN = float("inf"), float("nan")
VALUE_ONLY = {"second": False, "forward": False, "variants": False}
BAGS = [ints(6, lo=0, hi=4), real(4, 3), np.array([0, 2, 2])]

ARGUMENTS = [
    *calls("softmax log_softmax", [real(2, 3), Const(np.array(1))], note="dimension as a tensor", variants=False),
    *calls("softmax log_softmax", [real(2, 3).astype(np.float32), 1, Dtype("float64")], [ints(3), 0, Dtype("float64")], **VALUE_ONLY),
    *calls(NN + "softmax", [real(2, 3).astype(np.float32), 1, 3, Dtype("float64")], **VALUE_ONLY),
    *calls(f"{NN}l1_loss {NN}mse_loss", [real(3), real(3, start=1), 0], [real(3), real(3, start=1), None, 0], **VALUE_ONLY),
    *calls("squeeze", [real(1, 3), ()], [real(1, 3), []], variants=False),
]  # fmt: skip

TRUTH = [
    *calls("add", [Const(np.array([True, False])), Const(np.array([True, True])), {"alpha": 2}], **VALUE_ONLY),
    *calls("round special.round", [real(3), {"decimals": 0}], **VALUE_ONLY),
    *calls("linalg.vecdot", [real(3), real(3, start=1)], [real(2, 3), real(3, start=1)], variants=False),
]  # fmt: skip

NUMBERS = Const(np.array([1.0, 2.0, 3.0, 2.0]))
COUNTS = [
    *calls("histc", [NUMBERS, 4, 2, 2], [NUMBERS, 4, 0, 0], **VALUE_ONLY),
    *calls("histogram", [NUMBERS, 2, {"range": (2.0, 2.0)}], [Const(np.ones(2)), 2], [Const(np.array(1.0)), 3, {"density": True}],
           [Const(np.zeros(0)), 2], **VALUE_ONLY),
    *calls("trapezoid", [np.zeros((2, 0))], [np.zeros((0, 2), np.int16), {"dim": 0}], **VALUE_ONLY),
    *calls(NN + "threshold", [ints(5), -1.3, 2], **VALUE_ONLY),
    *calls("cosine_similarity", [real(2, 3).astype(np.float16), Const(real(2, 3, start=1))], [ints(2, 3), real(2, 3)],
           note="dtypes", rtol=1e-3, atol=1e-4, node=False, **VALUE_ONLY),
]  # fmt: skip

EDGES = [
    *calls("addcmul", [ints(3), ints(3, start=1), ints(3, start=2), {"value": 1.5}], note="a fraction for integers", **VALUE_ONLY),
    *calls("logit", [np.array([-0.5, 0.3, 1.5]), 1.0], [np.array([-0.5, 0.3, 1.5]), 0.0], note="bounds", **VALUE_ONLY),
    *calls("nextafter", [np.array([1.0, 2.0]), np.array([2.0, 2.0])], note="equal", **VALUE_ONLY),
    *calls("polygamma", [1, Const(np.array([0.0, -1.0, -3.0, INF, -INF, -0.5]))],
           [2, Const(np.array([0.0, -1.0, INF]))], [1, ints(5, lo=-4, hi=3)], note="poles", rtol=1e-6, **VALUE_ONLY),
    *calls("special.zeta", [Const(np.array([2.0, 2.0, 1.0])), Const(np.array([INF, -INF, INF]))], note="far", **VALUE_ONLY),
    *calls("special.chebyshev_polynomial_u special.hermite_polynomial_h", [Const(real(3)), Const(np.array([-0.5, 1.7, -1.2]))],
           note="parts of a degree", **VALUE_ONLY),
]  # fmt: skip

COMPLEX = [
    *calls("prod", [cplx(2, 3), 1, {"dtype": Dtype("float64")}], [cplx(3), {"dtype": Dtype("float64")}], note="of real parts",
           variants=False),
]  # fmt: skip

TIES = [
    *calls("scatter_reduce", [np.zeros(3), 0, Const(np.array([1, 1])), np.zeros(2), "amax", {"include_self": False}],
           note="with what takes no part", second=False, forward=False, variants=False),
    *calls("index_reduce", [np.zeros(3), 0, Const(np.array([1, 1])), np.zeros(2), "amin", {"include_self": False}],
           note="with what takes no part", second=False, forward=False, variants=False),
]  # fmt: skip

LOST = [
    *calls(
        NN + "dropout", [Const(ints(4)), 1.0], [Const(np.array([True, False])), 1.0], note="everything", **VALUE_ONLY
    ),
]

INFINITE = [
    *calls("mvlgamma", [Const(np.array([INF, -INF, 1e300, 2.0])), 2], note="far", **VALUE_ONLY),
    *calls("logsumexp", [np.array([[-INF, -INF], [1.0, -INF]]), 1], note="nothing but minus infinity", variants=False),
    *calls("logaddexp logaddexp2", [np.array([1.0, -INF, -INF, 2.0]), np.array([-INF, -INF, 1.0, 3.0])], note="infinite",
           variants=False),
    *calls("polar", [np.array([1.0, 0.0, -1.0]), real(3)], note="no positive length", variants=False),
    *calls(NN + "prelu", [np.array([-1.0, 0.0, 2.0]), np.array([0.25])], note="at zero", variants=False),
]  # fmt: skip

EMPTY = [
    *calls(NN + "cross_entropy", [Const(np.zeros((0, 3))), Const(np.zeros((0, 3)))],
           [Const(np.zeros((2, 0))), Const(np.zeros((2, 0)))], note="no probabilities", **VALUE_ONLY),
    *calls(NN + "layer_norm", [np.zeros((0, 3)), (0, 3)], [np.zeros((2, 0)), (0,), np.zeros(0)], note="nothing", **VALUE_ONLY),
    *calls(NN + "adaptive_avg_pool1d", [np.zeros((0, 2, 4)), 3], note="no batch", **VALUE_ONLY),
    *calls(NN + "adaptive_avg_pool2d", [np.zeros((0, 2, 4, 3)), (5, 2)], note="no batch", **VALUE_ONLY),
]  # fmt: skip

BY_FREQUENCY = [
    calls(NN + "embedding_bag", [*BAGS, {"scale_grad_by_freq": True, "mode": mode}],
           [*BAGS, {"scale_grad_by_freq": True, "mode": mode, "padding_idx": 1}], note=f"by frequency {mode}", **VALUE_ONLY)
    for mode in ("sum", "mean")
]  # fmt: skip

NAMED = [
    *calls("sum mean", [real(2, 3), None], [real(2, 3), {"dim": None}], [real(2, 3), None, True], [real(2, 3), ()], note="no dimension",
           variants=False),
    *calls("div", [real(2, 3), real(2, 3, start=1), {"rounding_mode": None}], [real(2, 3), 2.0, {"rounding_mode": None}],
           note="not rounded"),
    *calls("trapezoid cumulative_trapezoid", [real(3, 4), real(4, start=1)], note="between given points", variants=False),
    *calls("cdist", [real(30, 3), real(2, 3, start=1)], [real(2, 30, 3), real(2, 3, start=1)], [np.zeros((0, 3)), real(30, 3)],
           [real(2, 3), real(3, 3, start=2), {"compute_mode": "use_mm_for_euclid_dist"}], note="by products", rtol=1e-7, atol=1e-9,
           variants=False),
    *calls("linalg.lstsq", *[[real(5, 3), real(5, 2, start=1), {"driver": driver}] for driver in ("gels", "gelsy", "gelsd", "gelss")],
           [real(5, 3), real(5, start=1)], [real(2, 5, 3), real(2, 5, 1, start=1), {"driver": "gelsd"}], variants=False, rtol=1e-7,
           atol=1e-9),
    *calls("special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.airy_ai special.modified_bessel_i0 special.i1 i0",
           [Const(np.array([INF, -INF, NAN, 0.0]))], note="far", **VALUE_ONLY),
]  # fmt: skip

SAMPLES: list[Sample] = [
    *NAMED,
    *ARGUMENTS,
    *TRUTH,
    *COUNTS,
    *EDGES,
    *INFINITE,
    *COMPLEX,
    *TIES,
    *LOST,
    *EMPTY,
    *(s for group in BY_FREQUENCY for s in group),
]
