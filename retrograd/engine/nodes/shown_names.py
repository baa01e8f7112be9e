"""How PyTorch names what a node saved, where the row's own names differ from PyTorch's.

For each node the saved names that it has of its own and does not show, and what it shows instead: functions of saved
values, whose argument names say which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Reader = Callable[..., Any]


def _results(names: str) -> tuple[str, dict[str, Reader]]:
    """Several results under a name each."""

    def reader(i: int) -> Reader:
        return lambda result: result[i]

    return "result", {name: reader(i) for i, name in enumerate(names.split()) if name != "-"}


def _resized(axes: str, hidden: str = "scales") -> tuple[str, dict[str, Reader]]:
    """The factors of a resampling, one name a dimension."""

    def reader(i: int) -> Reader:
        return lambda scales: None if scales is None else scales[i]

    return hidden, {f"scales_{axis}": reader(i) for i, axis in enumerate(axes)}


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_SAMPLED: tuple[str, dict[str, Reader]] = (
    "how",
    {
        "interpolation_mode": lambda how: _MODES.index(how[0]),
        "padding_mode": lambda how: _PADDINGS.index(how[1]),
        "align_corners": lambda how: how[2],
    },
)
_NUMEL: tuple[str, dict[str, Reader]] = ("", {"self_sym_numel": lambda self_sizes: math.prod(self_sizes)})
_AVERAGED: tuple[str, dict[str, Reader]] = (
    "how",
    {
        "kernel_size": lambda how: how[0],
        "stride": lambda how: how[1],
        "padding": lambda how: how[2],
        "count_include_pad": lambda how: how[4],
        "divisor_override": lambda how: how[5],
    },
)
_MAXIMA: tuple[str, dict[str, Reader]] = (
    "how positions",
    {
        "kernel_size": lambda how: how[0],
        "stride": lambda how: how[1],
        "padding": lambda how: how[2],
        "dilation": lambda how: how[3],
    },
)

_PIECES: tuple[str, dict[str, Reader]] = ("split_size", {"split_sizes": lambda split_size: tuple(split_size)})


SHOWN: dict[str, tuple[str, dict[str, Reader]]] = {
    "AdaptiveAvgPool2DBackward0": ("align_corners scales output_size", {}),
    "AdaptiveAvgPool3DBackward0": ("align_corners scales output_size", {}),
    "AffineGridGeneratorBackward0": ("align", {"align_corners": lambda align: align}),
    "AminmaxBackward0": _results("min max"),
    "AsStridedScatterBackward0": ("offset", {"storage_offset": lambda offset: offset}),
    "AsStridedBackward0": ("self_geometry", {}),
    "AvgPool2DBackward0": _AVERAGED,
    "AvgPool3DBackward0": _AVERAGED,
    "BernoulliBackward1": ("p_sizes", {}),
    "BlockDiagBackward0": ("tensors_sizes", {}),
    "CatBackward0": ("tensors_sizes", {}),
    "ChannelShuffleBackward0": ("self_sizes", {}),
    "ConvolutionBackward0": ("bias_sizes", {"bias_sym_sizes_opt": lambda bias_sizes: bias_sizes or (0,)}),
    "EmbeddingBackward0": ("weight_sizes", {"weight_sym_argsize_0": lambda weight_sizes: weight_sizes[0]}),
    "FrexpBackward0": _results("- exponent"),
    "GridSampler2DBackward0": _SAMPLED,
    "GridSampler3DBackward0": _SAMPLED,
    "Im2ColBackward0": (
        "self_sizes",
        {
            "self_sym_argsize_minus_1": lambda self_sizes: self_sizes[-1],
            "self_sym_argsize_minus_2": lambda self_sizes: self_sizes[-2],
        },
    ),
    "IndexPutBackward0": ("values_sizes", {}),
    "LinalgCrossBackward0": ("self_sizes other_sizes", {}),
    "LinalgCholeskyExBackward0": ("result", {"L": lambda result: result}),
    "LinalgDetBackward0": ("self", {"A": lambda self: self}),
    "LinalgEigBackward0": _results("eigenvalues eigenvectors"),
    "LinalgEighBackward0": _results("eigenvalues eigenvectors"),
    "LinalgInvExBackward0": ("result", {"inverse": lambda result: result}),
    "LinalgLuBackward0": _results("P L U"),
    "LinalgLuFactorExBackward0": _results("LU pivots"),
    "LinalgQrBackward0": ("result self", _results("Q R")[1]),
    "LinalgSlogdetBackward0": ("result self", {"A": lambda self: self, "sign": lambda result: result[0]}),
    "LinalgSolveTriangularBackward0": ("other_sizes", {}),
    "LinalgSolveExBackward0": ("self other", {"A": lambda self: self}),
    "LinalgSvdBackward0": ("result self", _results("U S Vh")[1]),
    "LuUnpackBackward0": (
        "self_sizes",
        {
            "LU_data_sym_argsize_minus_1": lambda self_sizes: self_sizes[-1],
            "LU_data_sym_argsize_minus_2": lambda self_sizes: self_sizes[-2],
        },
    ),
    "MaxPool2DWithIndicesBackward0": _MAXIMA,
    "MaxPool3DWithIndicesBackward0": _MAXIMA,
    "MaxUnpool2DBackward0": ("dims", {}),
    "MaxUnpool3DBackward0": ("dims", {}),
    "MeanBackward0": _NUMEL,
    "MeanBackward1": _NUMEL,
    "NormBackward1": ("ord", {"p": lambda ord: ord}),  # noqa: A006
    "PolarBackward0": ("angle", {}),
    "ScatterAddBackward0": ("src_sizes", {}),
    "ScatterBackward0": ("src_sizes", {}),
    "SplitWithSizesBackward0": _PIECES,
    "SplitWithSizesBackward0_copy": _PIECES,
    "StdMeanBackward0": _results("result0"),
    "UnsafeSplitWithSizesBackward0": _PIECES,
    "UpsampleBicubic2DAaBackward0": _resized("hw"),
    "UpsampleBicubic2DBackward0": _resized("hw"),
    "UpsampleBilinear2DAaBackward0": _resized("hw"),
    "UpsampleBilinear2DBackward0": _resized("hw"),
    "UpsampleNearest1DBackward0": ("align_corners", {}),
    "UpsampleNearest2DBackward0": _resized("hw", "scales align_corners"),
    "UpsampleNearest3DBackward0": _resized("dhw", "scales align_corners"),
    "UpsampleNearestExact1DBackward0": ("align_corners", {}),
    "UpsampleNearestExact2DBackward0": _resized("hw", "scales align_corners"),
    "UpsampleNearestExact3DBackward0": _resized("dhw", "scales align_corners"),
    "UpsampleTrilinear3DBackward0": _resized("dhw"),
}
