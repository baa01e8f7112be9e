"""Differences that count by their size, whichever way they point: a distance to a target, and no ranking."""

from __future__ import annotations

from ..facts.flow import Flow, Reached

PRODUCTS = frozenset({"mul", "matmul", "bmm", "dot", "einsum", "inner"})
REGRESSIONS = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
_EVEN = REGRESSIONS | {
    "pow", "square", "abs", "absolute", "cosh", "norm", "linalg_norm", "vector_norm", "linalg_vector_norm",
}  # fmt: skip
ARRANGEMENTS = frozenset({
    "where", "masked_fill", "masked_select", "getitem", "select", "index_select", "gather", "take", "narrow", "chunk",
    "split", "unbind", "stack", "cat", "view", "reshape", "flatten", "ravel", "squeeze", "unsqueeze", "expand", "T",
    "mT", "t", "transpose", "permute", "movedim", "clone", "contiguous", "to", "float", "double", "half", "bfloat16",
})  # fmt: skip
"""Calls that pick and arrange entries."""
_LINEAR = PRODUCTS | ARRANGEMENTS | {
    "neg", "negative", "add", "sub", "subtract", "rsub", "multiply", "div", "divide", "true_divide", "sum", "mean",
}  # fmt: skip
"""Calls that leave a difference one."""
_LARGER = frozenset({"max", "maximum"})


def counts_by_size(flow: Flow, row: int) -> bool:
    """Whether a difference, scaled and arranged at most, is squared or taken without its sign.

    A hinge or the logarithm of a sigmoid asks only which of two scores is higher, and by what margin.
    """
    arranged = flow.descendants(
        flow.events[row].data.get("outputs", ()), row, follow=lambda call: flow.events[call].op in _LINEAR
    )
    return any(flow.has_node(call) and _even(flow, call, arranged) for call in arranged.calls)


def _even(flow: Flow, call: int, arranged: Reached) -> bool:
    """Whether a call loses the sign: by what it does, or because it takes the difference twice."""
    taken = flow.events[call].data.get("inputs", ())
    twice = len(taken) > 1 and arranged.tensors.issuperset(taken)
    return flow.events[call].op in _EVEN or (twice and flow.events[call].op in PRODUCTS | _LARGER)
