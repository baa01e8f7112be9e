"""Samples of convolutions, ``unfold``, ``fold`` and ``pad``."""

from __future__ import annotations

from op_samples import calls, real

NN = "nn.functional."

PLAIN = [
    *calls(
        NN + "conv1d",
        [real(2, 4, 7), real(6, 4, 3), real(6)],
        [real(2, 4, 7), real(6, 4, 3)],
        [real(4, 7), real(6, 4, 3), real(6)],
        [real(2, 4, 7), real(6, 2, 3), real(6), 2, 1, 1, 2],
        [real(2, 4, 9), real(4, 1, 3), {"groups": 4, "padding": 2, "dilation": 2}],
        [real(2, 4, 7), real(2, 4, 3), {"padding": "same"}],
        [real(2, 4, 7), real(2, 4, 2), {"padding": "same"}],
        [real(2, 4, 7), real(2, 4, 2), {"padding": "valid"}],
    ),
    *calls(
        NN + "conv2d",
        [real(2, 3, 5, 6), real(4, 3, 3, 2), real(4)],
        [real(2, 3, 5, 6), real(4, 3, 1, 1), real(4)],
        [real(3, 5, 6), real(4, 3, 3, 2)],
        [real(2, 3, 5, 6), real(4, 3, 3, 2), None, (2, 1), (1, 0), (1, 2)],
        [real(2, 4, 5, 6), real(2, 2, 3, 2), real(2), {"groups": 2, "stride": 2}],
        [real(2, 3, 5, 5), real(6, 1, 2, 2), {"groups": 3}],
        [real(2, 3, 5, 5), real(3, 1, 2, 2), real(3), {"groups": 3, "stride": 2}],
        [real(1, 3, 5, 6), real(4, 3, 3, 2), {"padding": "same", "dilation": (1, 2)}],
        [real(0, 3, 5, 6), real(4, 3, 3, 2), real(4)],
    ),
    *calls(
        NN + "conv3d",
        [real(1, 2, 4, 3, 4), real(2, 2, 2, 2, 2), real(2)],
        [real(1, 2, 4, 3, 4), real(2, 1, 2, 2, 2), {"stride": (2, 1, 2), "padding": 1, "groups": 2}],
    ),
]

TRANSPOSED = [
    *calls(
        NN + "conv_transpose1d",
        [real(2, 4, 5), real(4, 3, 3), real(3)],
        [real(2, 4, 5), real(4, 3, 3), real(6), 2, 1, 1, 2],
        [real(4, 5), real(4, 3, 3), {"dilation": 2}],
    ),
    *calls(
        NN + "conv_transpose2d",
        [real(2, 4, 3, 4), real(4, 3, 3, 2), real(3)],
        [real(2, 4, 3, 4), real(4, 3, 3, 2), {"stride": (2, 1), "padding": 1, "output_padding": (1, 0)}],
        [real(2, 4, 3, 4), real(4, 1, 2, 2), {"stride": 2, "groups": 4}],
    ),
    *calls(
        NN + "conv_transpose3d",
        [real(1, 2, 2, 3, 2), real(2, 2, 2, 2, 2), real(2)],
        [real(1, 2, 2, 3, 2), real(2, 1, 2, 2, 2), {"stride": 2, "groups": 2}],
    ),
]

WINDOWS = [
    *calls(
        NN + "unfold",
        [real(2, 3, 4, 5), 2],
        [real(3, 4, 5), (2, 3)],
        [real(2, 2, 5, 5), 2, 2, 1, (2, 1)],
    ),
    *calls(
        NN + "fold",
        [real(2, 8, 9), (4, 4), 2],
        [real(8, 9), (4, 4), 2],
        [real(2, 8, 6), (4, 4), (2, 2), {"dilation": (1, 2), "padding": 0, "stride": 1}],
        [real(1, 4, 9), 4, 2, 1, 1, 2],
    ),
]

PADS = [
    *calls(
        NN + "pad",
        [real(2, 3), (1, 2)],
        [real(2, 3, 4), (1, 0, 2, 1), "constant", 1.5],
        [real(2, 3, 4), (-1, 2, 1, -1)],
        [real(2, 3, 4), (1, 2), "reflect"],
        [real(3, 4), (1, 3), "reflect"],
        [real(1, 2, 3, 4), (1, 2, 2, 0), "reflect"],
        [real(1, 1, 3, 3, 3), (1, 2, 2, 0, 1, 1), "reflect"],
        [real(2, 3, 4), (1, 5), "replicate"],
        [real(1, 2, 3, 4), (1, 2, 2, 0), "replicate"],
        [real(1, 1, 3, 3, 3), (1, 2, 2, 0, 1, 1), "replicate"],
    ),
    *calls(
        NN + "pad",
        [real(2, 3, 4), (1, 2), "circular"],
        [real(1, 2, 3, 4), (1, 2, 2, 0), "circular"],
        [real(1, 1, 3, 3, 3), (1, 2, 2, 0, 1, 1), "circular"],
        node=False,
    ),
    *calls("constant_pad_nd", [real(2, 3), (1, 2), 2.0]),
]

SAMPLES = [*PLAIN, *TRANSPOSED, *WINDOWS, *PADS]
