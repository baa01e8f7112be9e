"""Error messages for operands that an operator does not support: dtypes without a kernel, mismatched shapes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..core import narrow
from ..core.base import TensorBase
from ..core.dtypes import c10_name, scalar_name
from ..core.narrow import kind_of
from ..table.op import OpDef

_ORDER = "buifc"
"""Kinds of dtype, each of which the later ones take in."""


_WIDE_UNSIGNED = """
add_stub: add sub rsub _add_number _sub_number _rsub_number
neg_cpu: neg; abs_cpu: abs; sign_cpu: sgn sign; pow: square _pow_base _pow_scalar _pow_tensor
div_floor_cpu: floor_divide _div_rounded; fmod_cpu: _fmod_number _fmod_tensor
remainder_cpu: remainder _remainder_number
bitwise_not_cpu: bitwise_not; lshift_cpu: bitwise_left_shift; rshift_cpu: bitwise_right_shift
gt_cpu: gt _gt_inplace_number _gt_inplace_tensor; ge_cpu: ge _ge_inplace_number _ge_inplace_tensor
lt_cpu: lt _lt_inplace_number _lt_inplace_tensor; le_cpu: le _le_inplace_number _le_inplace_tensor
logical_and_cpu: logical_and; logical_or_cpu: logical_or; logical_xor_cpu: logical_xor; logical_not_cpu: logical_not
maximum_cpu: maximum fmax _clamp_min_tensor; minimum_cpu: minimum fmin _clamp_max_tensor _clamp_tensors
clamp_scalar_cpu: _clamp_scalar hardtanh; clamp_min_scalar_cpu: _clamp_min relu; clamp_max_scalar_cpu: _clamp_max
threshold_cpu: threshold; heaviside_cpu: _heaviside; gcd_cpu: gcd; lcm_cpu: lcm; addcmul_cpu_out: _addcmul
max_all: _max_all; min_all: _min_all; max_cpu: _max_dim; min_cpu: _min_dim; aminmax_cpu: _aminmax
max_values_cpu: amax; min_values_cpu: amin; argmax_cpu: argmax; argmin_cpu: argmin; cummax_cpu: _cummax
cummin_cpu: _cummin; kthvalue_cpu: _kthvalue; topk_cpu: _topk; mode_cpu: _mode
median_cpu: _median _median_all _nanmedian _nanmedian_all; nonzero_count_cpu: _count_nonzero
masked_fill: masked_fill _masked_fill_tensor; masked_select: masked_select; masked_scatter: masked_scatter
scatter_gather_tensor_cpu: gather scatter_add _scatter _scatter_reduce _index_add _index_reduce
scatter_gather_scalar_cpu: _scatter_number; index_fill_cpu: _index_fill_number _index_fill_tensor
index_copy_cpu: index_copy; take_cpu: take; tril: tril; triu: triu; trace: trace; cross: _cross
addmm_impl_cpu_: mm addmm addbmm; addmv_impl_cpu: mv addmv; bmm: bmm; baddbmm: baddbmm; dot: dot vdot
"""
_OF_WIDE_UNSIGNED = {
    row: kernel
    for kernel, _, rows in (part.partition(":") for part in _WIDE_UNSIGNED.strip().replace("\n", "; ").split("; "))
    for row in rows.split()
}
"""Rows for which PyTorch's kernel, of this name, is not written for unsigned integers of more than eight bits."""


def check_kinds(op: OpDef, operands: list[Any]) -> None:
    """``NotImplementedError`` in torch's words for operands of a kind for which torch's kernel is not written."""
    if operands[0]._sig.kind == "u" and operands[0]._sig.narrow and op.name in _OF_WIDE_UNSIGNED:
        check_sizes(op, operands)
        raise without_kernel(_OF_WIDE_UNSIGNED[op.name], [operands[0]._sig.numpy])
    if not op.kinds:
        return
    if _is_product(op) and op.ndim != 3 and len({t._sig.numpy for t in operands}) > 1:
        return  # operands of two dtypes are refused as such; only products of batches look for a kernel first
    if op.promote:
        found = max([t._sig.numpy for t in operands], key=lambda numpy: _ORDER.index(kind_of(numpy)))
    else:
        found = operands[0]._sig.numpy
    try:
        refuse_kind(op.name.strip("_"), found, op.kinds)
    except NotImplementedError:
        check_sizes(op, operands)
        raise


def check_sizes(op: OpDef, operands: list[Any]) -> None:
    """``RuntimeError`` for operands that do not broadcast, before one for want of a kernel.

    PyTorch looks for a kernel when it knows what there is to go through.
    """
    if op.layout != "operands":
        return
    shapes = [t._sig.shape for t in operands]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise size_mismatch(shapes, error) from None


def _is_product(op: OpDef) -> bool:
    """Whether an operator multiplies all its operands, which must be of one dtype."""
    return op.kind == "multilinear" and not op.promote and op.rules.keys() >= set(op.tensor_names)


def refuse(condition: bool, message: str) -> None:
    """``RuntimeError`` where the condition holds."""
    if condition:
        raise RuntimeError(message)


def refuse_kind(kernel: str, numpy: Any, kinds: str) -> None:
    """``NotImplementedError`` for a dtype of none of the kinds.

    Kinds are NumPy's letters; ``w`` means the wide floats alone, ``h`` for bfloat16 beside them, ``l`` for
    64-bit integers alone, ``y`` for bytes alone.
    """
    kind = "" if narrow.is_eight_bits(numpy) else kind_of(numpy)
    wide = "w" if kind == "f" and numpy.itemsize > 2 else "l" if kind == "i" and numpy.itemsize > 4 else ""
    wide = "h" if numpy is narrow.BRAIN else "y" if kind == "u" and numpy.itemsize == 1 else wide
    if (not kind or kind not in kinds) and not (wide and wide in kinds):
        raise without_kernel(kernel, [numpy])


