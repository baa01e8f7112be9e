"""Functions that create tensors, as dispatch modes receive them.

As with ``__torch_function__``, this costs nothing without modes: the public functions are replaced when the first mode
is entered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ..core.base import TensorBase
from ..core.devices import device
from ..switches.state import STATE
from .aten import FunctionOverload
from .wrappers import say_where_they_are, when_loaded

_ALIKE: Final = ("empty_like", "full_like", "ones_like", "rand_like", "randn_like", "randint_like", "zeros_like")
_NAMES: Final = {
    "empty": "empty.memory_format", "empty_strided": "empty_strided.default", "eye": "eye.default",
    "full": "full.default", "linspace": "linspace.default", "logspace": "logspace.default", "ones": "ones.default",
    "rand": "rand.default", "randn": "randn.default", "randperm": "randperm.default",
    "tensor": "lift_fresh.default", "zeros": "zeros.default", **{name: f"{name}.default" for name in _ALIKE},
}  # fmt: skip
"""Function -> what PyTorch's dispatcher calls it."""
_SIZED: Final = ("empty", "ones", "rand", "randn", "zeros")
"""Functions whose sizes may be given one by one."""
_RANGES: Final = ("default", "default", "start", "start_step")
"""The overloads of ``arange`` by how many numbers are given."""


Asked = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


def _telling(name: str, function: Callable[..., Any], asked: Asked) -> Callable[..., Any]:
    """``function``, but the modes are asked first."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not STATE.dispatch_modes or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        full = _NAMES.get(name) or f"{name}.{_overload(name, args)}"
        requires_grad = kwargs.pop("requires_grad", False)
        if name in _SIZED and args and isinstance(args[0], int):
            args = (args,)
        args = tuple([list(a) if isinstance(a, tuple) else a for a in args])
        opname, _, overload = full.partition(".")
        if name == "tensor":  # its data are read before anybody hears of it
            made = asked(FunctionOverload(opname, overload, _itself), (function(*args, **kwargs),), {})
        else:
            made = asked(FunctionOverload(opname, overload, call), args, _placed(name, kwargs))
        if not isinstance(made, TensorBase):
            raise TypeError(f"__torch_dispatch__ of {full} must return tensors, but got {type(made).__name__}")
        return made._requiring_grad() if requires_grad else made

    call.__name__ = name
    call.__doc__ = function.__doc__
    return call


def _overload(name: str, args: tuple[Any, ...]) -> str:
    """The overload of ``arange`` or ``randint`` by how many numbers are given."""
    if name == "arange":
        return _RANGES[min(len(args), 3)]
    return "low" if sum(isinstance(a, int) for a in args) > 1 else "default"


def _itself(t: Any) -> Any:
    return t


def _placed(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments as the dispatcher shows them: where the tensor will be is always said."""
    given = {key: value for key, value in kwargs.items() if key != "device" and value is not None}
    where = kwargs.get("device")
    if where is not None or name not in _ALIKE:
        given["device"] = device("cpu" if where is None else where)
    return {**given, "pin_memory": bool(kwargs.get("pin_memory"))}


_installed = False


def install(asked: Asked) -> None:
    """Make the public functions report their calls to ``asked``; called when a mode is entered."""
    global _installed
    if not _installed:
        _installed = True
        when_loaded("torch", partial(_install_in, asked))


def _install_in(asked: Asked, functions: dict[str, Any]) -> None:
    names = [*_NAMES, "arange", "randint"]
    for name in names:
        functions[name] = _telling(name, functions[name], asked)
    say_where_they_are(functions, names)
