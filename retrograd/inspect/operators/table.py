"""The table of operators: how each is spelled, its traits, its poles, and where it is flat.

``tests/test_operators.py`` proves the rows on PyTorch.
"""

from __future__ import annotations

import math

from .traits import Trait

END = math.inf

SPELLINGS = """
abs absolute
acos arccos
acosh arccosh
add radd iadd
adjoint H mH
adaptive_max_pool1d adaptive_max_pool1d_with_indices
adaptive_max_pool2d adaptive_max_pool2d_with_indices
adaptive_max_pool3d adaptive_max_pool3d_with_indices
affine_grid affine_grid_generator
asin arcsin
asinh arcsinh
atan arctan
atan2 arctan2
atanh arctanh
batch_norm native_batch_norm native_batch_norm_legit native_batch_norm_legit_no_training cudnn_batch_norm
batch_norm miopen_batch_norm batch_norm_impl_index
bitwise_and and iand
bitwise_left_shift lshift rlshift ilshift
bitwise_not invert
bitwise_or or ror ior
bitwise_right_shift rshift rrshift irshift
bitwise_xor xor rxor ixor
cat concat concatenate
cdist euclidean_dist cdist_forward
channel_shuffle native_channel_shuffle
cholesky cholesky_ex
chunk unsafe_chunk
clamp clip
convolution convolution_overrideable slow_conv2d thnn_conv2d slow_conv3d mkldnn_convolution cudnn_convolution
convolution miopen_convolution conv_depthwise2d conv_depthwise3d slow_conv_dilated2d slow_conv_dilated3d
ctc_loss cudnn_ctc_loss
digamma psi
div divide true_divide truediv rtruediv itruediv rdiv idiv
dropout native_dropout fused_dropout
embedding_bag embedding_bag_forward_only
fft c2c
irfft c2r
rfft r2c
flip reversed
floor_divide floordiv rfloordiv ifloordiv
ge greater_equal
getitem index
fractional_max_pool2d fractional_max_pool2d_with_indices
fractional_max_pool3d fractional_max_pool3d_with_indices
grid_sampler grid_sample grid_sampler_2d grid_sampler_3d cudnn_grid_sampler
group_norm native_group_norm
gt greater
householder_product orgqr
igamma gammainc
igammac gammaincc
index_put index_put_impl
interpolate upsample upsample_nearest upsample_bilinear upsample_nearest1d upsample_nearest2d upsample_nearest3d
interpolate upsample_nearest_exact1d upsample_nearest_exact2d upsample_nearest_exact3d upsample_linear1d
interpolate upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d
inverse inv inv_ex
item local_scalar_dense is_nonzero
layer_norm native_layer_norm
ldl_factor ldl_factor_ex
le less_equal
lgamma gammaln
logsigmoid log_sigmoid log_sigmoid_forward
lstm mkldnn_rnn_layer
lt less
lu_factor lu_factor_ex lu_with_info
matmul rmatmul imatmul
max_pool1d max_pool1d_with_indices
max_pool2d max_pool2d_with_indices
max_pool3d max_pool3d_with_indices
movedim moveaxis
mul multiply rmul imul
mvlgamma multigammaln
ne not_equal
neg negative
nll_loss nll_loss_forward nll_loss2d nll_loss2d_forward nll_loss_nd
norm frobenius_norm native_norm
numpy array
outer ger
permute T numpy_T
pinverse pinv
pow rpow ipow
prelu prelu_kernel
remainder mod rmod imod
reshape reshape_alias
rms_norm fused_rms_norm
scaled_dot_product_attention scaled_dot_product_flash_attention scaled_dot_product_flash_attention_for_cpu
scaled_dot_product_attention scaled_dot_product_efficient_attention scaled_dot_product_attention_math
scaled_dot_product_attention scaled_dot_product_cudnn_attention
sigmoid expit
solve solve_ex
split_with_sizes unsafe_split_with_sizes
split unsafe_split
sub subtract rsub isub
tensor as_tensor asarray new_tensor scalar_tensor
to to_copy type type_as half float double bfloat16 long int short byte char bool cfloat cdouble chalf cpu cuda xpu mtia
to ipu autocast_to_full_precision autocast_to_reduced_precision
transpose_copy t_copy
transpose mT t swapaxes swapdims matrix_H
trapezoid trapz
trunc fix
view unsafe_view
vstack row_stack
"""
"""A line for each operator with several names: the canonical one, then those of PyTorch's functions, ATen and nodes."""

