"""Samples of windows, short-time transforms and draws."""

from __future__ import annotations

from op_samples import Const, Dtype, calls, cplx, real

DOUBLE = {"dtype": Dtype("float64")}
WINDOW = real(6, lo=0.3, hi=1.0)

WINDOWS = [
    *calls("hann_window hamming_window blackman_window bartlett_window kaiser_window", [6], [7, False, DOUBLE], [1], [0],
           variants=False, rtol=1e-5, atol=1e-6),
    *calls("kaiser_window", [6, True, 3.0, DOUBLE], variants=False),
    *calls("hamming_window", [6, True, 0.4, 0.7, DOUBLE], variants=False),
    *calls(
        " ".join(f"signal.windows.{n}" for n in ("hann", "hamming", "blackman", "bartlett", "kaiser", "nuttall",
                                                  "gaussian", "cosine", "exponential", "general_hamming")),
        [6, DOUBLE], [7, {"sym": False, **DOUBLE}], [1, DOUBLE], variants=False,
    ),
    *calls("signal.windows.gaussian", [6, {"std": 0.6, **DOUBLE}], variants=False),
    *calls("signal.windows.exponential", [6, {"tau": 0.6, **DOUBLE}], variants=False),
    *calls("signal.windows.general_cosine", [6, {"a": [0.4, 0.3, 0.2], **DOUBLE}], variants=False),
]  # fmt: skip

SHORT_TIME = [
    *calls(
        "stft",
        [real(20), 8, {"return_complex": True}],
        [real(2, 20), 8, 3, 6, WINDOW, {"return_complex": True, "normalized": True}],
        [real(2, 20), 7, 3, {"return_complex": False, "center": False, "onesided": False}],
        [cplx(20), 8, 2, 8, {"return_complex": True}],
        [real(20), 8, {"return_complex": True, "pad_mode": "constant"}],
        variants=False, node=False,
    ),
    *calls(
        "istft",
        [cplx(5, 7), 8, 2, 6, Const(WINDOW)], [cplx(2, 5, 7), 8, 2, {"normalized": True}],
        [cplx(2, 8, 7), 8, 2, {"onesided": False, "length": 11}], [cplx(5, 7), 8, 2, {"length": 16}],
        variants=False, node=False,
    ),
]  # fmt: skip

SAMPLES = [*WINDOWS, *SHORT_TIME]
