"""Functions that PyTorch writes in Python: what they hand to ``__torch_function__``.

Arguments that must be given go by position, all others by name, also those that the caller left out.  Classes that are
told of are those of all tensors among the arguments, plain ones too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from ..table.registry import OPS

Arrange = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

_FUNCTIONS: Final = {
    "torch.nn.functional": frozenset((
        "adaptive_avg_pool2d", "adaptive_avg_pool3d", "affine_grid", "alpha_dropout", "batch_norm",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "cosine_embedding_loss", "cross_entropy",
        "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding", "embedding_bag",
        "feature_alpha_dropout", "fold", "gaussian_nll_loss", "glu", "grid_sample", "group_norm", "gumbel_softmax",
        "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate",
        "kl_div", "l1_loss", "layer_norm", "leaky_relu", "local_response_norm", "log_softmax", "lp_pool1d",
        "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d",
        "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
        "multilabel_soft_margin_loss", "nll_loss", "normalize", "pad", "poisson_nll_loss", "relu", "relu6",
        "rms_norm", "rrelu", "selu", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softsign",
        "tanhshrink", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
    )),
    "torch": frozenset(("cdist", "norm", "split", "stft")),
    "torch.autograd": frozenset(("grad",)),
    "torch.Tensor": frozenset(("__repr__", "backward", "norm", "split", "stft")),
}  # fmt: skip
_AS_GIVEN: Final = frozenset((
    "__array__", "__deepcopy__", "__floordiv__", "__ipow__", "__pow__", "__rfloordiv__", "__rmod__", "__rpow__",
    "__rsub__", "__rtruediv__", "block_diag", "broadcast_tensors", "cartesian_prod", "einsum", "meshgrid",
    "register_hook", "register_post_accumulate_grad_hook",
))  # fmt: skip
"""Functions and methods that PyTorch has in Python and whose arguments are handed on as the caller gave them."""
_INPLACE: Final = {"inplace": False}
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    **dict.fromkeys(("relu", "relu6", "selu", "hardsigmoid", "silu", "mish", "hardswish"), _INPLACE),
    "glu": {"dim": -1}, "hardtanh": {"min_val": -1.0, "max_val": 1.0, **_INPLACE}, "elu": {"alpha": 1.0, **_INPLACE},
    "celu": {"alpha": 1.0, **_INPLACE}, "leaky_relu": {"negative_slope": 0.01, **_INPLACE},
}  # fmt: skip
"""What functions may be given that have no signature of their own here, and what it is if left out."""
_MAX_POOL: Final = {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False}
_OMITTED: Final = {"l1_loss": ("weight",), "layer_norm": ("cudnn_enable",)}
"""Arguments that PyTorch's functions do not hand on, or have not."""


def is_python(module: str, name: str) -> bool:
    """Whether PyTorch has a function of a module, or a method (``torch.Tensor``), in Python."""
    return name in _FUNCTIONS.get(module, ()) or (module in ("torch", "torch.Tensor") and name in _AS_GIVEN)


def arrangement(name: str, function: Callable[..., Any]) -> Arrange:
    """What brings the arguments of a call into the form that handlers get; ``TypeError`` for those that do not fit."""
    if name in _AS_GIVEN:
        return lambda args, kwargs: (args, kwargs)
    signature = _signature(name, function)
    parameters = signature.parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    omitted = _OMITTED.get(name, ())

    def arrange(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        named = {key: value for key, value in values.items() if key not in required and key not in omitted}
        return tuple([values[key] for key in required]), named

    return arrange


def _signature(name: str, function: Callable[..., Any]) -> inspect.Signature:
    options, required = _OPTIONS.get(name), ("input",)
    if name.startswith("max_pool"):
        options, required = _MAX_POOL, ("input", "kernel_size")  # type: ignore[assignment]
    if options is None:
        return inspect.signature(function)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    needed = [inspect.Parameter(one, kind) for one in required]
    return inspect.Signature([*needed, *[inspect.Parameter(k, kind, default=v) for k, v in options.items()]])


def without_arguments(name: str, function: Callable[..., Any]) -> bool:
    """Whether a method takes nothing but the tensor: PyTorch tells handlers of its class, also if that is plain."""
    row = OPS.get(name)
    if row is not None:
        return len(row.params) == 1
    parameters = list(inspect.signature(function).parameters.values())
    return len(parameters) == 1 and parameters[0].kind is not parameters[0].VAR_POSITIONAL
