"""Pieces of a tensor: views, or with ``unsafe_`` tensors of their own on the same memory."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from ....calls.argument_types import KindCheck
from ....table.public import FUNCTIONS, METHODS, check_tensor, public
from ....table.registry import F
from ....tensors.base import PLAIN_CLASSES, TensorBase
from ....tensors.convert import checked_dim
from ....tensors.dtype_names import scalar_name


def _no_combination(size: Any, dim: Any) -> TypeError:
    return TypeError(
        "split() received an invalid combination of arguments - got (Tensor, "
        f"{type(size).__name__}, {type(dim).__name__}), but expected one of:\n"
        " * (Tensor input, int split_size, int dim = 0)\n * (Tensor input, tuple of ints split_size, int dim = 0)"
    )


_check_sizes = KindCheck("split_with_sizes").check


def pieces(form: str, tensor: Any, size: Any, dim: int) -> Any:
    """Pieces of one size or of given sizes, by rows named ``"_{}"`` (views), ``"_unsafe_{}"`` or ``"_{}_copy"``."""
    check_tensor("split", tensor)
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(size, int):
        if bool in (size.__class__, dim.__class__) or dim.__class__ is float:
            raise _no_combination(size, dim)
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        return getattr(F, form.format("split"))(tensor, size, dim)
    if size.__class__ not in (tuple, list) or any(s.__class__ is not int for s in size):
        _check_sizes((tensor, size, dim), {})
    return getattr(F, form.format("split_with_sizes"))(tensor, tuple(int(s) for s in size), dim)


def _publish(unsafe: str, note: str) -> None:
    """Publish ``split``, ``split_with_sizes`` and ``chunk``, or their ``unsafe_`` forms."""
    form, equal = f"_{unsafe}{{}}", f"_{unsafe}split"

    def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
        return pieces(form, tensor, split_size_or_sections, dim)

    def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:  # noqa: A002
        return pieces(form, input, tuple(split_sizes), dim)

    def chunk(input: Any, chunks: int, dim: int = 0) -> Any:  # noqa: A002
        check_tensor("chunk", input)
        shape = input._array.shape
        if not shape:
            raise RuntimeError("chunk expects at least a 1-dimensional tensor")
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        n = shape[dim if dim.__class__ is int and 0 <= dim < len(shape) else checked_dim(dim, len(shape))]
        if n:  # by the row ``split``; without entries to count, by sizes
            return getattr(F, equal)(input, int(-(-n // chunks)), dim)
        return pieces(form, input, (0,) * chunks, dim)

    split.__doc__ = f"Pieces of a given size (the last may be smaller), or of given sizes{note}."
    split_with_sizes.__doc__ = f"Pieces of the given sizes{note}."
    chunk.__doc__ = f"At most ``chunks`` pieces of equal size (the last may be smaller){note}."
    for function in (split, split_with_sizes, chunk):
        function.__name__ = function.__qualname__ = unsafe + function.__name__
        public(also={"input": "tensor", "split_size": "split_size_or_sections"} if function is split else {})(function)


_publish("", "")


def _quick(chunk: Any) -> Any:
    """``chunk`` of a plain tensor by whole numbers: nothing is to be found out about arguments (2 of 12 µs)."""
    split = F._split

    @functools.wraps(chunk)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 3 and not kwargs:
            x, chunks, dim = args
            if x.__class__ in PLAIN_CLASSES and chunks.__class__ is dim.__class__ is int and chunks > 0 <= dim:
                shape = args[0]._array.shape  # (reading a ``Size`` calls a function of Python's)
                if dim < len(shape) and shape[dim]:
                    return split(x, -(-shape[dim] // chunks), dim)
        return chunk(*args, **kwargs)

    return call


FUNCTIONS["chunk"] = METHODS["chunk"] = _quick(FUNCTIONS["chunk"])
_publish("unsafe_", "; no views, so each may be written in place")


@public("tensor_split", also={"indices": "indices_or_sections", "sections": "indices_or_sections"})
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:  # noqa: A002
    """Pieces at given places, or a given number of them; each is an ordinary slice."""
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = checked_dim(dim, input.ndim)
    n = input.shape[axis]
    if isinstance(indices_or_sections, TensorBase):
        indices_or_sections = _places_in_tensor(indices_or_sections)
    if isinstance(indices_or_sections, (int, np.integer)):
        points = _even_points(n, int(indices_or_sections))
    else:
        points = [0, *(int(i) for i in indices_or_sections), n]
    return tuple(F._slice(input, axis, a, b, 1) for a, b in itertools.pairwise(points))


def _places_in_tensor(given: Any) -> Any:
    """The number of pieces, or the list of places, that a tensor gives."""
    what = "tensor_split expected tensor_indices_or_sections to"
    if given._sig.numpy.name != "int64":
        raise RuntimeError(f"{what} have dtype of long, but got {scalar_name(given._sig.numpy)}")
    if given.ndim > 1:
        raise RuntimeError(
            f"{what} be a zero-dimensional or one-dimensional tensor, but got a tensor with {given.ndim} dims"
        )
    return given.tolist()


def _even_points(n: int, sections: int) -> list[int]:
    """Where the given number of pieces begin and end; the first ones are longer by one where ``n`` leaves a rest."""
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    small, extra = divmod(n, sections)
    return list(itertools.accumulate((small + (i < extra) for i in range(sections)), initial=0))


def _split_along(name: str, dim: int, least: int) -> Any:
    """The public function ``hsplit``, ``vsplit`` or ``dsplit``."""

    def call(input: Any, indices_or_sections: Any) -> Any:  # noqa: A002
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} "
                "dimensions!"
            )
        axis = 0 if name == "hsplit" and input.ndim == 1 else dim
        if isinstance(indices_or_sections, int) and (
            indices_or_sections == 0 or input.shape[axis] % indices_or_sections
        ):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension "
                f"{input.shape[axis]} is not divisible by the split_size {indices_or_sections}!"
            )
        return input.tensor_split(indices_or_sections, axis)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Pieces along dimension {dim}."
    return public(name, also={"indices": "indices_or_sections", "sections": "indices_or_sections"})(call)


for _name, _dim, _least in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    _split_along(_name, _dim, _least)
