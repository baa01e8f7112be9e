"""``einsum``: operands are aligned dimension by dimension, then multiplied from the left by batched matrix products."""

from __future__ import annotations

import math
from typing import Any

from ....core.argument_checks import type_name_of
from ....core.base import TensorBase
from ....core.registry import F
from ....table.public import public


@public("einsum", method=False)
def einsum(*operands: Any) -> Any:
    """Products of tensors summed over the indices that an equation names.

    ``einsum("ij,jk->ik", a, b)``, or ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.  Raises ``ValueError`` without operands,
    ``TypeError`` for operands that are not tensors, ``RuntimeError`` for labels and sizes that do not fit.
    """
    if len(operands) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    terms, output, tensors = _equation(operands)
    _check_operands(terms, tensors)
    wide = _ellipsis_width(terms, tensors)
    terms = [_spelled(term, t, wide, at) for at, (term, t) in enumerate(zip(terms, tensors, strict=True))]
    known = {label for term in terms for label in term}
    kept = _output_labels(terms, output, wide)
    _check_output(kept, known)
    _check_sizes(terms, tensors)
    summed = [label for label in _ordered(known) if label not in kept]
    aligned = [_aligned(t, term, [*kept, *summed]) for t, term in zip(tensors, terms, strict=True)]
    return _contracted(aligned, len(kept))


def _equation(operands: tuple[Any, ...]) -> tuple[list[list[Any]], list[Any] | None, list[Any]]:
    """Labels of each operand, of the output (``None`` where not given), and the operands."""
    if isinstance(operands[0], str):
        left, arrow, right = operands[0].replace(" ", "").partition("->")
        tensors = (
            list(operands[1]) if len(operands) == 2 and isinstance(operands[1], (list, tuple)) else list(operands[1:])
        )
        terms = [_labels(term) for term in left.split(",")]
        return terms, _labels(right) if arrow else None, tensors
    tensors, terms = list(operands[0:-1:2] if len(operands) % 2 else operands[0::2]), [list(t) for t in operands[1::2]]
    return terms, list(operands[-1]) if len(operands) % 2 else None, tensors


def _labels(term: str) -> list[Any]:
    before, dots, after = term.partition("...")
    found: list[Any] = [*before, *([Ellipsis] if dots else []), *after]
    for label in found:
        if label is not Ellipsis and not label.isalpha():
            raise RuntimeError(f"einsum(): invalid subscript given, subscripts must be in [a-zA-Z]: {label!r}")
    return found


def _check_operands(terms: list[list[Any]], tensors: list[Any]) -> None:
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type_name_of(t)}")
    if len(terms) != len(tensors):
        raise RuntimeError(
            f"einsum(): {'fewer' if len(terms) > len(tensors) else 'more'} operands were provided than specified in "
            "the equation"
        )


def _ellipsis_width(terms: list[list[Any]], tensors: list[Any]) -> int:
    """The largest number of dimensions that an ellipsis represents."""
    pairs = zip(terms, tensors, strict=True)
    return max((t.ndim - (len(term) - 1) for term, t in pairs if Ellipsis in term), default=0)


def _check_output(output: list[Any], known: set[Any]) -> None:
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in known and not isinstance(label, tuple):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )


def _ordered(labels: Any) -> list[Any]:
    """Labels in torch's order: those of the ellipsis first, then by letter, capitals before small ones."""
    return sorted(
        labels, key=lambda label: (not isinstance(label, tuple), label if isinstance(label, tuple) else (label,))
    )


def _spelled(term: list[Any], t: Any, wide: int, operand: int) -> list[Any]:
    """The term of an ``operand``, its ellipsis written as labels ``(0,)``, ``(1,)`` ... of the ``wide`` common ones."""
    if Ellipsis not in term:
        if len(term) != t.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of "
                f"dimensions ({t.ndim}) for operand {operand} and no ellipsis was given"
            )
        return term
    count = t.ndim - (len(term) - 1)
    if count < 0:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(term) - 1}) is more than the number of "
            f"dimensions ({t.ndim}) for operand {operand}"
        )
    at = term.index(Ellipsis)
    return [*term[:at], *((wide - count + i,) for i in range(count)), *term[at + 1 :]]


