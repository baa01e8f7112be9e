"""Products of matrices: two, many, summed over chosen dimensions, added to a tensor, in groups."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.views import requires_grad
from ....calls.inplace import call_inplace
from ....calls.out_argument import Out
from ....calls.refusals import refuse, size_mismatch
from ....calls.wrappers import renamed
from ....core.argument_checks import check_scalar_type, type_name_of
from ....core.base import PLAIN_CLASSES, TensorBase
from ....core.dtypes import scalar_name
from ....core.registry import COMPOSITES, OPS, F
from ....deprecations import discourage
from ....table.public import METHODS, NN, check_tensor, public
from ...pointwise.functions.arithmetic import left_to_numpy
from ...shapes.functions.reshaping import contiguous, ints_of, reshaped
from .matrix_functions import check_same_dtype

# Products with torch's overloads.


@public("matmul", out=True)
def matmul(input: Any, other: Any) -> Any:  # noqa: A002
    """Matrix product: vectors, matrices and batches, composed of ``dot``, ``mv``, ``mm`` and ``bmm`` as in torch."""
    check_tensor("matmul", input)
    check_tensor("matmul", other, 2, "other")
    return _product(input, other)


def _product(input: Any, other: Any) -> Any:  # noqa: A002
    """``matmul`` of two tensors."""
    a, b = len(input._sig.shape), len(other._sig.shape)
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return F.dot(input, other)
    if a == 2 and b == 1:
        return F.mv(input, other)
    if a == 1 and b == 2:
        return F.mm(F.unsqueeze(input, 0), other).squeeze_(0)
    if a == 2 and b == 2:
        return F.mm(input, other)
    if a >= 3 and b <= 2:
        return _fold_left(input, other)
    if a == b == 3 and input._sig.shape[0] != other._sig.shape[0]:
        if other._sig.shape[0] == 1 and requires_grad(other):  # no gradient that would be summed over the batch
            return _fold_left(input, F._squeeze_dim(other, 0))
        if input._sig.shape[0] == 1 and requires_grad(input):
            return _fold_right(F._squeeze_dim(input, 0), other)
    return _fold_right(input, other) if a <= 2 and requires_grad(input) else _batched(input, other)


def _fold_left(input: Any, other: Any) -> Any:  # noqa: A002
    """A batch times one matrix: the batch dimensions join the rows."""
    *batch, width = input._sig.shape
    rows = reshaped(input, (math.prod(batch), width))
    if other._array.ndim == 1:
        return F._unsafe_view(F.mv(rows, other), tuple(batch))
    return F._unsafe_view(F.mm(rows, other), (*batch, other._array.shape[1]))


def _fold_right(input: Any, other: Any) -> Any:  # noqa: A002
    """One matrix (or vector) times a batch, by its transpose: the matrix's gradient is then no batch to be summed."""
    turned = F.transpose(other, -2, -1)
    if input.ndim == 1:
        return _fold_left(turned, input)
    return contiguous(F.transpose(_fold_left(turned, F.t(input)), -2, -1))


def _batched(input: Any, other: Any) -> Any:  # noqa: A002
    """``(*batch, n, k)`` times ``(*batch, k, p)``, batches broadcast, as one ``bmm``; vectors count as matrices."""
    left = F.unsqueeze(input, 0) if input._array.ndim == 1 else input
    right = F.unsqueeze(other, -1) if other._array.ndim == 1 else other
    *left_batch, n, k = left._sig.shape
    *right_batch, m, p = right._sig.shape
    if k != m:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{math.prod(left_batch)}, {k}] but got: "
            f"[{math.prod(right_batch)}, {m}]."
        )
    batch = left_batch if left_batch == right_batch else _common(tuple(left_batch), tuple(right_batch))
    count = math.prod(batch)
    a = reshaped(F.expand(left, (*batch, n, k)), (count, n, k))
    b = reshaped(F.expand(right, (*batch, m, p)), (count, m, p))
    out = F._unsafe_view(F.bmm(a, b), (*batch, n, p))
    if input._array.ndim == 1:
        out = F._squeeze_dim(out, -2)
    return F._squeeze_dim(out, -1) if other._array.ndim == 1 else out


