"""``torch.nn.common_types``: names for what type checkers see of sizes."""

from __future__ import annotations

from ..engine.tensors.tensor import Tensor

_size_any_t = int | tuple[int, ...]
_size_1_t = int | tuple[int]
_size_2_t = int | tuple[int, int]
_size_3_t = int | tuple[int, int, int]
_ratio_any_t = float | tuple[float, ...]
_ratio_2_t = float | tuple[float, float]
_ratio_3_t = float | tuple[float, float, float]
_maybe_indices_t = Tensor | tuple[Tensor, Tensor]
