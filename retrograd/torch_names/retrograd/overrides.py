"""``torch.overrides``: which functions ask whom, and decorators for functions that are to ask."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from .engine.overriding.function_modes import TorchFunctionMode
from .engine.overriding.function_modes import current_modes as _get_current_function_mode_stack
from .engine.overriding.overrides import handle_torch_function, has_torch_function, resolve_name
from .engine.overriding.wrappers import install, not_overridable, overridable
from .engine.tensors.tensor import Tensor


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls each function as it is."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


def has_torch_function_unary(value: Any) -> bool:
    """Whether the argument of a function would be asked."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Whether one of these would be asked."""
    return has_torch_function(values)


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor or has a ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function that is asked about belongs to ``Tensor``."""
    name = resolve_name(func)
    return name is None or name.startswith("torch.Tensor.")


def get_overridable_functions() -> dict[Any, list[Any]]:
    """Every function that asks, by the class or module that has it."""
    found: dict[Any, list[Any]] = {}
    for function in overridable():
        found.setdefault(_owner(str(resolve_name(function)).rpartition(".")[0]), []).append(function)
    return found


def _owner(name: str) -> Any:
    """The class or module that torch calls so; the name itself where there is none of ours."""
    if name == "torch.Tensor":
        return Tensor
    try:
        return importlib.import_module(name.replace("torch", __name__.partition(".")[0], 1))
    except ImportError:
        return name


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results are not made to be of a subclass: the attributes that hold another tensor."""
    tensor: Any = Tensor
    return {tensor._base.__get__, tensor.grad.__get__, tensor._grad.__get__}


def get_ignored_functions() -> set[Any]:
    """Public functions that nobody is asked about."""
    return not_overridable()


def get_testing_overrides() -> dict[Any, Any]:
    """For every function that asks, one that takes anything and returns -1."""
    return dict.fromkeys(overridable(), _minus_one)


def _minus_one(*args: Any, **kwargs: Any) -> int:
    return -1


def wrap_torch_function(dispatcher: Any) -> Any:
    """Decorator: the function asks those of its arguments that ``dispatcher``, called with them all, returns."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return asking

    return decorate


install()  # importing this module means that overrides are wanted, perhaps of something that is not a tensor

__all__ = [
    "TorchFunctionMode", "_get_current_function_mode_stack", "get_default_nowrap_functions", "get_ignored_functions",
    "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property",
    "resolve_name", "wrap_torch_function",
]  # fmt: skip