METHODS = {
    "index": "item",
    "float": "item",
    "int": "item",
    "bool": "item",
    "complex": "item",
    "rand": "bitwise_and",
    "iter": "unbind",
}
"""Python's methods that mean another operator than the name between their underscores."""

TRAITS: dict[Trait, str] = {
    Trait.ELEMENTWISE: """
        abs acos acosh add addcdiv addcmul airy_ai alias alpha_dropout angle apply asin asinh atan atan2 atanh
        bernoulli bessel_j0 bessel_j1 bessel_y0 bessel_y1 bitwise_and bitwise_left_shift bitwise_not bitwise_or
        bitwise_right_shift bitwise_xor ceil celu chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w clamp clamp_max clamp_min clone complex conj conj_physical
        contiguous copy copysign cos cosh data deg2rad detach digamma div dropout elu entr eq erf erfc erfcx erfinv
        exp exp2 expm1 fake_quantize_per_tensor_affine fill float_power floor floor_divide fmax fmin fmod frac frexp
        full_like gcd ge gelu gt hardshrink hardsigmoid hardswish hardtanh heaviside hermite_polynomial_h
        hermite_polynomial_he hypot i0 i0e i1 i1e igamma igammac imag isclose isfinite isinf isnan isneginf isposinf
        isreal laguerre_polynomial_l lcm ldexp le leaky_relu legendre_polynomial_p lerp lgamma log log10 log1p log2
        log_ndtr logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logsigmoid lt map map2
        masked_fill maximum minimum mish modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1
        mul mvlgamma nan_to_num ndtr ndtri ne neg nextafter ones_like pin_memory polar polygamma positive pow
        rad2deg real reciprocal relu relu6 remainder resolve_conj resolve_neg round rrelu rsqrt
        scaled_modified_bessel_k0 scaled_modified_bessel_k1 selu sgn shifted_chebyshev_polynomial_t
        shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sigmoid sign
        signbit silu sin sinc sinh softplus softshrink softsign spherical_bessel_j0 sqrt square sub tan tanh
        tanhshrink threshold to tril triu trunc where xlog1py xlogy zero zeros_like zeta""",
    Trait.LINEAR: """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d add adjoint affine_grid alias as_strided
        as_strided_scatter atleast_1d atleast_2d atleast_3d avg_pool1d avg_pool2d avg_pool3d block_diag
        broadcast_tensors broadcast_to cartesian_prod cat channel_shuffle chunk clone column_stack combinations
        complex conj conj_physical constant_pad_nd contiguous cumsum cumulative_trapezoid data deg2rad detach diag
        diag_embed diagflat diagonal diagonal_scatter diff dsplit dstack embedding embedding_bag expand expand_as
        fft fft2 fftn fftshift flatten flip fliplr flipud fold gather getitem gradient hfft hfft2 hfftn hsplit
        hstack ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn imag index_add index_copy index_put index_select
        interpolate irfft irfft2 irfftn istft lerp masked_scatter masked_select max_unpool1d max_unpool2d
        max_unpool3d mean meshgrid movedim nanmean nansum narrow neg pad permute pixel_shuffle pixel_unshuffle
        positive put rad2deg ravel real repeat repeat_interleave reshape reshape_as resolve_conj resolve_neg rfft
        rfft2 rfftn roll rot90 scatter_add select select_scatter slice slice_inverse slice_scatter split
        split_with_sizes squeeze stack stft sub sum sum_to_size take take_along_dim tensor_split tile to trace
        transpose trapezoid tril triu unbind unflatten unfold unsqueeze view view_as view_as_complex view_as_real
        vsplit vstack where""",
    Trait.SCALING: "div mul",
    Trait.DIVISION: "addcdiv div fmod remainder",
    Trait.CONTRACTION: """
        addbmm addmm addmv addr baddbmm bilinear bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d
        conv_transpose2d conv_transpose3d convolution cross dot dsmm einsum hsmm inner kron linear matmul mm
        multi_dot mv outer saddmm smm spmm tensordot vdot vecdot""",
    Trait.POWER: "float_power pow reciprocal rsqrt sqrt square",
    Trait.ADDITION: "add addbmm addcdiv addcmul addmm addmv addr baddbmm lerp sub",
    Trait.DIFFERENCE: "sub",
    Trait.ARRANGING: """
        adjoint alias as_strided as_strided_scatter atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors
        broadcast_to cartesian_prod cat channel_shuffle chunk clone column_stack combinations conj constant_pad_nd
        contiguous copy data detach diag diag_embed diagflat diagonal diagonal_scatter dsplit dstack embedding
        expand expand_as fftshift flatten flip fliplr flipud gather getitem hsplit hstack ifftshift index_copy
        index_fill index_put index_select masked_fill masked_scatter masked_select max_unpool1d max_unpool2d
        max_unpool3d meshgrid movedim msort narrow pad permute pin_memory pixel_shuffle pixel_unshuffle put ravel
        repeat repeat_interleave reshape reshape_as resolve_conj roll rot90 scatter select select_scatter setitem
        slice slice_inverse slice_scatter sort sparse_mask split split_with_sizes squeeze stack take take_along_dim
        tensor_split tile to transpose tril triu unbind unflatten unfold unique unique_consecutive unsqueeze view
        view_as view_as_complex view_as_real vsplit vstack where""",
    Trait.RESHAPING: """
        atleast_1d atleast_2d atleast_3d flatten ravel reshape reshape_as squeeze unflatten unsqueeze view view_as""",
    Trait.VIEW: """
        adjoint alias as_strided atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to chunk conj data
        detach diagonal dlpack dsplit expand expand_as flatten getitem hsplit imag indices meshgrid movedim narrow
        numpy permute ravel real reshape reshape_as select slice split split_with_sizes squeeze tensor_split
        transpose unbind unflatten unfold unsqueeze values view view_as view_as_complex view_as_real vsplit""",
    Trait.COPY: """
        clone contiguous copy deepcopy pin_memory positive resolve_conj resolve_neg""",
    Trait.CAST: "dequantize to to_dense to_mkldnn to_sparse",
    Trait.JOINING: "block_diag cat column_stack dstack hstack stack vstack",
    Trait.EXPANDING: """
        as_strided broadcast_tensors broadcast_to expand expand_as meshgrid unfold""",
    Trait.INDEXING: """
        embedding embedding_bag fill_diagonal gather getitem index_add index_copy index_fill index_put
        index_reduce index_select masked_fill masked_scatter masked_select put scatter scatter_add
        scatter_reduce select setitem slice take take_along_dim""",
    Trait.PART: """
        chunk diagonal dsplit embedding gather getitem hsplit index_select masked_select narrow select slice split
        split_with_sizes take take_along_dim tensor_split unbind vsplit""",
    Trait.WRITING: """
        apply as_strided_scatter copy diagonal_scatter fill fill_diagonal index_copy index_fill index_put map map2
        masked_fill masked_scatter put scatter select_scatter set setitem slice_scatter zero""",
    Trait.CLEARING: "fill zero",
    Trait.FILLING: """
        constant_pad_nd copy empty fill fill_diagonal from_numpy full full_like index_fill index_put masked_fill
        masked_scatter new_full ones pad scatter setitem tensor tril triu where zeros""",
    Trait.REDUCTION: """
        all amax amin aminmax any argmax argmin count_nonzero det dist kthvalue logdet logsumexp matrix_norm max
        mean median min mode nanmean nanmedian nanquantile nansum norm norm_except_dim nuclear_norm prod quantile
        slogdet std std_mean sum trace trapezoid var var_mean vector_norm""",
    Trait.AVERAGE: "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d mean nanmean",
    Trait.SPREAD: "std std_mean var var_mean",
    Trait.SCAN: "cummax cummin cumprod cumsum cumulative_trapezoid logcumsumexp",
    Trait.EXTREME: """
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d amax amin aminmax cummax cummin fmax fmin
        fractional_max_pool2d fractional_max_pool3d kthvalue max max_pool1d max_pool2d max_pool3d maximum median min
        minimum mode nanmedian topk""",
    Trait.COMPARISON: """
        all allclose any eq equal ge gt isclose isfinite isin isinf isnan isneginf isposinf isreal le logical_and
        logical_not logical_or logical_xor lt ne signbit""",
    Trait.EQUALITY: "allclose eq equal isclose ne",
    Trait.DISCRETE: """
        all allclose any argmax argmin argsort argwhere bincount bitwise_and bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor bucketize count_nonzero eq equal gcd ge gt hash_tensor histc
        isclose isfinite isin isinf isnan isneginf isposinf isreal lcm le logical_and logical_not logical_or
        logical_xor lt matrix_rank multinomial ne nonzero nonzero_static one_hot randint randint_like randperm
        searchsorted signbit unravel_index""",
    Trait.STEP: "ceil floor floor_divide heaviside round sgn sign trunc",
    Trait.FLAT: """
        celu clamp clamp_max clamp_min elu hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss
        margin_ranking_loss relu relu6 softshrink threshold triplet_margin_loss""",
    Trait.PIECEWISE: """
        abs adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d amax amin aminmax clamp clamp_max clamp_min
        cummax cummin fmax fmin hardshrink hardsigmoid hardtanh kthvalue leaky_relu max max_pool1d max_pool2d
        max_pool3d maximum median min minimum nanmedian relu relu6 softshrink threshold topk""",
    Trait.CLAMPING: "clamp clamp_max clamp_min",
    Trait.SATURATING: """
        atan celu elu erf erfc hardsigmoid hardtanh log_softmax logsigmoid ndtr relu6 selu sigmoid silu softmax
        softmin softsign tanh""",
    Trait.EVEN: """
        abs bessel_j0 cos cosh i0 i0e matrix_norm modified_bessel_i0 norm nuclear_norm sinc spherical_bessel_j0
        square std var vector_norm""",
    Trait.DISTANCE: """
        cdist dist huber_loss l1_loss mse_loss pairwise_distance smooth_l1_loss""",
    Trait.LIKENESS: "cosine_embedding_loss cosine_similarity",
    Trait.DIVERGENCE: "kl_div",
    Trait.PROBABILITY: "gumbel_softmax log_softmax logsigmoid sigmoid softmax softmin",
    Trait.LOGARITHMIC: """
        binary_cross_entropy binary_cross_entropy_with_logits cross_entropy ctc_loss entr kl_div
        linear_cross_entropy log log10 log1p log2 log_ndtr log_softmax logaddexp logaddexp2 logcumsumexp logdet
        logit logsigmoid logsumexp nll_loss slogdet xlog1py xlogy""",
    Trait.EXPONENTIAL: """
        cosh cumprod exp exp2 expm1 float_power ldexp matrix_exp matrix_power pow prod sinh""",
    Trait.DOUBLING: "matrix_exp",
    Trait.SPECTRUM: "eig eigh svd",
    Trait.NORMALISATION: """
        batch_norm cosine_similarity cross_entropy group_norm gumbel_softmax instance_norm layer_norm
        linear_cross_entropy local_response_norm log_softmax normalize renorm rms_norm softmax softmin""",
    Trait.UNIT: "normalize",
    Trait.LOSS: """
        binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy ctc_loss
        gaussian_nll_loss hinge_embedding_loss huber_loss kl_div l1_loss linear_cross_entropy margin_ranking_loss
        mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss poisson_nll_loss
        smooth_l1_loss soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss""",
    Trait.ALIGNING: "ctc_loss",
    Trait.CLASSES: "cross_entropy linear_cross_entropy multi_margin_loss multilabel_margin_loss nll_loss",
    Trait.RANDOM: """
        alpha_dropout bernoulli binomial cauchy dropout dropout1d dropout2d dropout3d exponential
        feature_alpha_dropout feature_dropout fractional_max_pool2d fractional_max_pool3d geometric gumbel_softmax
        kaiming_normal kaiming_uniform log_normal multinomial normal poisson rand rand_like randint randint_like
        randn randn_like random randperm rrelu sample_dirichlet standard_gamma trunc_normal uniform xavier_normal
        xavier_uniform""",
    Trait.DROPOUT: """
        alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout feature_dropout""",
    Trait.CREATION: """
        arange bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye from_numpy
        frombuffer full full_like hamming_window hann_window kaiser_window linspace logspace new_empty
        new_empty_strided new_full new_ones new_zeros normal ones ones_like rand rand_like randint randint_like
        randn randn_like randperm range tensor tril_indices triu_indices zeros zeros_like""",
    Trait.LIKE: """
        empty_like full_like new_empty new_empty_strided new_full new_ones new_zeros ones_like rand_like randint_like
        randn_like zeros_like""",
    Trait.ENTERING: "Parameter Variable from_numpy frombuffer full tensor",
    Trait.ALLOCATING: """
        empty empty_like empty_permuted empty_quantized empty_strided new new_empty new_empty_strided resize
        resize_as resize_as_sparse""",
    Trait.READING: """
        allclose contains data deepcopy detach dlpack equal is_nonzero item numpy tolist""",
}
TRAITS[Trait.PRODUCT] = f"{TRAITS[Trait.CONTRACTION]} mul"
"""Operators by what they do."""

