"""What PyTorch's dispatcher calls the operators behind our rows."""

from __future__ import annotations

from typing import Any, Final

_NAMED: Final = {
    "_sum_dim": "sum.dim_IntList", "_prod_dim": "prod.dim_int", "_pow_scalar": "pow.Tensor_Scalar",
    "_pow_tensor": "pow.Tensor_Tensor", "_pow_base": "pow.Scalar", "_div_rounded": "div.Tensor_mode",
    "floor_divide": "floor_divide.default", "_index": "index.Tensor",
    "_softmax_back": "_softmax_backward_data.default", "_log_softmax_back": "_log_softmax_backward_data.default",
    "_nll_backward": "nll_loss_backward.default",
    "_slice": "slice.Tensor", "_where": "where.self", "_split": "split.Tensor", "_unsafe_split": "unsafe_split.Tensor",
    "_attention": "_scaled_dot_product_flash_attention_for_cpu.default",
    "_layer_norm": "native_layer_norm.default", "_nll_loss": "nll_loss_forward.default",
    "_vector_norm": "linalg_vector_norm.default", "_clamp_scalar": "clamp.default", "_clamp_tensors": "clamp.Tensor",
    "_var": "var.correction", "_std": "std.correction", "_median": "median.dim", "_nanmedian": "nanmedian.dim",
    "select": "select.int", "transpose": "transpose.int",
    "unbind": "unbind.int", "masked_fill": "masked_fill.Scalar", "_scatter": "scatter.src",
    "_scatter_number": "scatter.value", "_scatter_reduce": "scatter_reduce.two", "dist": "dist.default",
    "_index_fill_number": "index_fill.int_Scalar", "_index_fill_tensor": "index_fill.int_Tensor",
    "_prelu_kernel": "_prelu_kernel.default", "logsigmoid": "log_sigmoid_forward.default",
    "_bce_with_logits": "binary_cross_entropy_with_logits.default", "_sort_stable": "sort.stable",
    "_solve": "_linalg_solve_ex.default", "_solve_triangular": "linalg_solve_triangular.default",
    "_inv": "linalg_inv_ex.default", "_cholesky_ex": "linalg_cholesky_ex.default", "_eigh": "_linalg_eigh.default",
    "_eig": "linalg_eig.default", "_lstsq": "linalg_lstsq.default", "_lu_factor": "linalg_lu_factor_ex.default",
    "_lu": "linalg_lu.default", "_fft_c2c": "_fft_c2c.default", "_fft_r2c": "_fft_r2c.default",
    "_fft_c2r": "_fft_c2r.default", "_MaxPool2DWithIndices": "max_pool2d_with_indices.default",
    "_MaxPool3DWithIndices": "max_pool3d_with_indices.default", "_AdaptiveMaxPool2D": "adaptive_max_pool2d.default",
    "_AdaptiveMaxPool3D": "adaptive_max_pool3d.default", "_round_decimals": "round.decimals", "_xlogy": "xlogy.Tensor",
    "_xlogy_self_number": "xlogy.Scalar_Self", "_xlogy_other_number": "xlogy.Scalar_Other",
    "select_copy": "select_copy.int", "slice_copy": "slice_copy.Tensor", "transpose_copy": "transpose_copy.int",
    "_split_copy": "split_copy.Tensor", "_unbind_copy": "unbind_copy.int",
    "bitwise_left_shift": "bitwise_left_shift.Tensor", "bitwise_right_shift": "bitwise_right_shift.Tensor",
}  # fmt: skip
"""Row -> operator and overload, where no rule below says it."""
_SUFFIXES: Final = {"_number": "Scalar", "_tensor": "Tensor", "_all": "default", "_dim": "dim", "_dims": "dims"}
"""How rows are called that stand for one overload of several."""
_UNDERSCORED: Final = (
    "softmax", "log_softmax", "to_copy", "reshape_alias", "unsafe_view", "safe_softmax", "adaptive_avg_pool2d",
    "adaptive_avg_pool3d", "trilinear", "fused_rms_norm", "conj", "neg_view", "upsample_nearest_exact1d",
    "upsample_nearest_exact2d", "upsample_nearest_exact3d", "upsample_bilinear2d_aa", "upsample_bicubic2d_aa",
)  # fmt: skip
"""Operators that have a leading underscore in PyTorch as well."""
_SPECIAL: Final = (
    "erfcx", "ndtr", "ndtri", "log_ndtr", "zeta", "entr", "i0e", "i1", "i1e", "bessel_", "modified_bessel_",
    "scaled_modified_bessel_", "spherical_bessel_", "airy_ai", "chebyshev_", "shifted_chebyshev_", "hermite_",
    "laguerre_", "legendre_", "xlog1py",
)  # fmt: skip
"""How the operators begin that PyTorch calls ``special_…``."""


def names_of(row: Any) -> list[str]:
    """Every ``operator.overload`` that a row stands for; if two, the first is for tensors, the second for numbers."""
    if row.name in _NAMED:
        return [_NAMED[row.name]]
    name = row.name.removeprefix("_")
    overload = "default"
    for suffix, meant in _SUFFIXES.items():
        if row.name.startswith("_") and name.endswith(suffix):
            name, overload = name.removesuffix(suffix), meant
            break
    if name.startswith(_SPECIAL):
        return [f"special_{name}.{overload}"]
    if row.name.startswith("_") and name in _UNDERSCORED:
        return [f"_{name}.{overload}"]
    return [f"{name}.Tensor", f"{name}.Scalar"] if _takes_number(row) else [f"{name}.{overload}"]


def _takes_number(row: Any) -> bool:
    elementwise = row.public and bool(row.promote) and row.numbers and len(row.tensor_names) == 2
    return elementwise and not row.lists
