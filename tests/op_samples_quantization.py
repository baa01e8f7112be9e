"""Samples of fake quantization and of products in groups."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, calls, real

SCALES = Const(np.array([0.1, 0.3], np.float32))
ZEROS = Const(np.array([0, 2], np.int32))
ONE_SCALE, ONE_ZERO = Const(np.array(0.1, np.float32)), Const(np.array(2, np.int32))
ENDS = Const(np.array([4, 8], np.int32))


def narrow(*shape: int, start: int = 0) -> np.ndarray:
    """Numbers of single precision."""
    return real(*shape, start=start).astype(np.float32)  # type: ignore[no-any-return]


SAMPLES: list[Sample] = [
    *calls("fake_quantize_per_tensor_affine", [real(2, 3), 0.1, 0, -8, 7], [real(4), 0.3, 2, 0, 5],
           [real(2, 3), ONE_SCALE, ONE_ZERO, 0, 20], [real(0, 3), 0.1, 0, 0, 1], variants=False),
    *calls("fake_quantize_per_channel_affine", [real(2, 3), SCALES, ZEROS, 0, -8, 7], [real(3, 2), SCALES, ZEROS, 1, 0, 5],
           variants=False),
    *calls("nn.functional.grouped_mm", [narrow(8, 16), narrow(2, 16, 8), {"offs": ENDS}], [narrow(2, 8, 16), narrow(16, 8), {"offs": ENDS}],
           [narrow(8, 8), narrow(8, 8, start=1), {"offs": ENDS}], [narrow(2, 4, 8), narrow(2, 8, 4)], variants=False, node=False,
           second=False, forward=False, rtol=1e-4, atol=1e-5),
]  # fmt: skip
