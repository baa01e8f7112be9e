"""Samples of ``torch.masked``: with and without a mask, over several dimensions, rows that are masked out whole."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Dtype, Sample, bools, calls, cplx, ints, real

PLAIN = {"variants": False, "node": False}
ROWS = Const(np.array([[True, False, True], [False, False, False]]))
"""The second row is masked out."""
MASK = Const(bools(3))
REDUCTIONS = "masked.sum masked.prod masked.amax masked.amin masked.mean masked.norm masked.var masked.std"

SAMPLES: list[Sample] = [
    *calls(REDUCTIONS, [real(2, 3)], [real(2, 3), {"dim": -1, "keepdim": True, "mask": MASK}], [real(), {"mask": Const(np.array(True))}],
           [real(2, 3, 2), {"dim": (0, 2), "mask": Const(bools(2, 3, 2))}], **PLAIN),
    *calls(REDUCTIONS, [real(2, 3), {"dim": 1, "mask": ROWS}], note="nothing left", **PLAIN),
    *calls("masked.sum masked.prod masked.mean masked.var masked.std masked.norm", [cplx(2, 3), {"dim": 0, "mask": MASK}], **PLAIN),
    *calls("masked.sum masked.prod masked.amax masked.amin masked.var", [ints(2, 3), {"mask": MASK}],
           [ints(2, 3).astype(np.uint8), {"dim": (), "mask": MASK}], grad=False, **PLAIN),
    *calls("masked.norm", [real(2, 3), float("-inf"), 1, {"mask": ROWS}], [real(2, 3), 1, (0, 1), {"dtype": Dtype("float64")}],
           **PLAIN),
    *calls("masked.var masked.std", [real(2, 3), 1, False, {"mask": MASK}], [real(2, 4), {"correction": 2, "mask": Const(bools(2, 1, start=1))}],
           **PLAIN),
    *calls("masked.median", [real(2, 3), {"mask": MASK}], [real(2, 3), 0, {"keepdim": True}], [ints(2, 3), {"mask": MASK}], **PLAIN),
    *calls("masked.argmax masked.argmin", [real(2, 3), {"mask": MASK}], [ints(2, 3), 1, {"keepdim": True, "mask": ROWS}], grad=False, **PLAIN),
    *calls("masked.softmax masked.log_softmax masked.softmin masked.cumsum masked.cumprod", [real(2, 3), 1],
           [real(2, 3), -1, {"mask": MASK}], [real(2, 3).astype(np.float32), 0, {"dtype": Dtype("float64"), "mask": MASK}],
           rtol=1e-6, **PLAIN),
    *calls("masked.softmax", [real(2, 3), 1, {"mask": ROWS}], note="nothing left", **PLAIN),
    *calls("masked.logsumexp", [real(2, 3)], [real(2, 3), (0, 1), {"keepdim": True, "mask": Const(bools(2, 1))}], **PLAIN),
    *calls("masked.logsumexp", [real(2, 3), 1, {"mask": ROWS}], note="nothing left", **PLAIN),
    *calls("masked.logaddexp", [real(2, 3), real(3, start=1)], **PLAIN),
    *calls("masked.logaddexp", [real(2, 3), real(3, start=1), {"input_mask": ROWS, "other_mask": MASK}], **PLAIN),
    *calls("masked.normalize", [real(2, 3), 2.0, 1], [real(2, 3), 1.0, 0, {"mask": MASK, "eps": 1e-3}], **PLAIN),
]  # fmt: skip
