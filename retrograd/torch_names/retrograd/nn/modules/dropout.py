"""Dropout layers: values, channels or features left out while training."""

from __future__ import annotations

from typing import Any

from .declared import Layer


class _Dropout(Layer):
    """``p`` is the probability to leave out."""

    p: float = 0.5
    inplace: bool = False

    def prepare(self, options: dict[str, Any]) -> None:
        """A probability."""
        super().prepare(options)
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def extra_repr(self) -> str:
        """Both options."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout, call="dropout", training=True):
    """Zeros with probability ``p`` while training, the rest scaled by ``1 / (1 - p)``."""


class Dropout1d(_Dropout, call="dropout1d", training=True):
    """Whole channels of (N, C, L) left out."""


class Dropout2d(_Dropout, call="dropout2d", training=True):
    """Whole channels of (N, C, H, W) left out."""


class Dropout3d(_Dropout, call="dropout3d", training=True):
    """Whole channels of (N, C, D, H, W) left out."""


class AlphaDropout(_Dropout, call="alpha_dropout", training=True, only="p"):
    """Dropout that keeps mean and variance of what ``SELU`` gives (Klambauer et al. 2017)."""


class FeatureAlphaDropout(_Dropout, call="feature_alpha_dropout", training=True, only="p"):
    """``AlphaDropout`` of whole channels."""