def _output_labels(terms: list[list[Any]], output: list[Any] | None, wide: int) -> list[Any]:
    dots = [(i,) for i in range(wide)]
    if output is not None:
        at = output.index(Ellipsis) if Ellipsis in output else None
        return output if at is None else [*output[:at], *dots, *output[at + 1 :]]
    flat = [label for term in terms for label in term if not isinstance(label, tuple)]
    return [*dots, *_ordered({label for label in flat if flat.count(label) == 1})]


def _check_sizes(terms: list[list[Any]], tensors: list[Any]) -> None:
    sizes: dict[Any, int] = {}
    for k, (term, t) in enumerate(zip(terms, tensors, strict=True)):
        for i, label in enumerate(term):
            n = t.shape[i]
            if n != 1 and sizes.get(label, n) not in (1, n):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {n} for operand {k} which does not broadcast with "
                    f"previously seen size {sizes[label]}"
                )
            sizes[label] = max(n, sizes.get(label, n)) if n else n


def _aligned(t: Any, term: list[Any], order: list[Any]) -> Any:
    """An operand with repeated labels on the diagonal, dimensions in the common order, missing ones of size one."""
    term = list(term)
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            t = F.diagonal(t, 0, first, second)
            del term[second]
            rest = t.ndim - 1
            t = F._permute(t, (*range(first), rest, *range(first, rest)))
    missing = [label for label in order if label not in term]
    for _ in missing:
        t = F.unsqueeze(t, t.ndim)
    term += missing
    return F._permute(t, tuple(term.index(label) for label in order))


def _contracted(tensors: list[Any], kept: int) -> Any:
    """Multiply from the left, summing each dimension when no later operand has it."""
    result = tensors[0]
    ndim = result.ndim
    if len(tensors) == 1:
        return F._sum_dim(result, tuple(range(kept, ndim))) if ndim > kept else result
    done: set[int] = set()
    for k, other in enumerate(tensors[1:], 1):
        rest = tensors[k + 1 :]
        last = [d for d in range(kept, ndim) if d not in done and all(t.shape[d] == 1 for t in rest)]
        done.update(last)
        both = [d for d in last if result.shape[d] != 1 and other.shape[d] != 1]
        mine = tuple(d for d in last if result.shape[d] != 1 and d not in both)
        theirs = tuple(d for d in last if other.shape[d] != 1 and d not in both)
        result = F._sum_dim(result, mine, True) if mine else result
        other = F._sum_dim(other, theirs, True) if theirs else other
        result = _pair(result, other, both) if both else F.mul(result, other)
    return F._view(result, tuple(result.shape[:kept])) if ndim > kept else result


def _pair(left: Any, right: Any, summed: list[int]) -> Any:
    """One batched matrix product for two aligned operands; summed dimensions stay with size one."""
    ndim = left.ndim
    batch, lo, ro = [], [], []
    for d in range(ndim):
        if d in summed:
            continue
        if left.shape[d] != 1 and right.shape[d] != 1:
            batch.append(d)
        elif left.shape[d] != 1:
            lo.append(d)
        else:
            ro.append(d)
    sizes = [[max(left.shape[d], right.shape[d]) if 0 not in (left.shape[d], right.shape[d]) else 0 for d in dims]
             for dims in (batch, lo, ro)]  # fmt: skip
    inner = math.prod(left.shape[d] for d in summed)
    counts = [math.prod(s) for s in sizes]
    a = F._permute(left, (*batch, *lo, *summed, *ro)).reshape(counts[0], counts[1], inner)
    b = F._permute(right, (*batch, *summed, *ro, *lo)).reshape(counts[0], inner, counts[2])
    order = [*batch, *lo, *summed, *ro]
    shape = (*sizes[0], *sizes[1], *(1 for _ in summed), *sizes[2])
    return F._permute(F._view(F.bmm(a, b), shape), tuple(order.index(d) for d in range(ndim)))
