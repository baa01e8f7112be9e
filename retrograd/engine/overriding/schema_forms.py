"""Converts arguments between a row's own form, such as windows as one tuple, and PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from ..core.base import TensorBase, wrap


class Form(NamedTuple):
    """``shown(*row's arguments)`` are PyTorch's, ``taken(*PyTorch's arguments)`` the row's; ``defaults`` are last."""

    shown: Callable[..., tuple[Any, ...]]
    taken: Callable[..., tuple[Any, ...]]
    defaults: tuple[Any, ...] = ()


FORMS: Final[dict[str, Form]] = {}
"""Row -> form (this file and those that know what is in the tuples fill it)."""
REDUCTIONS: Final = ("none", "mean", "sum")
"""How losses are reduced, in the order of PyTorch's numbers."""


def in_schema(form: Form, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row's arguments as PyTorch has them, without defaults at the end."""
    given = list(form.shown(*args))
    for default in reversed(form.defaults):
        if given[-1] != default:
            break
        given.pop()
    return tuple(given)


def numbered(reduction: Any) -> int:
    """A reduction as PyTorch's operators have it."""
    return REDUCTIONS.index(reduction)


def worded(reduction: Any) -> Any:
    """A reduction as losses have it."""
    return reduction if isinstance(reduction, str) else REDUCTIONS[reduction]


def _form_of_loss(before: int) -> Form:
    """A loss whose reduction follows ``before`` arguments."""

    def shown(*args: Any) -> tuple[Any, ...]:
        return (*args[:before], *map(numbered, args[before : before + 1]), *args[before + 1 :])

    def taken(*args: Any) -> tuple[Any, ...]:
        return (*args[:before], *map(worded, args[before : before + 1]), *args[before + 1 :])

    return Form(shown, taken)


def _form_of_upsampling(dims: int, aligned: bool) -> Form:
    """Resampling: a scale for each dimension; nearest elements have nothing to align."""

    def shown(self: Any, size: Any, align: bool = False, scales: Any = None) -> tuple[Any, ...]:
        return (self, list(size), *((align,) if aligned else ()), *(scales or (None,) * dims))

    def taken(
        self: Any, output_size: Any, *how: Any, align_corners: bool = False, scale_factors: Any = None, **each: Any
    ) -> tuple[Any, ...]:
        align, scales = (how[0], how[1:]) if aligned and how else (align_corners, how)
        scales = scale_factors if scale_factors is not None else scales or tuple(each.values())
        if output_size is None:
            output_size = [int(n * scale) for n, scale in zip(self.shape[2:], scales, strict=True)]
        return self, tuple(output_size), align, None if not scales or None in scales else tuple(scales)

    return Form(shown, taken, (None,) * dims)


def _form_of_softmax_backward() -> Form:
    """PyTorch's operator also takes the dtype of the operand."""
    return Form(
        lambda g, output, dim: (g, output, dim, output.dtype), lambda g, output, dim, input_dtype=None: (g, output, dim)
    )


def _as_tensor(number: Any, like: Any) -> Any:
    """A number as PyTorch's kernels give it."""
    return number if isinstance(number, TensorBase) else wrap(np.asarray(number, like._sig.numpy))


def _as_number(total: Any) -> Any:
    return float(total._array) if isinstance(total, TensorBase) and not total.is_meta else total


def _form_of_nll_backward() -> Form:
    """In PyTorch the weight of all elements is a tensor."""

    def shown(g: Any, x: Any, target: Any, weight: Any, reduction: Any, ignored: int, total: float) -> tuple[Any, ...]:
        return g, x, target, weight, numbered(reduction), ignored, _as_tensor(total, x)

    def taken(g: Any, x: Any, target: Any, weight: Any, reduction: Any, ignored: int, total: Any) -> tuple[Any, ...]:
        return g, x, target, weight, worded(reduction), ignored, _as_number(total)

    return Form(shown, taken)


FORMS["_softmax_back"] = FORMS["_log_softmax_back"] = _form_of_softmax_backward()
FORMS["_nll_backward"] = _form_of_nll_backward()
for _name, _before in (("_smooth_l1_loss", 2), ("_huber_loss", 2), ("_soft_margin_loss", 2), ("_mse_loss", 2),
                       ("_binary_cross_entropy", 3), ("_bce_with_logits", 4), ("_multi_margin_loss", 5),
                       ("_multilabel_margin_loss", 2), ("_nll_loss", 3), ("_nll_loss_2d", 3)):  # fmt: skip
    FORMS[_name] = _form_of_loss(_before)
for _dims in (1, 2, 3):
    FORMS[f"upsample_nearest{_dims}d"] = _form_of_upsampling(_dims, False)
    FORMS[f"_upsample_nearest_exact{_dims}d"] = _form_of_upsampling(_dims, False)
for _name, _dims in (("linear1d", 1), ("bilinear2d", 2), ("bicubic2d", 2), ("trilinear3d", 3)):
    FORMS[f"upsample_{_name}"] = _form_of_upsampling(_dims, True)
for _name in ("bilinear2d", "bicubic2d", "lanczos2d"):
    FORMS[f"_upsample_{_name}_aa"] = _form_of_upsampling(2, True)

FORMS["_histc"] = Form(
    lambda self, bins, limits: (self, bins, *limits), lambda self, bins, low, high: (self, bins, (low, high))
)
