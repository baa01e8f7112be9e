"""Interned pairs of shape and dtype, with separate ones for arrays whose dimensions are permuted in memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .dtypes import dtype, from_numpy_dtype
from .narrow import LOADED, kind_of
from .size import Size


class Sig:
    """An interned (shape, dtype) pair, so that "same shape and dtype" is an identity test.

    Arrays whose dimensions lie in memory in their order share one; others share it with those of the same strides.  So
    a call that meets one object for both operands knows that NumPy gives the result the order that PyTorch does, and
    one that meets two looks closer, without a look at the arrays in the commonest case.
    """

    __slots__ = (
        "alone", "by_shape", "by_strides", "differentiable", "floats", "in_order", "ints", "kind", "narrow", "numpy",
        "quick", "shape",
    )  # fmt: skip

    def __init__(self, shape: tuple[int, ...], numpy: np.dtype[Any], by_shape: dict[tuple[int, ...], Sig]) -> None:
        self.shape = Size(shape)
        self.by_shape = by_shape
        """The known ones of this dtype; looked up here, that of a result takes 0.1 µs instead of 0.3."""
        self.numpy = numpy
        self.kind = kind_of(numpy)
        self.differentiable = self.kind in "fc"
        self.narrow = numpy in LOADED or (self.kind == "u" and numpy.itemsize > 1)
        """Whether calls look at the dtype: NumPy has no such one, so that another is computed with, or PyTorch has next
        to no kernels for it."""
        self.quick = self.differentiable and not self.narrow
        self.alone = (self,)
        """What a node with one output has as ``_sigs``: one object for all, so that "fits" is an identity test."""
        self.floats, self.ints = _numbers_of(numpy)
        self.in_order = True
        self.by_strides: dict[tuple[int, ...], Sig] = {}
        """Those of this shape and dtype by the strides of arrays that are not in rows: this one, if in order."""

    @property
    def plain(self) -> Sig:
        """That of arrays of the same shape and dtype whose dimensions lie in order; nodes know no other."""
        return self.alone[0]

    def lying(self, strides: tuple[int, ...]) -> Sig:
        """That of arrays with some strides."""
        found = self.by_strides.get(strides)
        if found is None:
            if len(self.by_strides) >= _MAX_STRIDES:
                self.by_strides.clear()
            found = self.by_strides[strides] = self if _descend(self.shape, strides) else self._turned()
        return found

    def _turned(self) -> Sig:
        """One for arrays whose dimensions lie in another order; what is computed from them, it knows nothing of."""
        made = Sig(self.shape, self.numpy, {})
        made.alone, made.in_order = self.alone, False
        return made

    @property
    def dtype(self) -> dtype:
        """The torch-shaped dtype."""
        return from_numpy_dtype(self.numpy)


def _descend(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether no dimension lies closer in memory than one behind it; single and repeated elements lie anywhere."""
    significant = [stride for size, stride in zip(shape, strides, strict=True) if size > 1 and stride]
    return significant == sorted(significant, reverse=True)


Numbers = dict[Any, Any]
_numbers: dict[np.dtype[Any], tuple[Numbers, Numbers]] = {}


def _numbers_of(numpy: np.dtype[Any]) -> tuple[Numbers | None, Numbers | None]:
    """The Python floats and integers met beside tensors of a dtype, as arrays; ``None`` unless formulas hold for it.

    They do not for complex numbers, nor for halves, which are rounded at the end of a formula, not at each step.
    """
    return _numbers.setdefault(numpy, ({}, {})) if numpy.kind == "f" and numpy.itemsize > 2 else (None, None)


_sigs: dict[np.dtype[Any], dict[tuple[int, ...], Sig]] = {}
_MAX_SIGS: Final = 100_000
_MAX_STRIDES: Final = 64


def sig_of(array: np.ndarray[Any, Any]) -> Sig:
    """The interned signature of an array."""
    try:
        found = _sigs[array.dtype][array.shape]
    except KeyError:
        found = intern_sig(array.shape, array.dtype)
    return found if array.flags.c_contiguous else found.lying(array.strides)


def intern_sig(shape: tuple[int, ...], numpy: np.dtype[Any]) -> Sig:
    """The signature for a shape and dtype; forgetting old ones only costs speed, never correctness."""
    known = _sigs.get(numpy)
    if known is None:
        from_numpy_dtype(numpy)
        known = _sigs.setdefault(numpy, {})
    found = known.get(shape)
    if found is None:
        if len(known) >= _MAX_SIGS:
            known.clear()
        found = known[shape] = Sig(shape, numpy, known)
    return found
