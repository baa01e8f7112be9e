"""Tensors that are conjugated or negated on reading: ``x.conj()``, ``x.conj().imag``.

They share the memory of the tensor that they were made from, so writes to one show in the other.  PyTorch keeps a bit
that every kernel has to ask for; here such tensors have a class of their own, whose ``_array`` is computed from the
memory each time.  So plain tensors pay nothing, and calls with one of these take the general path, which reads
``_array`` like that of any tensor.  Only what must see the memory itself asks for it: operators that return views
(``calls.dispatch``), writes (``bits.assign``), addresses and strides.
"""

from __future__ import annotations

from .. import late
from ..core.base import Array, TensorBase
from ..core.bits import bits_of, class_of, memory_of, with_bits
from ..overriding.overrides import disabled_torch_function_impl
from .tensor import Tensor

_set_memory = TensorBase._array.__set__  # type: ignore[attr-defined]


class Unresolved(Tensor):
    """A view that is resolved when it is read; to users a ``Tensor``."""

    __slots__ = ()
    __torch_function__ = disabled_torch_function_impl

    @property
    def _array(self) -> Array:
        return with_bits(memory_of(self), bits_of(self))

    @_array.setter
    def _array(self, array: Array) -> None:
        # with memory of its own a tensor is a plain one
        self.need_meta().bits = 0
        _set_memory(self, array)
        self.__class__ = class_of(self)


late.unresolved_class = Unresolved
