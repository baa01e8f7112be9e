"""Conditions that programs state (``torch._check``), and functions that PyTorch has removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...aliasing.strided import element_strides, is_dense
from ...core.base import TensorBase
from ...core.dtypes import bool_
from ...table.public import public

Message = Callable[[], Any] | None
_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, give the check a message.)"
)


def _refuse(error: type[Exception], message: Message) -> None:
    if message is None:
        raise error(_UNSAID)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


@public("_check_with", method=False)
def _check_with(error_type: type[Exception], cond: Any, message: Message) -> None:
    """Raise ``error_type`` with what ``message()`` gives, unless ``cond``; ``TypeError`` for what is no ``bool``."""
    if isinstance(cond, TensorBase):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
            "that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _refuse(error_type, message)


@public("_check_tensor_all_with", method=False)
def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """The same for a tensor of truth values, all of which must be true."""
    if not isinstance(cond, TensorBase):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    if not cond.all().item():
        _refuse(error_type, message)


def _checking(error_type: type[Exception], with_error: Callable[..., None]) -> Callable[..., None]:
    def check(cond: Any, message: Message = None) -> None:
        with_error(error_type, cond, message)

    check.__doc__ = f"``{error_type.__name__}`` with what ``message()`` gives, unless the condition holds."
    return check


for _name, _error in {
    "_check": RuntimeError, "_check_index": IndexError, "_check_value": ValueError, "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError,
}.items():  # fmt: skip
    public(_name, method=False)(_checking(_error, _check_with))
public("_check_tensor_all", method=False)(_checking(RuntimeError, _check_tensor_all_with))


@public("_check_is_size", method=False)
def _check_is_size(i: Any, message: Message = None, *, max: Any = None) -> None:  # noqa: A002
    """``RuntimeError`` for a number that is not a size, or one above ``max``."""
    _check_with(RuntimeError, i >= 0, message)
    if max is not None:
        _check_with(RuntimeError, i <= max, message)


@public("_assert", method=False)
def _assert(condition: Any, message: Any) -> None:
    """``AssertionError`` unless the condition, a truth value or a tensor with one, holds."""
    if not condition:
        raise AssertionError(message)


@public("_debug_has_internal_overlap", method=False)
def _debug_has_internal_overlap(input: Any) -> int:  # noqa: A002
    """Whether elements share memory: 0 for no, 1 for yes, 2 where that would take longer to find out."""
    array = input._array
    if is_dense(array):
        return 0
    expanded = any(stride == 0 and size > 1 for size, stride in zip(array.shape, element_strides(array), strict=True))
    return 1 if expanded else 2


_REMOVED = {
    "eig": "L, V = torch.linalg.eig(A), which returns complex tensors",
    "lstsq": "torch.linalg.lstsq(A, B).solution, which has its arguments reversed",
    "matrix_rank": "torch.linalg.matrix_rank; the parameter 'symmetric' was renamed to 'hermitian'",
    "solve": "torch.linalg.solve(A, B), which has its arguments reversed",
    "symeig": "torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L') or torch.linalg.eigh",
}


def _removed(name: str, instead: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. Use {instead}.")

    call.__doc__ = f"Removed from PyTorch; ``torch.linalg`` has what took the place of ``{name}``."
    return call


for _name, _instead in _REMOVED.items():
    public(_name, method=_name != "matrix_rank")(_removed(_name, _instead))
