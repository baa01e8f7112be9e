"""The ``repr`` of tensors."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import late
from ..aliasing.views import grad_fn_of, requires_grad
from ..core.absent import AbsentMemory
from ..core.base import PLAIN_CLASSES, TensorBase
from ..core.bits import class_of
from ..core.dtypes import get_default_dtype
from ..core.printed_elements import PROFILES, PrintOptions, elements_text, options
from ..forward_mode.forward_ad import tangent_of


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Change how tensors print; ``profile`` (``default``, ``short``, ``full``) first sets all but ``sci_mode``.

    ``sci_mode`` is whether floating numbers have exponents; None lets their range decide.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    start = dataclasses.asdict(PrintOptions()) | PROFILES[profile] if profile in PROFILES else {}
    for name, value in (start | {k: v for k, v in given.items() if v is not None}).items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def tensor_repr(t: Any, *, tensor_contents: str | None = None) -> str:
    """``tensor([1., 2.], grad_fn=<MulBackward0>)``; ``tensor_contents`` instead of the values, for classes."""
    is_parameter = t._meta is not None and t._meta.is_parameter
    plain = class_of(t) in PLAIN_CLASSES
    name = "tensor" if plain else t.__class__.__name__
    before, after = ("Parameter(", ")") if is_parameter and not plain else ("", "")
    if issubclass(class_of(t), late.parameter_class):
        before = "Parameter containing:\n" + before
    if tensor_contents is None and t._array.__class__ is AbsentMemory:
        tensor_contents = f"..., size={tuple(t._sig.shape)}"
    text = f"{name}(" + (elements_text(t._array, len(name) + 1) if tensor_contents is None else tensor_contents)
    return before + with_suffixes(text, _suffixes(t), len(name) + 1) + ")" + after


def with_suffixes(text: str, suffixes: list[str], indent: int, *, begin_line: bool = False) -> str:
    """The suffixes behind the values, on lines of their own where they do not fit; the first one on one if asked."""
    width = len(text) - text.rfind("\n") + 1  # as PyTorch counts it
    if begin_line:
        text, width = f"{text},\n{' ' * indent}{suffixes[0]}", indent + len(suffixes[0])
        suffixes = suffixes[1:]
    for suffix in suffixes:
        if width + len(suffix) + 2 > options.linewidth:
            text += f",\n{' ' * indent}{suffix}"
            width = indent + len(suffix)
        else:
            text += f", {suffix}"
            width += len(suffix) + 2
    return text


def is_usual(numpy: Any) -> bool:
    """Whether the elements show this dtype: the default for such numbers, or the only one of its kind in programs."""
    default = get_default_dtype()
    return numpy in (default.numpy, default.to_complex().numpy, np.dtype(np.int64), np.dtype(bool))


def _suffixes(t: Any) -> list[str]:
    """The text after the elements: an unusual dtype, ``requires_grad`` or ``grad_fn``, tangent."""
    found = []
    numpy = t._sig.numpy
    if not is_usual(numpy) or (t._array.size == 0 and numpy != get_default_dtype().numpy):
        found.append(f"dtype={t._sig.dtype}")
    found.extend(grad_suffix(t))
    tangent = tangent_of(t) if isinstance(t, TensorBase) else None
    if tangent is not None:
        found.append(f"tangent={tangent.item() if tangent.dim() == 0 else tangent!r}")
    return found


def grad_suffix(t: Any) -> list[str]:
    """The part of a tensor's text about the graph."""
    try:
        fn = grad_fn_of(t)
    except RuntimeError:
        return ["grad_fn=<Invalid>"]
    if fn is not None:
        return [f"grad_fn=<{type(fn).__name__}>"]
    return ["requires_grad=True"] if requires_grad(t) else []
