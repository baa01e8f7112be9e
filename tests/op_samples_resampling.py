"""Samples of ``interpolate`` and pixel shuffles."""

from __future__ import annotations

from op_samples import calls, real

NN = "nn.functional."
IMAGE = real(1, 2, 4, 5)

MODES = [
    *calls(
        NN + "interpolate",
        [real(2, 2, 5), {"size": 8}],
        [real(2, 2, 5), {"scale_factor": 1.7}],
        [IMAGE, {"size": (7, 3)}],
        [IMAGE, {"scale_factor": 2}],
        [real(1, 2, 3, 3, 2), {"size": (5, 2, 3)}],
        [IMAGE, {"size": (7, 3), "mode": "nearest-exact"}],
        [real(2, 2, 5), {"scale_factor": 0.6, "mode": "nearest-exact"}],
        [real(1, 2, 3, 3, 2), {"size": (5, 2, 3), "mode": "nearest-exact"}],
        note="nearest",
    ),
    *calls(
        NN + "interpolate",
        [real(2, 2, 5), {"size": 8, "mode": "linear"}],
        [real(2, 2, 5), {"scale_factor": 1.7, "mode": "linear", "align_corners": True}],
        [IMAGE, {"size": (7, 3), "mode": "bilinear"}],
        [IMAGE, {"scale_factor": 2, "mode": "bilinear"}],
        [IMAGE, {"scale_factor": (1.6, 0.7), "mode": "bilinear", "recompute_scale_factor": True}],
        [IMAGE, {"size": (7, 3), "mode": "bilinear", "align_corners": True}],
        [IMAGE, {"size": (1, 9), "mode": "bilinear", "align_corners": True}],
        [IMAGE, {"size": (7, 3), "mode": "bilinear", "antialias": True}],
        [IMAGE, {"size": (7, 3), "mode": "bicubic"}],
        [IMAGE, {"scale_factor": 1.5, "mode": "bicubic", "align_corners": True}],
        [real(1, 2, 9, 8), {"size": (4, 3), "mode": "bicubic", "antialias": True}],
        [real(1, 2, 9, 8), {"size": (4, 3), "mode": "lanczos", "antialias": True}],
        [IMAGE, {"scale_factor": (1.5, 0.6), "mode": "lanczos", "antialias": True, "align_corners": False}],
        [real(1, 2, 3, 3, 2), {"size": (5, 2, 3), "mode": "trilinear"}],
        [real(1, 2, 3, 3, 2), {"scale_factor": 1.5, "mode": "trilinear", "align_corners": True}],
        note="blended",
    ),
    *calls(
        NN + "interpolate",
        [real(2, 2, 5), {"size": 3, "mode": "area"}],
        [IMAGE, {"size": (7, 3), "mode": "area"}],
        [real(1, 2, 3, 3, 2), {"scale_factor": 1.5, "mode": "area"}],
        note="area",
    ),
    *calls(
        NN + "interpolate",
        [real(2, 2, 2), {"scale_factor": 1.4, "mode": "linear"}],
        [real(1, 2, 2, 3), {"scale_factor": 1.4, "mode": "bilinear"}],
        [real(1, 2, 2, 3, 4), {"scale_factor": 1.4, "mode": "trilinear"}],
        note="dimensions that keep their size",
    ),
    *calls(NN + "upsample", [IMAGE, {"scale_factor": 2, "mode": "bilinear"}]),
    *calls(NN + "upsample_nearest", [IMAGE, {"scale_factor": 2}]),
    *calls(NN + "upsample_bilinear", [IMAGE, {"scale_factor": 2}]),
]

SHUFFLES = [
    *calls("pixel_shuffle", [real(1, 8, 2, 3), 2], [real(9, 2, 2), 3]),
    *calls("pixel_unshuffle", [real(1, 2, 4, 6), 2], [real(2, 3, 3), 3]),
    *calls("channel_shuffle", [real(1, 6, 2, 2), 3], [real(2, 4, 3), 2]),
    *calls(NN + "pixel_shuffle " + NN + "pixel_unshuffle", [real(1, 4, 4, 4), 2]),
]

SAMPLES = [*MODES, *SHUFFLES]
