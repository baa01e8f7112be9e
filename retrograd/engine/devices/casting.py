"""Mixed precision on the CPU: casts the floating-point operands of some functions while ``autocast`` is on.

Casting comes below all function modes and goes by the name of the function called: composite functions that PyTorch
lists are cast as a whole, and the calls inside them are not cast again.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

from ..core.base import TensorBase
from ..core.dtypes import by_name, float32, float64
from ..overriding import overrides, wrappers

NARROWED: Final = frozenset({
    "addbmm", "addmm", "affine_grid", "affine_grid_generator", "baddbmm", "bmm", "chain_matmul", "conv1d", "conv2d",
    "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "einsum", "inner", "linear",
    "lstm", "matmul", "mm", "multi_dot", "multi_head_attention_forward", "prelu", "rnn_relu", "rnn_relu_cell",
    "rnn_tanh", "rnn_tanh_cell", "scaled_dot_product_attention", "tensordot", "vecdot", "__rmatmul__",
})  # fmt: skip
"""Functions that compute in the dtype asked for: products, convolutions and what consists of them."""
WIDENED: Final = frozenset({
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cdist", "cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve",
    "cond", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "eigh", "eig", "eigvals", "eigvalsh",
    "fake_quantize_per_tensor_affine", "fft", "fft2", "fftn", "fractional_max_pool2d", "fractional_max_pool3d",
    "geqrf", "grid_sample", "grid_sampler", "hfft", "hinge_embedding_loss", "householder_product", "huber_loss",
    "ifft", "ifft2", "ifftn", "ihfft", "interpolate", "inv", "inv_ex", "inverse", "irfft", "irfft2", "irfftn", "kl_div",
    "l1_loss", "lp_pool3d", "lstsq", "lu", "margin_ranking_loss", "matrix_rank", "max_pool3d",
    "max_unpool1d", "max_unpool2d", "max_unpool3d", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "nanquantile", "nll_loss", "orgqr", "ormqr", "pinv", "pinverse", "poisson_nll_loss", "polar", "prod", "qr",
    "quantile", "rfft", "rfft2", "rfftn", "smooth_l1_loss", "soft_margin_loss", "solve", "stft", "svd", "svdvals",
    "tensorinv", "tensorsolve", "trace", "triangular_solve", "triplet_margin_loss", "view_as_complex",
})  # fmt: skip
"""Functions that compute in single precision at least: losses, decompositions, transforms and some windows."""


class _Here(threading.local):
    """What one thread has switched on."""

    enabled = False
    cached = True
    depth = 0
    dtype = "bfloat16"

    def __init__(self) -> None:
        self.kept: dict[int, tuple[weakref.ref[Any], Any, Any]] = {}
        """Casts of leaves that require grad, for the next use within the outermost block."""


HERE = _Here()


class _Caster:
    """A function mode that casts; it is asked last of all."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        wanted = _wanted((overrides.NAMES.get(func) or "").rpartition(".")[2])
        if wanted is None or kwargs.get("out") is not None:
            return func(*args, **kwargs)
        return func(*[_cast(a, wanted) for a in args], **{key: _cast(a, wanted) for key, a in kwargs.items()})


def _wanted(name: str) -> Any:
    """The dtype in which a function of this name computes, if it is in a list."""
    return by_name(HERE.dtype) if name in NARROWED else float32 if name in WIDENED else None


def arguments(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a function that no mode receives, because PyTorch has no public one there."""
    wanted = _wanted(name) if HERE.enabled else None
    return args if wanted is None else tuple([_cast(a, wanted) for a in args])


def _cast(value: Any, wanted: Any) -> Any:
    """A floating tensor in the dtype that is wanted, and so those in a list; doubles and all else as they are."""
    if value.__class__ in (list, tuple):
        return value.__class__([_cast(part, wanted) for part in value])
    if not isinstance(value, TensorBase) or value.dtype is wanted:
        return value
    if not value.is_floating_point() or value.dtype is float64 or value.dtype.itemsize == 1:
        return value
    if not (HERE.cached and value.is_leaf and value.requires_grad and wanted is not float32):
        return value.to(wanted)
    reference, kept, dtype = HERE.kept.get(id(value), (None, None, None))
    if reference is None or reference() is not value or dtype is not wanted:
        kept = value.to(wanted)
        HERE.kept[id(value)] = weakref.ref(value), kept, wanted
    return kept


_CASTER = _Caster()


def switch(*, enabled: bool) -> None:
    """Switch casting on or off in this thread."""
    HERE.enabled = enabled
    modes = overrides.HERE.modes
    if enabled:
        wrappers.install()
        if _CASTER not in modes:
            modes.insert(0, _CASTER)
    elif _CASTER in modes:
        modes.remove(_CASTER)