COMPOSITES["_matmul"] = _product


def _common(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """What the batch dimensions of two operands become; ``RuntimeError`` if they do not broadcast."""
    try:
        return np.broadcast_shapes(left, right)
    except ValueError as error:
        raise size_mismatch([left, right], error) from None


def _at(self: Any, other: Any) -> Any:
    """``self @ other``; two tensors need no look at what ``matmul`` would make of its arguments (1.5 µs)."""
    if isinstance(other, TensorBase):
        if self._array.ndim == 2 == other._array.ndim:
            return F.mm(self, other)
        if other.__class__ in PLAIN_CLASSES and self.__class__ in PLAIN_CLASSES:
            return _product(self, other)
    if isinstance(other, np.ndarray):
        return _at_array(self, other)
    return matmul(self, other) if _has_place(other) else NotImplemented


def _has_place(other: Any) -> bool:
    """Whether a product with it is ours to compute, or to hand on; Python refuses others."""
    return isinstance(other, TensorBase) or hasattr(type(other), "__torch_function__")


_at_array = left_to_numpy("matmul")
METHODS["__matmul__"] = _at
METHODS["__rmatmul__"] = lambda self, other: matmul(other, self) if _has_place(other) else NotImplemented


@public("addmm", out=True, row="addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * (mat1 @ mat2)``."""
    check_tensor("addmm", input)
    return F.addmm(input, mat1, mat2, beta, alpha)


@public("outer", out=True)
def outer(input: Any, vec2: Any) -> Any:  # noqa: A002
    """Outer product of two vectors."""
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return F.mul(input.reshape(-1, 1), vec2)


COMPOSITES["_outer"] = outer


# Products summed over chosen dimensions, and others composed of simpler ones as in torch.


@public("tensordot", method=False, out=Out(exact=True, copied=True))
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Products summed over dimensions of two tensors: the last ``dims`` of ``a`` and first of ``b``, or two lists."""
    left, right = _summed_dims(a, b, dims)
    a, b = _of_one_size(a, b, left, right)
    rest_a, rest_b = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    inner = math.prod(a.shape[d] for d in left)
    shape = (*(a.shape[d] for d in rest_a), *(b.shape[d] for d in rest_b))
    a, b = F._permute(a, (*rest_a, *left)), F._permute(b, (*right, *rest_b))
    if not shape:
        a, b = (t if t.ndim == 1 else t.reshape(inner) for t in (a, b))
        return F._view(F.dot(a, b), ())
    rows, columns = math.prod(a.shape[: len(rest_a)]), math.prod(b.shape[len(right) :])
    return F._view(F.mm(a.reshape(rows, inner), b.reshape(inner, columns)), shape)


def _summed_dims(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions of ``a``, and those of ``b``, that ``tensordot`` sums over; ``RuntimeError`` if it cannot."""
    if isinstance(dims, (int, np.integer)):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.ndim - int(dims), a.ndim)), list(range(int(dims)))
    left, right = (ints_of((side,)) for side in (dims.tolist() if hasattr(dims, "tolist") else dims))
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    return [d % max(a.ndim, 1) for d in left], [d % max(b.ndim, 1) for d in right]


def _of_one_size(a: Any, b: Any, left: list[int], right: list[int]) -> tuple[Any, Any]:
    """Operands whose summed dimensions have equal sizes: where one has size 1, the other is summed beforehand."""
    for d, e in zip(left, right, strict=True):
        if a.shape[d] == 1 or b.shape[e] == 1:
            a, b = _summed(a, d), _summed(b, e)
        elif a.shape[d] != b.shape[e]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[d]} in dim {d} and second has size "
                f"{b.shape[e]} in dim {e}"
            )
    return a, b


