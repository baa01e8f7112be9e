"""``einsum``, ``tensordot`` and other products composed of simpler ones as in torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...aliasing.inplace import call_inplace
from ...calls.wrappers import renamed
from ...deprecations import discourage
from ...table.public import check_tensor, public
from ...table.registry import OPS, F
from ...tensors.argument_checks import check_scalar_type, type_name_of
from ...tensors.base import TensorBase
from ...tensors.dtypes import scalar_name
from ..shapes.sizes import ints_of
from .checks import check_same_dtype
from .products import matmul

# -- sums with something added


def _added(name: str, doc: str) -> None:
    """Publish ``name`` and ``name_``: a product added to the first argument, with factors ``beta`` and ``alpha``."""
    names = OPS[name].params

    def call(input: Any, *factors: Any, beta: Any = 1, alpha: Any = 1, **named: Any) -> Any:  # noqa: A002
        check_tensor(name, input)
        return OPS[name](input, *factors, beta=beta, alpha=alpha, **renamed(named, names))

    def call_in_place(self: Any, *factors: Any, beta: Any = 1, alpha: Any = 1, **named: Any) -> Any:
        return call_inplace(OPS[name], (self, *factors), renamed({"beta": beta, "alpha": alpha, **named}, names))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    public(name, out=True)(call)
    public(name + "_", function=name == "addmv")(call_in_place)


for _name, _doc in {
    "addmv": "``beta * input + alpha * (mat @ vec)``.",
    "addbmm": "``beta * input + alpha * (batch1 @ batch2).sum(0)``.",
    "baddbmm": "``beta * input + alpha * (batch1 @ batch2)``.",
    "addr": "``beta * input + alpha * outer(vec1, vec2)``.",
}.items():
    _added(_name, _doc)


@public("addmm_", function=False)
def addmm_(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place addmm."""
    scales = renamed({"beta": beta, "alpha": alpha}, OPS["addmm"].params)
    return call_inplace(OPS["addmm"], (self, mat1, mat2), scales)


# -- einsum


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


@public("einsum", method=False)
def einsum(*operands: Any) -> Any:
    """Products of tensors summed over the indices that an equation names."""
    if len(operands) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    terms, output, tensors = _equation(operands)
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type_name_of(t)}")
    if len(terms) != len(tensors):
        raise RuntimeError(
            f"einsum(): {'fewer' if len(terms) > len(tensors) else 'more'} operands were provided than specified in "
            "the equation"
        )
    wide = max(
        (t.ndim - (len(term) - 1) for term, t in zip(terms, tensors, strict=True) if Ellipsis in term), default=0
    )
    terms = [_spelled(term, t, wide) for term, t in zip(terms, tensors, strict=True)]
    out = _output_labels(terms, output, wide)
    known = {label for term in terms for label in term}
    for label in out:
        if label not in known and not isinstance(label, tuple):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    summed = [label for label in _ordered(known) if label not in out]
    _check_sizes(terms, tensors)
    aligned = [_aligned(t, term, [*out, *summed]) for t, term in zip(tensors, terms, strict=True)]
    return _contracted(aligned, len(out))


def _ordered(labels: Any) -> list[Any]:
    """Labels in torch's order: those of the ellipsis first, then by letter, capitals before small ones."""
    return sorted(
        labels, key=lambda label: (not isinstance(label, tuple), label if isinstance(label, tuple) else (label,))
    )


def _spelled(term: list[Any], t: Any, wide: int) -> list[Any]:
    """A term with its ellipsis written as labels ``(0,)``, ``(1,)`` ... of the ``wide`` common dimensions."""
    if Ellipsis not in term:
        if len(term) != t.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of "
                f"dimensions ({t.ndim}) for operand and no ellipsis was given"
            )
        return term
    count = t.ndim - (len(term) - 1)
    if count < 0:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(term) - 1}) is more than the number of "
            f"dimensions ({t.ndim}) for operand"
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
            del term[second], term[first]
            term.append(label)
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


# -- other products


