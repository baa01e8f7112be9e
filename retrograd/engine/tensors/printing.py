"""How tensors print."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np

from ..aliasing.views import grad_fn_of, requires_grad
from ..forward_mode.forward_ad import tangent_of
from .absent import AbsentMemory
from .base import PLAIN_CLASSES, TensorBase, parameter_class
from .bits import class_of
from .dtypes import get_default_dtype

_THRESHOLD = 1000
_EDGE_ITEMS = 3
_LINE_WIDTH = 80


@dataclasses.dataclass
class PrintOptions:
    """What ``set_printoptions`` changes."""

    precision: int = 4
    threshold: int = _THRESHOLD
    edgeitems: int = _EDGE_ITEMS
    linewidth: int = _LINE_WIDTH
    sci_mode: bool | None = None


options = PrintOptions()
_PROFILES = {"default": {}, "short": {"precision": 2, "edgeitems": 2}, "full": {"threshold": sys.maxsize}}


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Change how tensors print; ``profile`` (``default``, ``short``, ``full``) first sets all but ``sci_mode``.

    ``sci_mode`` is whether floating numbers have exponents; None lets their range decide.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    start = dataclasses.asdict(PrintOptions()) | _PROFILES[profile] if profile in _PROFILES else {}
    for name, value in (start | {k: v for k, v in given.items() if v is not None}).items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def tensor_repr(t: Any, *, tensor_contents: str | None = None) -> str:
    """``tensor([1., 2.], grad_fn=<MulBackward0>)``; ``tensor_contents`` instead of the values, for classes."""
    is_parameter = t._meta is not None and t._meta.is_parameter
    plain = class_of(t) in PLAIN_CLASSES
    name = "tensor" if plain else t.__class__.__name__
    before, after = ("Parameter(", ")") if is_parameter and not plain else ("", "")
    if issubclass(class_of(t), parameter_class()):
        before = "Parameter containing:\n" + before
    if tensor_contents is None and t._array.__class__ is AbsentMemory:
        tensor_contents = f"..., size={tuple(t._sig.shape)}"
    text = f"{name}(" + (_body(t._array, len(name) + 1) if tensor_contents is None else tensor_contents)
    return before + _with_suffixes(text, _suffixes(t), len(name) + 1) + ")" + after


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """The suffixes behind the values, on lines of their own where they do not fit."""
    width = len(text) - text.rfind("\n") + 1  # as PyTorch counts it
    for suffix in suffixes:
        if width + len(suffix) + 2 > options.linewidth:
            text += f",\n{' ' * indent}{suffix}"
            width = indent + len(suffix)
        else:
            text += f", {suffix}"
            width += len(suffix) + 2
    return text


def _body(array: Any, indent: int) -> str:
    """The elements as torch prints them, further lines indented."""
    if array.size == 0:
        return "[]" if array.shape == (0,) else f"[], size={tuple(array.shape)}"
    if array.dtype.kind in "f":
        formatter: Any = {"float_kind": _float_format(array)}
    elif array.dtype.kind == "c":
        real, imag = _float_format(array.real), _float_format(array.imag)
        formatter = {
            "complex_kind": lambda z: f"{real(z.real)}{'+' if not np.signbit(z.imag) else ''}{imag(z.imag).strip()}j"
        }
    else:
        formatter = {"bool": _bool_format(array)} if array.dtype.kind == "b" else {}
    text = np.array2string(
        array, separator=", ", prefix=" " * indent, formatter=formatter, threshold=options.threshold,
        edgeitems=options.edgeitems, max_line_width=options.linewidth,
    )  # fmt: skip
    return text.replace(", ..., ", ",  ..., ")  # as torch spaces it


def _bool_format(array: Any) -> Any:
    width = 4 if array.all() else 5
    return lambda v: str(bool(v)).rjust(width)


def _float_format(array: Any) -> Any:
    """The format that all numbers of an array share: whole, with decimals, or scientific, and as wide as the widest."""
    finite = np.abs(array[np.isfinite(array) & (array != 0)].astype(np.float64))
    if finite.size == 0:
        return lambda v: f"{v:.0f}." if np.isfinite(v) else str(v)
    whole = bool(np.all(finite == np.ceil(finite)))
    scientific = finite.max() / finite.min() > 1000 or finite.max() > 1e8 or (not whole and finite.min() < 1e-4)
    if options.sci_mode is not None:
        scientific = options.sci_mode
    spec = f".{options.precision}e" if scientific else ".0f" if whole else f".{options.precision}f"
    end = "." if whole and not scientific else ""
    nonzero = array[np.isfinite(array) & (array != 0)]
    width = max(len(f"{v:{spec}}{end}") for v in (nonzero.min(), nonzero.max()))
    return lambda v: (f"{v:{spec}}{end}" if np.isfinite(v) else str(v)).rjust(width)


def _suffixes(t: Any) -> list[str]:
    """What stands behind the elements: an unusual dtype, ``requires_grad`` or ``grad_fn``, tangent."""
    found = []
    default = get_default_dtype().numpy
    numpy = t._sig.numpy
    if (
        numpy != default
        and numpy not in (np.dtype(np.int64), np.dtype(bool))
        and numpy != get_default_dtype().to_complex().numpy
    ) or (t._array.size == 0 and numpy != default):
        found.append(f"dtype={t._sig.dtype}")
    found.extend(_grad_suffix(t))
    tangent = tangent_of(t) if isinstance(t, TensorBase) else None
    if tangent is not None:
        found.append(f"tangent={tangent!r}")
    return found


def _grad_suffix(t: Any) -> list[str]:
    try:
        fn = grad_fn_of(t)
    except RuntimeError:
        return ["grad_fn=<Invalid>"]
    if fn is not None:
        return [f"grad_fn=<{type(fn).__name__}>"]
    return ["requires_grad=True"] if requires_grad(t) else []
