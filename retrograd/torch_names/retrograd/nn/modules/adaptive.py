"""A softmax over very many classes whose rare ones share clusters of smaller layers (Grave et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...engine.methods import FUNCTIONS
from .. import functional
from ..module import Module
from .container import ModuleList, Sequential
from .linear import Linear

_cat = FUNCTIONS["cat"]


class _ASMoutput(NamedTuple):
    """The log-probability of each target, and the mean loss."""

    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """The head knows the classes below ``cutoffs[0]`` and the clusters; each cluster has a layer of its own.

    Classes must be numbered by falling frequency; cluster i has ``in_features // div_value ** (i + 1)`` features.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        _check(list(cutoffs), n_classes)
        place = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, **place)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width, classes = int(in_features // div_value ** (i + 1)), self.cutoffs[i + 1] - self.cutoffs[i]
            small = Linear(in_features, width, False, **place)
            self.tail.append(Sequential(small, Linear(width, classes, False, **place)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """Log-probabilities of the targets alone; only the clusters that occur are computed."""
        self._check_target(input_, target_)
        single = target_.ndim == 0
        x, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        head, columns = functional.log_softmax(self.head(x), dim=1), target.clone()
        found = head.new_zeros(target.shape)
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().flatten()
            if rows.numel():
                within = functional.log_softmax(self.tail[i](x.index_select(0, rows)), dim=1)
                own = within.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
                found = found.index_copy(0, rows, own)
                columns[rows] = self.shortlist_size + i
        output = found + head.gather(1, columns.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output.squeeze(0) if single else output, (-output).mean())

    def _check_target(self, x: Any, target: Any) -> None:
        """``RuntimeError`` unless targets ``(N,)`` or ``()`` are class numbers for an input ``(N, C)`` or ``(C,)``."""
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.ndim and x.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if x.ndim != target.ndim + 1:
            raise RuntimeError(
                f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with size "
                f"{x.shape}"
            )
        low, high = int(target.min()), int(target.max())
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found."
            )

    def log_prob(self, input: Any) -> Any:  # noqa: A002
        """Log-probabilities of all classes."""
        head = functional.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, layer in enumerate(self.tail):
            column = self.shortlist_size + i
            parts.append(functional.log_softmax(layer(input), dim=1) + head[:, column : column + 1])
        return _cat(parts, 1)

    def predict(self, input: Any) -> Any:  # noqa: A002
        """The likeliest class of each row; clusters are computed only for rows whose head points to one."""
        best = self.head(input).argmax(dim=1)
        rows = (best >= self.shortlist_size).nonzero().flatten()
        if rows.numel():
            best[rows] = self.log_prob(input[rows]).argmax(dim=1)
        return best


def _check(cutoffs: list[Any], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(set(cutoffs)) and all(int(c) == c for c in cutoffs)
    if not rising or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
            "is between 1 and n_classes-1"
        )
