"""Arithmetic with torch's overloads, and the operators of ``Tensor``."""

from __future__ import annotations

import operator as python_operators
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import late
from ....calls.fast_writes import fast_write, has_fast_writes
from ....calls.inplace import call_inplace
from ....calls.refusals import refuse_truth_values
from ....core.argument_checks import check_whole, check_width, held, real_number, type_name_of
from ....core.base import TensorBase, wrap
from ....core.dtypes import get_default_dtype, result_dtype
from ....core.narrow import kind_of
from ....core.registry import OPS, F
from ....generated.fast_path import MISSING, with_fast_path
from ....table.public import METHODS, as_tensor_operand, check_tensor, public
from ....warning import warn

Number = (bool, int, float, complex, np.number, np.bool_)


def operand_of(value: Any) -> Any:
    """NumPy scalars as Python numbers; everything else unchanged, but for integers that are too long."""
    if value.__class__ is int:
        check_width(value)
    return value.item() if isinstance(value, (np.number, np.bool_)) else value


@public(out=True)
def div(input: Any, other: Any, *, rounding_mode: Any = MISSING) -> Any:  # noqa: A002
    """``input / other``, optionally rounded (``"floor"`` or ``"trunc"``)."""
    if isinstance(input, Number):
        input = as_tensor_operand(input)  # noqa: A001
    check_tensor("div", input)
    row, args = _division(input, other, rounding_mode)
    return row(*args)


_DIV_NOT_ROUNDED = OPS["div"].with_node("DivBackward2")


def _division(self: Any, other: Any, rounding_mode: Any) -> tuple[Any, tuple[Any, ...]]:
    """The row that divides, and its arguments; a rounding mode of ``None`` is of the overload with one."""
    if rounding_mode is None or rounding_mode is MISSING:
        return _DIV_NOT_ROUNDED if rounding_mode is None else OPS["div"], (self, operand_of(other))
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return OPS["_div_rounded"], (self, operand_of(other), rounding_mode)


@public("div_", function=False)
def div_(self: Any, other: Any, *, rounding_mode: Any = MISSING) -> Any:
    """In-place division."""
    return call_inplace(*_division(self, other, rounding_mode), {})


public("divide_", function=False)(div_)
public("divide")(div)
public("true_divide", out=True)(lambda input, other: div(input, other))  # noqa: A006
public("true_divide_", function=False)(lambda self, other: div_(self, other))


def _pow_row(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, TensorBase):
        return OPS["_pow_tensor"] if isinstance(base, TensorBase) else OPS["_pow_base"]
    return OPS["_pow_scalar"]


@public("pow", out=True)
def pow(input: Any, exponent: Any) -> Any:  # noqa: A001, A002
    """``input ** exponent``; either may be a number."""
    if not isinstance(input, TensorBase) and not isinstance(exponent, TensorBase):
        check_tensor("pow", input)
    base, power = operand_of(input), operand_of(exponent)
    if not isinstance(power, TensorBase):
        check_whole(base, power)
        base = _fit_for_number(base, power)
    elif not isinstance(base, TensorBase):
        power = _fit_for_number(power, base)
    return _pow_row(base, power)(base, power)


def _fit_for_number(t: Any, number: Any) -> Any:
    """A tensor in the dtype that it has together with a number."""
    numpy = t._sig.numpy
    if kind_of(numpy) == "c" or (kind_of(numpy) == "f" and not isinstance(number, complex)):
        return t
    dimensioned, zero_dim = ((numpy,), ()) if t._sig.shape else ((), (numpy,))
    common = result_dtype(dimensioned, zero_dim, (number,))
    return t if common == numpy else F._to_copy(t, common)


@public("pow_", function=False)
def pow_(self: Any, exponent: Any) -> Any:
    """In-place power."""
    if not isinstance(exponent, TensorBase) and _fit_for_number(self, operand_of(exponent)) is not self:
        raise RuntimeError(f"result type of the power can't be cast to the desired output type {self.dtype}")
    return call_inplace(_pow_row(self, exponent), (self, operand_of(exponent)), {})


@public("clamp", out=True)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """Limit each element to ``[min, max]``; bounds are numbers or tensors."""
    check_tensor("clamp", input)
    min, max = _alike("clamp", min, max)  # noqa: A001
    _refuse_complex_bounds(input, min, max)
    if isinstance(min, TensorBase) or isinstance(max, TensorBase):
        return F._clamp_tensors(input, *_bounds(min, max))
    return F._clamp_scalar(_fit_for_bounds(input, min, max), min, max)


