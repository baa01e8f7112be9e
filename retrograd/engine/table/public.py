"""Public functions and methods: made from the table's rows, or written by hand for torch's overloads."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..calls.fast_writes import fast_write, has_fast_writes
from ..calls.inplace import call_inplace
from ..calls.older_forms import has_own_method_form, taking_older_forms
from ..calls.out_argument import Out, write_out
from ..calls.overload_choice import KindCheck, out_dtype
from ..calls.wrappers import NO_NAMES, called, check_out, is_variadic, renamed, with_numbers
from ..core.argument_checks import type_name_of
from ..core.base import TensorBase, are_plain, wrap
from ..core.registry import OPS
from ..generated.fast_path import with_fast_path
from ..overriding.asked_functions import asking
from ..overriding.aten import functions as OVERLOADED
from .op import OpDef

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Public functions by name, such as ``torch.add``."""
METHODS: dict[str, Callable[..., Any]] = {}
"""Tensor methods by name, such as ``Tensor.add_``."""
NN = "nn.functional"
"""The namespace of layers and losses, as ``public`` takes it."""
NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {NN: {}}
"""Functions of torch's sub-modules: ``NAMESPACES["nn.functional"]["relu"]``."""
PROPERTIES: dict[str, Callable[[Any], Any]] = {}
"""Tensor properties by name, such as ``Tensor.T``."""
SETTERS: dict[str, Callable[[Any, Any], None]] = {}
"""Setters of those properties that have one."""

_SPELLINGS = {
    "multiply": "mul", "subtract": "sub", "negative": "neg", "absolute": "abs", "arccos": "acos", "arcsin": "asin",
    "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "greater": "gt",
    "less": "lt", "greater_equal": "ge", "less_equal": "le", "not_equal": "ne", "fix": "trunc", "concat": "cat",
    "concatenate": "cat", "swapaxes": "transpose", "swapdims": "transpose", "ger": "outer",
}  # fmt: skip
"""Further names torch has for the same function."""


def check_tensor(function: str, value: Any, position: int = 1, name: str = "input") -> None:
    """``TypeError`` in torch's words for an argument that must be a tensor."""
    if not isinstance(value, TensorBase):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type_name_of(value)}"
        )


def check_dim(function: str, dim: Any, *, optional: bool = True) -> None:
    """``TypeError`` in torch's words for a dimension that is not an integer (or, if ``optional``, ``None``)."""
    if not (isinstance(dim, (int, np.integer)) or (optional and dim is None) or hasattr(dim, "__index__")):
        raise TypeError(f"{function}(): argument 'dim' must be int, not {type_name_of(dim)}")


