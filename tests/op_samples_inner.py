"""Samples of functions that PyTorch names with an underscore and that programs call nevertheless."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Dtype, Sample, bools, calls, ints, real

PLAIN = {"variants": False, "node": False}
STATISTICS = [Const(np.zeros(3)), Const(np.ones(3))]
BESIDE = Const(np.array([True, False, True]))
ROWS, COLUMNS = Const(np.array([0, 9, 1])), Const(np.array([2, -9, -3]))

SAMPLES: list[Sample] = [
    *calls("_softmax_backward_data _log_softmax_backward_data", [real(2, 3), real(2, 3, start=1), 1, Dtype("float64")],
           [real(2, 3), real(2, 3, start=1), -2, Dtype("float64")], **PLAIN),
    *calls("_softmax _log_softmax", [real(2, 3), 1, False], **PLAIN),
    *calls("_unsafe_masked_index", [real(2, 3), BESIDE, [ROWS, COLUMNS], -1.0], [Const(np.zeros((0, 3))), BESIDE, [ROWS, COLUMNS], 2.0], **PLAIN),
    *calls("_unsafe_masked_index_put_accumulate", [real(2, 3), BESIDE, [ROWS, COLUMNS], real(3, start=1)],
           [np.zeros((0, 3)), BESIDE, [ROWS, COLUMNS], real(3, start=1)], **PLAIN),
    *calls("_native_batch_norm_legit", [real(4, 3), real(3, start=1), real(3, start=2), *STATISTICS, True, 0.1, 1e-5],
           [real(4, 3), None, None, *STATISTICS, False, 0.1, 1e-5], [real(4, 3), None, None, True, 0.1, 1e-5], **PLAIN),
    *calls("_weight_norm", [real(2, 3), real(2, 1, lo=0.5, start=1)], [real(2, 3), real(1, 3, lo=0.5, start=1), 1], second=False, **PLAIN),  # PyTorch's is wrong
    *calls("_weight_norm", [real(2, 3), real(2, 1, lo=0.5, start=1)], numeric=True, second=False, note="numeric", **PLAIN),
    *calls("_adaptive_avg_pool2d", [real(1, 2, 4, 4), [2, 3]], **PLAIN),
    *calls("_chunk_cat", [[real(2, 5), real(2, 3, start=1)], 1, 2], [[real(5), real(2, start=1)], 0, 3],
           [[real(5, 2), real(2, 2, start=1)], -2, 2], grad=False, **PLAIN),
    *calls("_stack", [[real(2), real(2, start=1)], 1], grad=False, **PLAIN),
    *calls("_unique2", [ints(6)], [ints(6), True, True], [ints(6), True, False, True], grad=False, **PLAIN),
    *calls("_is_all_true _is_any_true", [Const(bools(4))], [Const(np.ones(2, bool))], grad=False, **PLAIN),
    *calls("hash_tensor", [Const(real(2, 3))], [Const(real(2, 3).astype(np.float16)), 1, {"keepdim": True}], [ints(2, 3), [0, 1]],
           [Const(bools(4))], [Const(np.zeros((0, 2))), 1], grad=False, **PLAIN),
    *calls("quantile nanquantile", [real(2, 4), np.array([0.2, 0.7])], [real(2, 4), np.array(0.3), 1, True],
           [real(2, 4), np.array([0.2, 0.7]), 0, {"interpolation": "midpoint"}], note="differentiable q", node=False, variants=False),
    *calls("histogramdd", [Const(real(5, 2)), 3, None, Const(real(5, lo=0.1))],
           [Const(real(5, 2)), [2, 3], [-2.0, 2.0, -2.0, 2.0], None, True], grad=False, **PLAIN),
]  # fmt: skip
