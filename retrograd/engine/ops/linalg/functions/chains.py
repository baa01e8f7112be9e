"""Products of many matrices in the cheapest order."""

from __future__ import annotations

from typing import Any

from ....calls.out_rules import Out
from ....deprecations import discourage
from ....table.public import public
from ....table.registry import F
from ....tensors.argument_checks import type_name_of
from ....tensors.base import TensorBase


def _best_order(sizes: list[int]) -> list[list[int]]:
    """Where to part each chain of matrices so that the fewest multiplications are needed."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    part = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], part[i][j] = min(options)
    return part


def _product(tensors: list[Any], part: list[list[int]], i: int, j: int) -> Any:
    if i == j:
        return tensors[i]
    k = part[i][j]
    return F.mm(_product(tensors, part, i, k), _product(tensors, part, k + 1, j))


@public("multi_dot", namespace="linalg", out=True)
def multi_dot(tensors: Any) -> Any:
    """The product of a chain of matrices in the cheapest order; the first and last may be vectors."""
    chain = list(tensors)
    if len(chain) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(chain)))
    for name, t in (("first", chain[0]), ("last", chain[-1])):
        if t.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {t.ndim}D")
    shape: list[int] = []
    if chain[0].ndim == 1:
        chain[0] = F.unsqueeze(chain[0], 0)
    else:
        shape.append(chain[0].shape[0])
    if chain[-1].ndim == 1:
        chain[-1] = F.unsqueeze(chain[-1], -1)
    else:
        shape.append(chain[-1].shape[1])
    for i, t in enumerate(chain):
        if t.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.ndim}D")
    part = _best_order([chain[0].shape[0], *(t.shape[1] for t in chain)])
    return F._view(_product(chain, part, 0, len(chain) - 1), tuple(shape))


@public("chain_matmul", method=False, out=Out(exact=True))
def chain_matmul(*matrices: Any) -> Any:
    """``linalg.multi_dot`` under its old name."""
    discourage("chain_matmul")
    for i, t in enumerate(matrices):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name_of(t)}")
        if t.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {t.ndim}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)
