"""``linear`` and ``bilinear``: products with a weight."""

from __future__ import annotations

from math import prod
from typing import Any

from ....calls.refusals import refuse
from ....table.public import NN, check_tensor, public
from ....table.registry import F
from ....tensors.dtype_names import c10_name


@public("linear", namespace=NN, out=True)
def linear(input: Any, weight: Any, bias: Any = None) -> Any:  # noqa: A002
    """``input @ weight.T + bias``; recorded as torch composes it."""
    check_tensor("linear", input)
    check_tensor("linear", weight, 2, "weight")
    refuse(
        not (input.ndim and weight.ndim),
        f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D",
    )
    if bias is None or weight.ndim != 2:
        product = input.matmul(F.t(weight))
        return product if bias is None else product + bias
    if input.ndim == 2:
        return F.addmm(bias, input, F.t(weight), 1, 1)
    if not input.is_contiguous():
        return input.matmul(F.t(weight)) + bias
    rows = prod(input.shape[:-1])  # also of inputs without features
    refuse(
        not input.ndim or input.shape[-1] != weight.shape[1],
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x"
        f"{input.shape[-1] if input.ndim else 1} and {weight.shape[1]}x{weight.shape[0]})",
    )
    flat = F._view(input, (rows, input.shape[-1]))
    return F._view(F.addmm(bias, flat, F.t(weight), 1, 1), (*input.shape[:-1], weight.shape[0]))


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``input1 @ weight[o] @ input2`` for each output ``o``."""
    check_tensor("bilinear", input1)
    check_tensor("bilinear", input2, 2, "input2")
    refuse(
        input1.ndim != input2.ndim, f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
    )
    refuse(
        len({t._sig.numpy for t in (input1, input2, weight, bias) if t is not None}) > 1,
        f"All tensors must have the same dtype, got input1: {c10_name(input1._sig.numpy)}, input2: "
        f"{c10_name(input2._sig.numpy)}, weight: {c10_name(weight._sig.numpy)}",
    )
    for i, x in ((1, input1), (2, input2)):
        refuse(
            x.shape[-1] != weight.shape[i],
            f"bilinear(): input{i} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[i]}",
        )
    refuse(
        tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]),
        f"bilinear(): input batch dimensions do not match: got {list(input1.shape[:-1])} and {list(input2.shape[:-1])}",
    )
    flat = [x.reshape(-1, x.shape[-1]) for x in (input1, input2)]
    out = F._view(F._trilinear(flat[0], weight, flat[1]), (*input1.shape[:-1], weight.shape[0]))
    return out if bias is None else out + bias


public("bilinear", namespace=NN)(public("bilinear", method=False)(bilinear))
