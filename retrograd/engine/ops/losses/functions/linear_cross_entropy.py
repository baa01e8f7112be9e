"""Cross entropy of scores that a linear map gives, also of several sets of classes for each row."""

from __future__ import annotations

from typing import Any

from ....calls.refusals import refuse
from ....table.public import NAMESPACES, NN, check_tensor, public
from .losses import cross_entropy


@public("linear_cross_entropy", namespace=NN)
def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,  # noqa: A002
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Any:  # fmt: skip
    """Cross entropy of ``linear(input, linear_weight, linear_bias)``; ``options`` would only trade time for memory."""
    check_tensor("linear_cross_entropy", input)
    _check_sides(input, linear_weight, linear_bias)
    classes, *places, features = linear_weight.shape
    if places:
        linear_weight = linear_weight.reshape(-1, features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = NAMESPACES[NN]["linear"](input, linear_weight, linear_bias)
    scores = scores.reshape(*input.shape[:-1], classes, *places)
    refuse(
        ignore_index is not None and tuple(target.shape) == tuple(scores.shape),
        "ignore_index cannot be specified when target contains probabilities",
    )
    return cross_entropy(
        scores, target, weight, ignore_index=-100 if ignore_index is None else ignore_index, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip


def _check_sides(rows: Any, weight: Any, bias: Any) -> None:
    """``RuntimeError`` for shapes that do not belong together."""
    refuse(not 1 <= rows.ndim <= 2, f"expected input with dimensionality 1 or 2, got {rows.ndim}")
    refuse(weight.ndim < 2, f"expected linear_weight with dimensionality at least 2, got {weight.ndim}")
    refuse(
        rows.shape[-1] != weight.shape[-1],
        "expected equal input and linear_weight last dimensions (in_features), got "
        f"{rows.shape[-1]} and {weight.shape[-1]}, respectively",
    )
    outer = tuple(weight.shape[:-1])
    refuse(
        bias is not None and tuple(bias.shape) != outer,
        f"expected linear_bias shape {outer}, got {() if bias is None else tuple(bias.shape)}",
    )
    refuse(
        len(outer) > 1 and rows.ndim == 1,
        f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, "
        f"(N, {rows.shape[-1]}), got unbatched input with shape {tuple(rows.shape)}",
    )
