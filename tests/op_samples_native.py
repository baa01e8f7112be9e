"""Samples of layers in their further forms."""

from __future__ import annotations

import numpy as np
from op_samples import Const, calls, real

NN = "nn.functional."
C = real(4, lo=0.3, hi=1.6, start=4)

SAMPLES = [
    *calls("native_layer_norm", [real(3, 4), (4,), C, real(4), 1e-5], variants=False),
    *calls("native_batch_norm", [real(3, 4, 2), C, real(4), None, None, True, 0.1, 1e-5], variants=False),
    *calls("native_batch_norm", [real(3, 4), C, None, Const(real(4)), Const(C), False, 0.1, 1e-5], variants=False),
    *calls(NN + "adaptive_max_pool2d_with_indices", [real(1, 2, 5, 4), 2], variants=False),
    *calls("adaptive_max_pool1d", [real(2, 5), 2], variants=False),
    *calls("conv_tbc", [real(5, 2, 3), real(3, 3, 4), real(4), 1], node=False, variants=False),
    *calls(NN + "one_hot", [np.array([[0, 2], [1, 1]])], [np.array([0, 1]), 4], variants=False),
    *calls("norm_except_dim", [real(2, 3, 4), 2, 0], [real(2, 3, 4), 2, 1], [real(2, 3), 2, 1], [real(2, 3), 2, -1],
           variants=False, node=False),
]  # fmt: skip