def _check_row_arguments(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``TypeError`` unless the first argument of a row is a tensor, or a list of tensors where it takes one."""
    first = args[0] if args else kwargs.get(op.params[0])
    if op.list_positions and op.tensor_positions[0] in op.list_positions:
        if isinstance(first, TensorBase) or not isinstance(first, (list, tuple)):
            raise TypeError(
                f"{op.name}(): argument '{op.params[0]}' (position 1) must be tuple of Tensors, not "
                f"{type_name_of(first)}"
            )
        for i, v in enumerate(() if are_plain(first) else first):
            if not isinstance(v, TensorBase):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name_of(v)}")
    elif op.tensor_positions and op.tensor_positions[0] == 0:
        check_tensor(op.name, first)
        if not op.numbers:
            check_operands(op, args, kwargs)


def check_operands(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``TypeError`` for a number where only tensors will do."""
    for place in op.tensor_positions[1:]:
        name = op.params[place]
        if place < len(args) or name in kwargs:
            check_tensor(op.name, args[place] if place < len(args) else kwargs[name], place + 1, name)


_NUMBER_FIRST = frozenset({
    "add", "sub", "mul", "div", "floor_divide", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
    "bitwise_right_shift",
})  # fmt: skip
"""Rows whose function also takes a number and a tensor: ``torch.add(2, t)``."""


def _number_first(op: OpDef, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call, with a number in the first place as a tensor where the row takes one."""
    if op.name not in _NUMBER_FIRST or not args or not isinstance(args[0], (int, float, complex)):
        return args
    return (as_tensor_operand(args[0]), *args[1:])


def function_of(op: OpDef) -> Callable[..., Any]:
    """The public function of a row."""
    checked = KindCheck(op.name)

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        named = renamed(kwargs, op.params) if kwargs else kwargs
        args = _number_first(op, args)
        checked.check(args, kwargs if out is None else {**kwargs, "out": out})
        try:
            if out is not None:
                check_out(op.name)
                return write_out(op, out, args, named, dtype=out_dtype(op.name, args, named))
            _check_row_arguments(op, args, named)
            return op(*args, **named)
        except Exception:
            args, kwargs = with_numbers(op.name, args, kwargs)
        return call(*args, out=out, **kwargs)

    call.__name__ = call.__qualname__ = op.name
    is_ufunc = hasattr(op.forward, "nin")
    if is_ufunc or (op.kind == "elementwise" and not op.forward.__doc__):
        call.__doc__ = f"Element-wise {op.name}."
    else:
        call.__doc__ = op.forward.__doc__
    made: Callable[..., Any] = with_fast_path(op, taking_older_forms(op.name, call), "function")
    return made


def inplace_of(op: OpDef) -> Callable[..., Any]:
    """The in-place method of a row."""

    checked = KindCheck(op.name + "_")

    def general(self: Any, *args: Any, **kwargs: Any) -> Any:
        named = renamed(kwargs, op.params) if kwargs else kwargs
        checked.check((self, *args), kwargs)
        try:
            if not op.numbers:
                check_operands(op, (self, *args), named)
            return call_inplace(op.in_place, (self, *args), named)
        except Exception:
            (self, *args), kwargs = with_numbers(op.name + "_", (self, *args), kwargs)  # type: ignore[assignment]
        return general(self, *args, **kwargs)

    general = taking_older_forms(op.name + "_", general)
    call = fast_write(op, general) if has_fast_writes(op) else general
    call.__name__ = call.__qualname__ = op.name + "_"
    call.__doc__ = f"In-place {op.name}."
    return call


def public(
    name: str | None = None,
    *,
    method: bool = True,
    function: bool = True,
    out: Out | bool = False,
    namespace: str | None = None,
    row: str | None = None,
    also: Mapping[str, str] = NO_NAMES,
    aten: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Publish a hand-written function under torch's name (default: its own), as function and/or method.

    With ``namespace`` (``"nn.functional"``, ``"linalg"``, ``"special"``, ``"fft"``) it is published only there.
    With ``out`` it takes ``out=``; an ``Out`` says how, where that is unusual.
    ``also`` maps further names of arguments, those of torch's other overloads, to the function's own.
    ``aten`` is what dispatch handlers know it as, for functions that look at arrays themselves.
    ``row`` names the row that it is when called with just the row's required arguments; those calls are the row's own.
    """

    def note(f: Callable[..., Any]) -> Callable[..., Any]:
        key = name or f.__name__
        if isinstance(f, type):
            FUNCTIONS[key] = f
            return f
        f = asking(aten, f) if aten else f
        general = called(f, key if namespace is None else f"{namespace}.{key}", out, also)

        def finished(as_method: bool) -> Callable[..., Any]:
            whole = general if namespace else taking_older_forms(key, general, method=as_method)
            return whole if row is None else with_fast_path(OPS[row], whole, "function")

        made = finished(as_method=False)
        if aten:
            OVERLOADED[aten.partition(".")[0]] = made
        if namespace is not None:
            NAMESPACES.setdefault(namespace, {})[key] = made
            return made
        if function:
            FUNCTIONS[key] = made
        if method:
            bound = finished(as_method=True) if has_own_method_form(key.removesuffix("_")) else made
            METHODS[key] = called(f, key, out, also, spread=True) if is_variadic(f) and bound is made else bound
        return made

    return note


def missing_name(module: str, name: str, namespace: str) -> AttributeError:
    """The error for a name that a module lacks, with the nearest ones that it has."""
    near = difflib.get_close_matches(name, NAMESPACES[namespace], 3, 0.5)
    hint = f"; the nearest names are {', '.join(near)}" if near else ""
    return AttributeError(f"module '{module}' has no attribute '{name}'{hint}")


def property_(name: str | None = None) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Publish a hand-written tensor property."""

    def note(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        PROPERTIES[name or f.__name__] = f
        return f

    return note


def publish_rows() -> None:
    """Make functions and methods for every row that has none yet; names with a leading underscore stay internal."""
    for op in OPS.values():
        if not op.public:
            continue
        made = function_of(op)
        FUNCTIONS.setdefault(op.name, made)
        if op.tensor_positions and op.tensor_positions[0] == 0 and 0 not in op.list_positions:
            METHODS.setdefault(op.name, made)
            if op.inplace:
                METHODS.setdefault(op.name + "_", inplace_of(op))
                FUNCTIONS.setdefault(op.name + "_", inplace_of(op))
    _publish_spellings(FUNCTIONS)
    _publish_spellings(METHODS)


def _publish_spellings(table: dict[str, Callable[..., Any]]) -> None:
    """Publish other spellings of a name, including in-place ones."""
    for spelling, name in _SPELLINGS.items():
        for suffix in ("", "_"):
            if name + suffix in table:
                table.setdefault(spelling + suffix, table[name + suffix])


def as_tensor_operand(value: Any) -> Any:
    """A NumPy or Python number as 0-d tensor that counts as a number in promotions; tensors unchanged."""
    if isinstance(value, TensorBase):
        return value
    t = wrap(value)
    t.need_meta().wrapped_number = True
    return t