_TINY = 2.0**-24
"""A sigmoid closer to 0 than this is no steeper than one that single precision rounds to 1."""
BOUNDS: dict[str, tuple[tuple[float, ...], float, float, int]] = {
    "acos": ((-1.0, 1.0), -1.0, 1.0, 0),
    "acosh": ((1.0,), 1.0, END, 0),
    "asin": ((-1.0, 1.0), -1.0, 1.0, 0),
    "atan2": ((0.0,), -END, END, 1),
    "atanh": ((-1.0, 1.0), -1.0, 1.0, 0),
    "digamma": ((0.0,), -END, END, 0),
    "div": ((0.0,), -END, END, 1),
    "erfinv": ((-1.0, 1.0), -1.0, 1.0, 0),
    "lgamma": ((0.0,), -END, END, 0),
    "log": ((0.0,), 0.0, END, 0),
    "log10": ((0.0,), 0.0, END, 0),
    "log1p": ((-1.0,), -1.0, END, 0),
    "log2": ((0.0,), 0.0, END, 0),
    "logit": ((0.0, 1.0), 0.0, 1.0, 0),
    "matrix_norm": ((0.0,), -END, END, 0),
    "ndtri": ((0.0, 1.0), 0.0, 1.0, 0),
    "norm": ((0.0,), -END, END, 0),
    "pow": ((0.0,), -END, END, 0),
    "reciprocal": ((0.0,), -END, END, 0),
    "rsqrt": ((0.0,), 0.0, END, 0),
    "sqrt": ((0.0,), 0.0, END, 0),
    "vector_norm": ((0.0,), -END, END, 0),
    "xlog1py": ((-1.0,), -1.0, END, 1),
    "xlogy": ((0.0,), 0.0, END, 1),
}
"""Operator -> poles, both ends of its domain, and the index of the operand; for ``pow`` it depends on the exponent."""
FLAT: dict[str, tuple[float, float]] = {
    "celu": (-1.0, END),
    "elu": (-1.0, END),
    "hardsigmoid": (0.0, 1.0),
    "hardtanh": (-1.0, 1.0),
    "relu": (0.0, END),
    "relu6": (0.0, 6.0),
    "sigmoid": (_TINY, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "threshold": (0.0, END),
}
"""Operator -> results up to which and from which on its slope is zero, or nearly so."""
