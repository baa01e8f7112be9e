"""PyTorch's names of saved values, where they differ from those of the row.

For each node: saved names that PyTorch does not have, and the names it has instead, as functions of saved values whose
argument names say which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Source = Callable[..., Any] | str
"""Computes what is shown from saved values, which its arguments name; or the name of a saved value that is shown under
another name, ``result[i]`` for one of several results."""
Shown = tuple[str, dict[str, Source]]


def _results(names: str) -> Shown:
    """Several results under a name each."""
    return "result", {name: f"result[{i}]" for i, name in enumerate(names.split()) if name != "-"}


def _resized(axes: str, hidden: str = "scales") -> Shown:
    """The factors of a resampling, one name a dimension."""

    def reader(i: int) -> Source:
        return lambda scales: None if scales is None else scales[i]

    return hidden, {f"scales_{axis}": reader(i) for i, axis in enumerate(axes)}


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_SAMPLED: Shown = (
    "how",
    {
        "interpolation_mode": lambda how: _MODES.index(how[0]),
        "padding_mode": lambda how: _PADDINGS.index(how[1]),
        "align_corners": lambda how: how[2],
    },
)
_NUMEL: Shown = ("", {"self_sym_numel": lambda self_sizes: math.prod(self_sizes)})
_AVERAGED: Shown = (
    "how asked",
    {
        "kernel_size": lambda how: how[0],
        "stride": lambda asked: asked[0],
        "padding": lambda how: how[2],
        "ceil_mode": lambda asked: asked[1],
        "count_include_pad": lambda how: how[4],
        "divisor_override": lambda how: how[5],
    },
)
_MAXIMA: Shown = (
    "how positions indices asked",
    {
        "kernel_size": lambda how: how[0],
        "stride": lambda asked: asked[0],
        "padding": lambda how: how[2],
        "dilation": lambda how: how[3],
        "ceil_mode": lambda asked: asked[1],
    },
)

_FACTOR: dict[str, Source] = {"scales": lambda scales: None if scales is None else scales[0]}
_SOURCE_DIM: Shown = ("source_sizes", {"source_dim": lambda source_sizes: len(source_sizes)})
_PIECES: Shown = ("split_size", {"split_sizes": lambda split_size: tuple(split_size)})


SHOWN: dict[str, Shown] = {
    "AdaptiveAvgPool2DBackward0": ("align_corners scales output_size", {}),
    "AdaptiveAvgPool3DBackward0": ("align_corners scales output_size", {}),
    "AdaptiveMaxPool2DBackward0": ("how positions asked indices output_size", {"result1": "indices"}),
    "AdaptiveMaxPool3DBackward0": ("how positions asked indices output_size", {"result1": "indices"}),
    "AddbmmBackward0": (
        "batch1_sizes batch2_sizes",
        {
            "batch1_sym_argsize_0": lambda batch1_sizes: batch1_sizes[0],
            "batch1_sym_argsize_1": lambda batch1_sizes: batch1_sizes[1],
            "batch2_sym_argsize_2": lambda batch2_sizes: batch2_sizes[2],
        },
    ),
    "AffineGridGeneratorBackward0": ("align", {"align_corners": "align"}),
    "AminmaxBackward0": _results("min max"),
    "AsStridedBackward0": ("self_geometry", {}),
    "AsStridedScatterBackward0": ("offset", {"storage_offset": "offset"}),
    "AvgPool2DBackward0": _AVERAGED,
    "AvgPool3DBackward0": _AVERAGED,
    "BernoulliBackward1": ("p_sizes", {}),
    "BlockDiagBackward0": ("tensors_sizes", {}),
    "CatBackward0": ("tensors_sizes", {}),
    "ChannelShuffleBackward0": ("self_sizes", {}),
    "CholeskySolveBackward0": ("self_sizes", {}),
    "ConvolutionBackward0": ("bias_sizes", {"bias_sym_sizes_opt": lambda bias_sizes: bias_sizes or (0,)}),
    "EmbeddingBagBackward0": (
        "weight_sizes per_sample how rarity winners",
        {
            "per_sample_weights": "per_sample",
            "weight_sym_argsize_0": lambda weight_sizes: weight_sizes[0],
            "sparse": lambda: False,
        },
    ),
    "EmbeddingBackward0": (
        "weight_sizes",
        {"weight_sym_argsize_0": lambda weight_sizes: weight_sizes[0], "sparse": lambda: False},
    ),
    "FractionalMaxPool2DBackward0": ("indices", {"result1": "indices"}),
    "FractionalMaxPool3DBackward0": ("indices", {"result1": "indices"}),
    "GeluBackward0": ("gate", {}),
    "GridSampler2DBackward0": _SAMPLED,
    "GridSampler3DBackward0": _SAMPLED,
    "Im2ColBackward0": (
        "self_sizes",
        {
            "self_sym_argsize_minus_1": lambda self_sizes: self_sizes[-1],
            "self_sym_argsize_minus_2": lambda self_sizes: self_sizes[-2],
        },
    ),
    "IndexAddBackward0": _SOURCE_DIM,
    "IndexCopyBackward0": _SOURCE_DIM,
    "IndexPutBackward0": ("values_sizes", {}),
    "LinalgCholeskyExBackward0": ("result", {"L": "result"}),
    "LinalgCrossBackward0": ("self_sizes other_sizes", {}),
    "LinalgDetBackward0": ("self", {"A": "self"}),
    "LinalgEigBackward0": _results("eigenvalues eigenvectors"),
    "LinalgEighBackward0": _results("eigenvalues eigenvectors"),
    "LinalgInvExBackward0": ("result", {"inverse": "result"}),
    "LinalgLstsqBackward0": ("rcond", {}),
    "LinalgQrBackward0": ("result self", _results("Q R")[1]),
    "LinalgSlogdetBackward0": ("singular self", {"A": "self"}),
    "LinalgSolveExBackward0": ("self other_sizes", {"A": "self"}),
    "LinalgSolveTriangularBackward0": ("other_sizes", {}),
    "LinalgSvdBackward0": (
        "self_sizes",
        {"S_sym_argsize_minus_1": lambda self_sizes: min(self_sizes[-2:])},
    ),
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
    "NativeGroupNormBackward0": (
        "input_sizes",
        {
            "N": lambda input_sizes: input_sizes[0],
            "C": lambda input_sizes: input_sizes[1],
            "HxW": lambda input_sizes: math.prod(input_sizes[2:]),
        },
    ),
    "NativeLayerNormBackward0": ("eps", {}),
    "NormBackward0": ("ord dim keepdim", {"p": "ord"}),  # noqa: A006
    "NormBackward1": ("ord", {"p": "ord"}),  # noqa: A006
    "PolarBackward0": ("angle", {}),
    "PackPaddedSequenceBackward0": ("self_sizes steps entries", {"input_sym_sizes": "self_sizes"}),
    "ScaledDotProductFlashAttentionForCpuBackward0": (
        "attention result",
        {"output": "result", "dropout_p": lambda: 0.0},
    ),
    "ScatterAddBackward0": ("src_sizes", {}),
    "ScatterBackward0": ("src_sizes", {}),
    "SparseMaskBackward0": ("of_sparse", {}),
    "SplitWithSizesBackward0": _PIECES,
    "SplitWithSizesBackward0_copy": _PIECES,
    "StdMeanBackward0": ("std", {"result0": "std"}),
    "ToDenseBackward0": ("masked", {}),
    "ToSparseBackward0": ("", {"self_self_sym_blocksize_opt": lambda: None}),
    "ToSparseBackward1": ("", {"self_self_sym_blocksize_opt": lambda: None}),
    "ToSparseCsrBackward0": ("self", {"self_self_sym_blocksize_opt": lambda: None}),
    "TriangularSolveBackward0": (
        "self result other other_sizes left",
        {"A": "self", "self": "other", "solution": "result"},
    ),
    "TrilinearBackward0": ("", {}),
    "UnsafeSplitWithSizesBackward0": _PIECES,
    "UpsampleBicubic2DAaBackward0": _resized("hw"),
    "UpsampleBicubic2DBackward0": _resized("hw"),
    "UpsampleBilinear2DAaBackward0": _resized("hw"),
    "UpsampleBilinear2DBackward0": _resized("hw"),
    "UpsampleLinear1DBackward0": ("", _FACTOR),
    "UpsampleNearest1DBackward0": ("align_corners", _FACTOR),
    "UpsampleNearest2DBackward0": _resized("hw", "scales align_corners"),
    "UpsampleNearest3DBackward0": _resized("dhw", "scales align_corners"),
    "UpsampleNearestExact1DBackward0": ("align_corners", _FACTOR),
    "UpsampleNearestExact2DBackward0": _resized("hw", "scales align_corners"),
    "UpsampleNearestExact3DBackward0": _resized("dhw", "scales align_corners"),
    "UpsampleTrilinear3DBackward0": _resized("dhw"),
    "WeightNormInterfaceBackward0": ("magnitude norms", {"g": "magnitude", "result1": "norms"}),
    "LinalgLuSolveBackward0": ("self other_sizes adjointly", {"LU": "self", "adjoint": "adjointly"}),
    "LinalgHouseholderProductBackward0": ("self", {"input": "self"}),
    "OrmqrBackward0": ("tau other", {"input2": "tau", "input3": "other"}),
    "UnfoldBackwardBackward0": ("dimension", {"dim": "dimension"}),
}