@public("tensordot", method=False, out="exact")
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Products summed over the given dimensions of two tensors."""
    if isinstance(dims, (int, np.integer)):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(a.ndim - int(dims), a.ndim)), list(range(int(dims)))
    else:
        pair = dims.tolist() if hasattr(dims, "tolist") else dims
        left, right = ([int(d) for d in ints_of((side,))] for side in pair)
    left, right = [d % max(a.ndim, 1) for d in left], [d % max(b.ndim, 1) for d in right]
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for d, e in zip(left, right, strict=True):
        if a.shape[d] == 1 or b.shape[e] == 1:
            a = F._sum_dim(a, d, True) if a.shape[d] != 1 else a
            b = F._sum_dim(b, e, True) if b.shape[e] != 1 else b
        elif a.shape[d] != b.shape[e]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[d]} in dim {d} and second has size "
                f"{b.shape[e]} in dim {e}"
            )
    rest_a, rest_b = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    inner = math.prod(a.shape[d] for d in left)
    shape = (*(a.shape[d] for d in rest_a), *(b.shape[d] for d in rest_b))
    a, b = F._permute(a, (*rest_a, *left)), F._permute(b, (*right, *rest_b))
    if not shape:
        return F._view(F.dot(a.reshape(inner), b.reshape(inner)), ())
    rows, columns = math.prod(a.shape[: len(rest_a)]), math.prod(b.shape[len(right) :])
    return F._view(F.mm(a.reshape(rows, inner), b.reshape(inner, columns)), shape)


@public("inner", out="exact")
def inner(input: Any, other: Any) -> Any:  # noqa: A002
    """Products summed over the last dimensions."""
    check_tensor("inner", input)
    check_tensor("inner", other, 2, "other")
    if input.ndim == 0 or other.ndim == 0:
        return F.mul(input, other)
    if input._sig.numpy != other._sig.numpy:
        raise RuntimeError(
            f"both inputs should have same dtype, but got {scalar_name(input._sig.numpy)} and "
            f"{scalar_name(other._sig.numpy)}"
        )
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@public("kron", out=True)
def kron(input: Any, other: Any) -> Any:  # noqa: A002
    """Kronecker product."""
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = F._unsafe_view(input, tuple(n for m in a for n in (m, 1)))
    right = F._unsafe_view(other, tuple(n for m in b for n in (1, m)))
    return F._unsafe_view(F.mul(left, right), tuple(n * m for n, m in zip(a, b, strict=True)))


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
    """The product of a chain of matrices in the cheapest order; vectors may stand at the ends."""
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


@public("chain_matmul", method=False, out="exact")
def chain_matmul(*matrices: Any) -> Any:
    """``linalg.multi_dot`` under its old name."""
    discourage("chain_matmul")
    for i, t in enumerate(matrices):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name_of(t)}")
        if t.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {t.ndim}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


public("matmul", namespace="linalg", out=True)(matmul)


@public("cross", out=True)
def cross(input: Any, other: Any, dim: Any = None) -> Any:  # noqa: A002
    """Cross product along ``dim`` (by default the first one of size 3)."""
    if dim is None:
        discourage("cross")
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


@public("cross", namespace="linalg", out=True)
def linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Any:  # noqa: A002
    """Cross product along ``dim``."""
    check_scalar_type(other._sig.numpy, input._sig.numpy)
    return F._cross(input, other, dim)


@public("vecdot", namespace="linalg", out=True)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Inner products along ``dim``, the first operand conjugated."""
    check_tensor("linalg.vecdot", x, name="x")
    check_tensor("linalg.vecdot", y, 2, "y")
    if x._sig.numpy.kind not in "fc":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {scalar_name(x._sig.numpy)}"
        )
    check_same_dtype("linalg.vecdot: Expected x and y", ("x", x), ("y", y))
    if x.ndim == y.ndim == 1:
        return F.vdot(x, y)
    return F._sum_dim(F.mul(F.conj(x) if x._sig.numpy.kind == "c" else x, y), dim)


@public("diagonal", namespace="linalg")
def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: N803
    """The diagonal of matrices."""
    return F.diagonal(A, offset, dim1, dim2)