def _alike(name: str, low: Any, high: Any) -> tuple[Any, Any]:
    """Both bounds as numbers or both as tensors; ``TypeError`` for a number beside a tensor with dimensions."""
    kinds = {isinstance(bound, TensorBase) for bound in (low, high) if bound is not None}
    if len(kinds) < 2:
        return low, high
    for bound in (low, high):
        if isinstance(bound, TensorBase) and (bound._sig.shape or bound.requires_grad):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got (Tensor, {type_name_of(low)}, "
                f"{type_name_of(high)}), but expected bounds that are both numbers or both tensors"
            )
    numbers = [bound.item() if isinstance(bound, TensorBase) else bound for bound in (low, high)]
    return numbers[0], numbers[1]


def _refuse_complex_bounds(*values: Any) -> None:
    for v in values:
        real_number(v)
        if isinstance(v, TensorBase) and v._sig.kind == "c":
            raise NotImplementedError("clamp is not supported for complex types")


def _fit_for_bounds(input: Any, *bounds: Any) -> Any:  # noqa: A002
    """Integers become floating when a bound is, truth values become integers."""
    kind = input._sig.kind
    if kind in "fc":
        return input
    check_whole(input, *bounds)
    if any(isinstance(b, float) for b in bounds):
        return F._to_copy(input, get_default_dtype().numpy)
    if kind == "b" and any(isinstance(b, int) and not isinstance(b, bool) for b in bounds):
        return F._to_copy(input, np.dtype(np.int64))
    return input


def _bounds(low: Any, high: Any) -> list[Any]:
    return [None if bound is None else as_tensor_operand(bound) for bound in (low, high)]


@public("clamp_")
def clamp_(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """In-place clamp."""
    min, max = _alike("clamp_", min, max)  # noqa: A001
    _refuse_complex_bounds(self, min, max)
    if isinstance(min, TensorBase) or isinstance(max, TensorBase):
        return call_inplace(OPS["_clamp_tensors"], (self, *_bounds(min, max)), {})
    if _fit_for_bounds(self, min, max) is not self:
        raise RuntimeError(f"result type of the bounds can't be cast to the desired output type {self.dtype}")
    return call_inplace(OPS["_clamp_scalar"], (self, min, max), {})


public("clip", out=True)(clamp)
public("clip_")(clamp_)


def _truth(condition: Any) -> Any:
    """The condition as boolean tensor; as in PyTorch, of the other dtypes only ``uint8`` may be one, with a warning."""
    numpy = condition._sig.numpy
    if kind_of(numpy) == "b":
        return condition
    if numpy != np.uint8:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}: compare "
            "it with something, such as condition != 0"
        )
    warn(
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version "
        "of PyTorch. Use a boolean condition instead.")  # fmt: skip
    return condition != 0


def _choice(number: Any, numpy: Any) -> Any:
    """A number in the dtype of what it is chosen instead of; too large ones become infinite among halves alone."""
    large = kind_of(numpy) == "f" and numpy.itemsize > 2 and isinstance(number, (int, float))
    return held(number, numpy) if large else number


@public("where", method=False, out=True)
def where(condition: Any, input: Any = None, other: Any = None) -> Any:  # noqa: A002
    """``input`` where ``condition``, else ``other``; with the condition alone, the indices where it holds."""
    check_tensor("where", condition, name="condition")
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    condition = _truth(condition)
    if not isinstance(input, TensorBase) and not isinstance(other, TensorBase):
        common = result_dtype((), (), (operand_of(input), operand_of(other)))
        input = wrap(np.asarray(_choice(operand_of(input), common), common))  # noqa: A001
    for operand, number in ((input, other), (other, input)):
        check_whole(operand, number)
        if isinstance(operand, TensorBase) and not isinstance(number, TensorBase):
            _choice(number, operand._sig.numpy)
    return F._where(condition, operand_of(input), operand_of(other))


@public("where", function=False)
def where_method(self: Any, condition: Any, other: Any) -> Any:
    """This tensor where ``condition``, else ``other``."""
    return where(condition, self, other)


@public("rsub", method=False)
def rsub(input: Any, other: Any, alpha: Any = 1) -> Any:  # noqa: A002
    """``other - alpha * input``."""
    check_tensor("rsub", input)
    if isinstance(other, bool) or input._sig.kind == "b":
        refuse_truth_values([input, other])
    if not isinstance(other, TensorBase) and input._sig.kind not in "fc" and not isinstance(other, int):
        other = as_tensor_operand(other)
    row = F.rsub if isinstance(other, TensorBase) else F._rsub_number
    return row(input, operand_of(other), alpha)


@public("positive")
def positive(input: Any) -> Any:  # noqa: A002
    """``+input``: the tensor itself."""
    check_tensor("positive", input)
    if input._sig.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# -- operators


Operand = Callable[[Any, Any], Any]