def without_kernel(kernel: str, dtypes: list[Any]) -> Exception:
    """PyTorch's error for dtypes without a kernel, unless an earlier check raises its own."""
    kind = max((kind_of(numpy) for numpy in dtypes), key=_ORDER.index, default="")
    for error, words, names in _BEFORE_KERNELS.get(kind, ()):
        if kernel in names.split():
            return error(words.format(kernel, dtype=scalar_name(dtypes[0])))
    named = dict.fromkeys(f"'{scalar_name(numpy)}'" for numpy in dtypes)
    return NotImplementedError(f'"{kernel}" not implemented for {", ".join(named)}')


_SUBTRACTED_TRUTH = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
    "instead."
)
_NEGATED_TRUTH = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
_OF_BAGS = (
    "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
    "Double; but got {dtype} instead (while checking arguments for embedding_bag)"
)
_BEFORE_KERNELS: dict[str, tuple[tuple[type[Exception], str, str], ...]] = {
    "c": (
        (NotImplementedError, "clamp is not supported for complex types", "relu hardtanh clamp_min clamp_max"),
        (NotImplementedError, "{} is not supported for complex inputs", "floor ceil trunc"),
        (RuntimeError, "{} not implemented for complex tensors.", "maximum minimum fmax fmin"),
        (RuntimeError, "{} is not supported for complex tensors.", "deg2rad rad2deg"),
        (RuntimeError, "{} does not support complex inputs.", "isposinf isneginf"),
        (RuntimeError, " {} does not support complex dtypes on CPU", "topk"),
        (RuntimeError, _OF_BAGS, "embedding_bag embedding_bag_max"),
    ),
    **dict.fromkeys("iu", (
        (RuntimeError, "norm(): input dtype should be either floating point or complex. Got {dtype} instead.", "dist"),
        (RuntimeError, "result type Float can't be cast to the desired output type {dtype}", "soft_margin_loss"),
        (RuntimeError, _OF_BAGS, "embedding_bag embedding_bag_max"),
    )),
    "b": (
        (RuntimeError, _SUBTRACTED_TRUTH, "dist"),
        (RuntimeError, _NEGATED_TRUTH, "soft_margin_loss"),
        (RuntimeError, _OF_BAGS, "embedding_bag embedding_bag_max"),
        (RuntimeError, "{} does not support bool dtypes on CPU", "topk"),
        (RuntimeError, "Bool inputs not supported for hardtanh", "hardtanh"),
        (RuntimeError, "Boolean inputs not supported for relu", "relu"),
    ),
}  # fmt: skip
"""Functions' own errors for kinds of dtype: class, message, functions."""


def refuse_truth_values(operands: list[Any]) -> None:
    """``RuntimeError`` in torch's words for subtractions with boolean operands."""
    tensors = [t for t in operands if isinstance(t, TensorBase)]
    if len(tensors) > 1 and all(t._sig.kind == "b" for t in tensors):
        raise RuntimeError(_SUBTRACTED_TRUTH)
    if any(v._sig.kind == "b" if isinstance(v, TensorBase) else isinstance(v, bool) for v in operands):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


_NO_SUCH_KERNEL = (
    "ufunc '", "numpy boolean", "Cannot cast", "is unsupported in linalg", "Invalid integer data type",
    "not supported for complex",
)  # fmt: skip
"""NumPy's messages for an operation that it lacks for a dtype."""


def kernel_refusal(op: OpDef, operands: list[Any], error: Exception) -> Exception:
    """PyTorch's error where NumPy lacks an operation for a dtype, or a number does not fit into it."""
    text = str(error)
    if isinstance(error, OverflowError) or "must be a string or a real number" in text:
        name = "float" if not operands else c10_name(operands[0]._sig.numpy)
        return RuntimeError(f"value cannot be converted to type {name} without overflow")
    if any(phrase in text for phrase in _NO_SUCH_KERNEL):
        if op.name == "neg":
            return RuntimeError(_NEGATED_TRUTH)
        return without_kernel(op.name.strip("_"), [t._sig.numpy for t in operands])
    return error


def shapes_in(error: Exception) -> list[tuple[int, ...]]:
    """The shapes that NumPy names when operands do not broadcast."""
    return [tuple([int(n) for n in found.split(",") if n]) for found in re.findall(r"\(([\d,]*)\)", str(error))]


def size_mismatch(shapes: list[tuple[int, ...]], error: Exception | None) -> Exception:
    """PyTorch's error for operands that do not broadcast."""
    whole: tuple[int, ...] = ()
    for shape in shapes:
        ndim = max(len(whole), len(shape))
        a, b = (1,) * (ndim - len(whole)) + whole, (1,) * (ndim - len(shape)) + shape
        for dim in range(ndim - 1, -1, -1):
            if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
                return RuntimeError(
                    f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton "
                    f"dimension {dim}"
                )
        whole = tuple([n if m == 1 else m for m, n in zip(a, b, strict=True)])
    if error is not None:  # an operand that is not a tensor of the row's, such as a condition
        return size_mismatch(shapes_in(error), None)
    return RuntimeError(f"operands of shapes {', '.join(map(str, shapes))} do not broadcast")