def _summed(t: Any, dim: int) -> Any:
    """Summed along a dimension in the dtype that it has."""
    if t.shape[dim] == 1:
        return t
    total = F._sum_dim(t, dim, True)
    return total if total._sig.numpy == t._sig.numpy else F._to_copy(total, t._sig.numpy)


@public("inner", out=Out(exact=True, copied=True))
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
    if x._sig.kind not in "fc":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {scalar_name(x._sig.numpy)}"
        )
    check_same_dtype("linalg.vecdot: Expected x and y", ("x", x), ("y", y))
    if x.ndim == y.ndim == 1:
        return F.vdot(x, y)
    return F._sum_dim(F.mul(F.conj(x) if x._sig.kind == "c" else x, y), dim)


@public("diagonal", namespace="linalg")
def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: N803
    """The diagonal of matrices."""
    return F.diagonal(A, offset, dim1, dim2)


# Products of many matrices in the cheapest order.


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


def _chain_product(tensors: list[Any], part: list[list[int]], i: int, j: int) -> Any:
    if i == j:
        return tensors[i]
    k = part[i][j]
    return F.mm(_chain_product(tensors, part, i, k), _chain_product(tensors, part, k + 1, j))


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
    return F._view(_chain_product(chain, part, 0, len(chain) - 1), tuple(shape))


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


# Products that are added to a tensor, with factors for both: `addmv`, `addr`, `baddbmm` and their like.


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


# `grouped_mm` of `torch.nn.functional`: a matrix product for each of several groups.


def _check(a: Any, b: Any, offs: Any, out_dtype: Any) -> None:
    for name, t in (("mat_a", a), ("mat_b", b)):
        check_tensor("grouped_mm", t, name=name)
        refuse(
            t._sig.numpy.name not in ("float32", "float16", "bfloat16"),
            f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {t.dtype}",
        )
        refuse(t.ndim not in (2, 3), f"{name} has to be 2 or 3d")
    refuse(a.shape[-1] != b.shape[-2], "contraction dimension of mat_a and mat_b must match")
    refuse(
        (offs is None) == (2 in (a.ndim, b.ndim)),
        "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d",
    )
    refuse(offs is not None and offs._sig.numpy != np.int32, "Offsets have to be int32")
    refuse(out_dtype is not None and out_dtype != a.dtype, "Grouped gemm output dtype must match `mat_a` dtype")


@public("grouped_mm", namespace=NN)
def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """A product per group: batches, or pieces of a matrix that end before each of ``offs``.

    A matrix on the left is cut into rows, one on the right into columns, two matrices along what is summed.
    """
    _check(mat_a, mat_b, offs, out_dtype)
    refuse(bias is not None, "Bias not supported yet")
    if offs is None:
        return F.bmm(mat_a, mat_b)
    ends = offs._array.tolist()
    pieces = list(zip([0, *ends[:-1]], ends, strict=True))
    batches = [t.shape[0] for t in (mat_a, mat_b) if t.ndim == 3]
    refuse(any(n != len(ends) for n in batches), "matrix batch sizes have to match")
    if not batches:
        return F.stack([F.mm(F._slice(mat_a, 1, i, j), F._slice(mat_b, 0, i, j)) for i, j in pieces])
    if mat_a.ndim == 2:
        rows = [F.mm(F._slice(mat_a, 0, i, j), F.select(mat_b, 0, k)) for k, (i, j) in enumerate(pieces)]
        return _filled(F.cat(rows, 0), 0, mat_a.shape[0])
    columns = [F.mm(F.select(mat_a, 0, k), F._slice(mat_b, 1, i, j)) for k, (i, j) in enumerate(pieces)]
    return _filled(F.cat(columns, 1), 1, mat_b.shape[1])


def _filled(found: Any, dim: int, size: int) -> Any:
    """Zeros for what lies behind the last group."""
    missing = size - found.shape[dim]
    return F.constant_pad_nd(found, (0, 0, 0, missing) if dim == 0 else (0, missing)) if missing else found
