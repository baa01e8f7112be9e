"""``vmap``'s tensor class: refuses operations that depend on the values of a single batch entry.

``vmap`` calls its function for each entry, so all values are there; a program that takes decisions by them, or takes
them out of the engine, is refused all the same, as by PyTorch, where one call computes all entries.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .. import late
from ..core.batches import is_batched, refuse_choice, refuse_number
from ..overriding.overrides import disabled_torch_function_impl
from ..switches.transforming import made_in_derivative
from . import detaching
from .tensor import Tensor


class Batched(Tensor):
    """An entry of a batch; to users a ``Tensor``."""

    __slots__ = ()
    __torch_function__ = disabled_torch_function_impl

    @property
    def data(self) -> Tensor:
        """The memory without history; until the batch is done ``RuntimeError``, but in a derivative for each entry."""
        if is_batched(self) and not made_in_derivative(self):
            raise RuntimeError("accessing `data` under vmap transform is not allowed. Use detach() instead")
        return detaching.data(self)  # type: ignore[no-any-return]

    @data.setter
    def data(self, value: Any) -> None:
        Tensor.data.fset(self, value)  # type: ignore[attr-defined]


def _refusing(name: str, refuse: Any) -> Any:
    """The method of this name, refused until the batch is done."""
    usual = getattr(Tensor, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_batched(self):
            refuse()
        return usual(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, usual.__doc__
    return method


def _refuse_memory() -> NoReturn:
    raise RuntimeError(
        "Cannot access data pointer of Tensor that doesn't have storage: it stands for all entries that vmap goes "
        "through. Take values out of the result."
    )


def _refuse_storage() -> NoReturn:
    raise NotImplementedError(
        "Cannot access storage of BatchedTensorImpl: it stands for all entries that vmap goes through."
    )


def complete() -> None:
    """Add the refusals, once ``Tensor`` has its methods."""
    refused = {
        refuse_number: ("item", "__float__", "__int__", "__index__", "__complex__", "__contains__"),
        refuse_choice: ("__bool__", "is_nonzero"),
        _refuse_memory: ("tolist", "numpy", "__array__", "data_ptr"),
        _refuse_storage: ("untyped_storage", "storage", "__deepcopy__", "__reduce_ex__"),
    }
    for refuse, names in refused.items():
        for name in names:
            setattr(Batched, name, _refusing(name, refuse))


late.batched_class = Batched
