"""A linear map to the scores of classes, and their cross entropy, in one layer."""

from __future__ import annotations

import math
from typing import Any

from .. import functional
from ..module import Module
from .linear import Linear


class LinearCrossEntropyLoss(Module):
    """``CrossEntropyLoss`` of ``num_classes`` scores (for each of ``out_features``) that a ``Linear`` gives."""

    weight: Any

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
        device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Any = None,
        ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        self.register_buffer("weight", weight)
        self.num_classes, self.out_features, self.options = num_classes, out_features, options
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing
        scores = num_classes * math.prod(out_features)
        self.linear = Linear(in_features, scores, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Any, target: Any) -> Any:  # noqa: A002
        """The loss of rows and their classes (or the probabilities of these)."""
        outer = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input, self.linear.weight.reshape(*outer, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(outer), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The settings."""
        names = ("num_classes", "out_features", "reduction", "ignore_index", "label_smoothing", "options")
        shown = {"in_features": self.linear.in_features} | {name: getattr(self, name) for name in names[:2]}
        shown |= {"bias": self.linear.bias is not None} | {name: getattr(self, name) for name in names[2:]}
        return ", ".join(f"{name}={value}" for name, value in shown.items())