def binary_method(function: Operand, array: Operand | None = None) -> Operand:
    """A Python operator: gives way (``NotImplemented``) for operands it does not know.

    ``array`` says what becomes of a NumPy array.
    """

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return (array or _no_array)(self, other)
        if not isinstance(other, (TensorBase, *Number)):
            return NotImplemented
        return function(self, operand_of(other))

    return operator


def _divided(self: Any, other: Any) -> Any:
    """``other / self``."""
    return F.reciprocal(self) * other


def _no_array(self: Any, other: Any) -> Any:
    raise TypeError("unsupported operand type(s): 'Tensor' and 'numpy.ndarray'; use torch.from_numpy(array) first")


def left_to_numpy(symbol: str) -> Operand:
    """An operator with a NumPy array as second operand: PyTorch leaves it to NumPy, its dtypes and its errors.

    A tensor that requires grad is refused (``RuntimeError``), and so is an array as first operand.
    """
    compute = getattr(python_operators, f"__{symbol}__")

    def on_arrays(self: Any, other: Any) -> Any:
        found = np.asarray(compute(self.numpy(), other))
        return wrap(found.astype(np.uint8) if found.dtype == np.bool_ else found)  # as PyTorch wraps truth values

    return on_arrays


def _compared(symbol: str) -> Operand:
    """A comparison with an array: ``==`` takes it, the others are left to Python (``!=`` is True: two objects)."""
    if symbol == "eq":
        return lambda self, other: OPS["eq"](self, wrap(np.array(other)))
    return gives_way


def gives_way(self: Any, other: Any) -> Any:
    """Leaves the operator to Python: an array does not fit into the tensor's memory, ``x += array`` is a new tensor."""
    return NotImplemented


def _operators() -> dict[str, Callable[..., Any]]:
    """The operators of ``Tensor`` (``__add__``, ``__radd__``, ``__iadd__``, ...) by name."""
    found: dict[str, Callable[..., Any]] = {}
    for symbol, name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
                         "and": "bitwise_and", "or": "bitwise_or",
                         "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
                         "rshift": "bitwise_right_shift"}.items():  # fmt: skip
        row = OPS[name]
        plain = binary_method(lambda a, b, row=row: row(a, b), left_to_numpy(symbol))  # type: ignore[misc]
        found[f"__{symbol}__"] = with_fast_path(row, plain, "operator")
        reflected = binary_method(lambda a, b, row=row: _reflected(row, a, b))  # type: ignore[misc]
        found[f"__r{symbol}__"] = with_fast_path(row, reflected, "operator") if name in _COMMUTATIVE else reflected
        written = binary_method(lambda a, b, row=row: call_inplace(row, (a, b), {}), gives_way)  # type: ignore[misc]
        found[f"__i{symbol}__"] = fast_write(row, written) if has_fast_writes(row) else written
    found["__rmod__"] = binary_method(lambda a, b: F.remainder(as_tensor_operand(b), a))
    found["__rsub__"] = _subtracted_from
    found["__rtruediv__"] = found["__rdiv__"] = binary_method(_divided, array=_divided)
    found["__div__"], found["__idiv__"] = found["__truediv__"], found["__itruediv__"]
    found["__pow__"] = binary_method(pow, left_to_numpy("pow"))
    found["__rpow__"] = binary_method(lambda a, b: pow(b, a))
    found["__ipow__"] = binary_method(pow_, gives_way)
    for symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
        found[f"__{symbol}__"] = binary_method(lambda a, b, row=OPS[symbol]: row(a, b), _compared(symbol))  # type: ignore[misc]
    found["__neg__"] = with_fast_path(OPS["neg"], lambda self: F.neg(self), "operator")
    found["__pos__"] = positive
    found["__abs__"] = lambda self: F.abs(self)
    found["__invert__"] = _inverted
    return found


_rsub = binary_method(rsub)


def _subtracted_from(self: Any, other: Any) -> Any:
    """``other - self``; a plain number beside a real tensor needs no look at kinds and dtypes: 7 calls less."""
    if self.__class__ is late.tensor_class and self._sig.floats is not None and other.__class__ in (int, float):
        operand_of(other)
        return F._rsub_number(self, other, 1)
    return _rsub(self, other)


def _inverted(self: Any) -> Any:
    if self._sig.kind in "fc":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return F.bitwise_not(self)


_COMMUTATIVE = ("add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor")


def _reflected(row: Any, a: Any, b: Any) -> Any:
    """``b op a`` for a number ``b``: commutative rows keep the tensor first, as torch does."""
    if row.name in _COMMUTATIVE:
        return row(a, b)
    return row(as_tensor_operand(b), a)


METHODS.update(_operators())
