"""Forward operators of ``ops.aten`` that are functions with PyTorch's arguments: pools with indices, losses, tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..core.registry import F
from ..methods import FUNCTIONS
from ..overriding.schema_forms import worded
from ..table.public import NAMESPACES, NN

FORWARD: Final[dict[str, Callable[..., Any]]] = {}
"""Operator, or operator and overload, -> function."""
_LOSSES: Final = {
    "mse_loss": "reduction", "l1_loss": "reduction", "smooth_l1_loss": "reduction beta", "kl_div": "reduction",
    "huber_loss": "reduction delta", "soft_margin_loss": "reduction", "hinge_embedding_loss": "margin reduction",
    "binary_cross_entropy": "weight reduction", "multilabel_margin_loss": "reduction",
    "binary_cross_entropy_with_logits": "weight pos_weight reduction",
    "multi_margin_loss": "p margin weight reduction", "nll_loss": "weight reduction ignore_index",
    "poisson_nll_loss": "log_input full eps reduction", "cosine_embedding_loss": "target margin reduction",
    "margin_ranking_loss": "target margin reduction",
    "triplet_margin_loss": "negative margin p eps swap reduction",
}  # fmt: skip
"""Loss -> what PyTorch's operator takes behind its first two operands, in that order."""
_CROSS_ENTROPY: Final = "weight reduction ignore_index label_smoothing"


def _loss(name: str, function: str, order: str) -> None:
    names = order.split()

    def call(self: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if "reduction" in given:
            given["reduction"] = worded(given["reduction"])
        return NAMESPACES[NN][function](self, target, **given)

    call.__name__ = name
    call.__doc__ = f"``{function}``, whose reduction is a number."
    FORWARD[name] = call


def _pool(dims: int) -> None:
    def adaptive(self: Any, output_size: Any) -> Any:
        return NAMESPACES[NN][f"adaptive_max_pool{dims}d"](self, output_size, True)

    def windows(
        self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        sizes = [one[0] if isinstance(one, (list, tuple)) and len(one) == 1 else one
                 for one in (kernel_size, stride, padding, dilation)]  # fmt: skip
        return NAMESPACES[NN][f"max_pool{dims}d"](self, *sizes, ceil_mode, True)

    for function, name in ((adaptive, f"adaptive_max_pool{dims}d"), (windows, f"max_pool{dims}d_with_indices")):
        function.__name__ = name
        function.__doc__ = f"``{name}``: values and indices."
        FORWARD[name] = function


def _upsample(name: str, aligned: bool) -> None:
    """The overload that takes sizes or factors."""

    def call(input: Any, output_size: Any, *how: Any) -> Any:  # noqa: A002
        align, scales = (how[0], how[1]) if aligned else (False, how[0])
        size = output_size or [int(n * factor) for n, factor in zip(input.shape[2:], scales, strict=True)]
        return getattr(F, name)(input, tuple(size), align, None if scales is None else tuple(scales))

    call.__name__ = name
    call.__doc__ = f"``{name}`` to a size, or by factors."
    FORWARD[f"{name}.vec"] = call


def _histc(self: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:  # noqa: A002
    return FUNCTIONS["histc"](self, bins, min, max)


for _name, _order in _LOSSES.items():
    _loss(_name, _name, _order)
_loss("cross_entropy_loss", "cross_entropy", _CROSS_ENTROPY)
for _dims in (2, 3):
    _pool(_dims)
for _dims in (1, 2, 3):
    _upsample(f"upsample_nearest{_dims}d", False)
for _name in ("linear1d", "bilinear2d", "bicubic2d", "trilinear3d"):
    _upsample(f"upsample_{_name}", True)
FORWARD["histc"] = _histc
FORWARD["embedding"] = lambda *args, **kwargs: FUNCTIONS["embedding"](*args, **kwargs)
