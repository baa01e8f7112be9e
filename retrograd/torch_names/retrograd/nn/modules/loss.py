"""Losses as layers; ``size_average`` and ``reduce`` are the old ways to say ``reduction``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature
from typing import Any, ClassVar

from .. import functional
from ..module import Module
from .declared import Layer
from .shaping import PairwiseDistance


class _Loss(Layer):
    """A declared layer over an input and a target; tensors among its options are buffers."""

    _buffer_names: ClassVar[tuple[str, ...]] = ("weight", "pos_weight")
    _consumed = ("size_average", "reduce")

    def __init_subclass__(cls, call: str = "", **facts: Any) -> None:
        super().__init_subclass__(call, shown="", **facts)

    def prepare(self, options: dict[str, Any]) -> None:
        """One way to say the reduction, and tensors as buffers."""
        size_average, reduce = options.pop("size_average", None), options.pop("reduce", None)
        if size_average is not None or reduce is not None:
            options["reduction"] = _reduction(size_average, reduce)
        for name in self._buffer_names:
            if name in options:
                self.register_buffer(name, options.pop(name))
        super().prepare(options)


def _reduction(size_average: bool | None, reduce: bool | None) -> str:
    chosen = "none" if reduce is False else "sum" if size_average is False else "mean"
    text = f"size_average and reduce args will be deprecated, please use reduction='{chosen}' instead."
    warnings.warn(text, stacklevel=5)
    return chosen


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or entry."""


_REDUCTION = [Argument(name, Argument.POSITIONAL_OR_KEYWORD, default=None) for name in ("size_average", "reduce")]
_REDUCTION.append(Argument("reduction", Argument.POSITIONAL_OR_KEYWORD, default="mean"))
# Arguments that losses derived from these bases pass on to them.
_Loss._signature = Signature(_REDUCTION)
_WeightedLoss._signature = Signature([_REDUCTION[0].replace(name="weight"), *_REDUCTION])


class _Reduced(_Loss):
    """A loss whose signature begins with the reduction."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class L1Loss(_Reduced, call="l1_loss"):
    """Absolute difference."""


class MSELoss(_Reduced, call="mse_loss"):
    """Squared difference."""


class SmoothL1Loss(_Reduced, call="smooth_l1_loss"):
    """Squared difference below ``beta``, linear above (Girshick 2015)."""

    beta: float = 1.0


class HuberLoss(_Loss, call="huber_loss"):
    """Squared difference below ``delta``, linear above (Huber 1964)."""

    reduction: str = "mean"
    delta: float = 1.0

    def prepare(self, options: dict[str, Any]) -> None:
        """The bend is a number."""
        if not isinstance(options["delta"], (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(options['delta'])}")
        super().prepare(options)


class NLLLoss(_WeightedLoss, call="nll_loss"):
    """Minus the log probability of the target classes."""

    weight: Any = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"


class NLLLoss2d(_WeightedLoss, call="nll_loss"):
    """The older name of ``NLLLoss``."""

    weight: Any = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"

    def prepare(self, options: dict[str, Any]) -> None:
        """Say that it will go."""
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement.",
            FutureWarning, stacklevel=3,
        )  # fmt: skip
        super().prepare(options)


class CrossEntropyLoss(_WeightedLoss, call="cross_entropy"):
    """``NLLLoss`` of the log softmax of scores; targets are classes or probabilities."""

    weight: Any = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class BCELoss(_WeightedLoss, call="binary_cross_entropy"):
    """Cross entropy of probabilities of two classes."""

    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class BCEWithLogitsLoss(_Loss, call="binary_cross_entropy_with_logits"):
    """Cross entropy of two classes from scores."""

    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    pos_weight: Any = None


class KLDivLoss(_Reduced, call="kl_div"):
    """Kullback-Leibler divergence of log probabilities from a target."""

    log_target: bool = False


class PoissonNLLLoss(_Loss, call="poisson_nll_loss"):
    """Minus the log likelihood of counts."""

    log_input: bool = True
    full: bool = False
    size_average: Any = None
    eps: float = 1e-8
    reduce: Any = None
    reduction: str = "mean"


class GaussianNLLLoss(_Loss, call="gaussian_nll_loss"):
    """Minus the log likelihood under normal distributions of given variances."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class CTCLoss(_Loss, call="ctc_loss"):
    """Minus the log probability of all alignments of a label sequence (Graves et al. 2006)."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


class SoftMarginLoss(_Reduced, call="soft_margin_loss"):
    """``log(1 + exp(-target * input))``."""


class MultiLabelMarginLoss(_Reduced, call="multilabel_margin_loss"):
    """Hinge loss between all target classes and all others."""


class MultiLabelSoftMarginLoss(_WeightedLoss, call="multilabel_soft_margin_loss"):
    """Cross entropy of each class alone, averaged."""

    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MultiMarginLoss(_WeightedLoss, call="multi_margin_loss"):
    """Hinge loss between the target class and all others."""

    p: int = 1
    margin: float = 1.0
    weight: Any = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def prepare(self, options: dict[str, Any]) -> None:
        """``ValueError`` for a power that the loss does not have, or weights that are not a vector."""
        if options["p"] not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        weight = options["weight"]
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        super().prepare(options)


class HingeEmbeddingLoss(_Loss, call="hinge_embedding_loss"):
    """Distance where the target is 1, hinge at ``margin`` where it is -1."""

    margin: float = 1.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MarginRankingLoss(_Loss, call="margin_ranking_loss"):
    """How far two inputs are from the wanted order."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class CosineEmbeddingLoss(_Loss, call="cosine_embedding_loss"):
    """One minus the cosine where the target is 1, else its excess over ``margin``."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class TripletMarginLoss(_Loss, call="triplet_margin_loss"):
    """How much nearer the positive should be to the anchor than the negative."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def prepare(self, options: dict[str, Any]) -> None:
        """A positive margin."""
        if options["margin"] <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {options['margin']} instead"
            )
        super().prepare(options)


class TripletMarginWithDistanceLoss(Module):
    """``TripletMarginLoss`` with a distance of one's own."""

    def __init__(
        self, *, distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0, swap: bool = False,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__()
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        """Apply the loss."""
        return functional.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip
