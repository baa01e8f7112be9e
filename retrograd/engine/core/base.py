"""``TensorBase``: array plus autograd record, the part of a tensor on which the rest of the engine is built.

A tensor is four slots: ``_array``, ``_sig`` (its interned shape and dtype), ``_meta`` and ``_fn``, which is

* ``None``: nothing to differentiate;
* a node or port: where this tensor's gradient goes;
* ``LAZY``: ask ``views.gradient_edge`` (a leaf that requires grad, or a view, whose node may be stale).

Everything rarer is in ``_meta``, a record that is made on first use.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from .. import late
from ..aliasing.storage import Storage
from .absent import AbsentMemory, refusal
from .sig import Sig, sig_of

Array = np.ndarray[Any, np.dtype[Any]]
Hook = Callable[..., Any]
"""A function that a program registers on a tensor or a node."""


class _Lazy:
    """The marker for "find the gradient edge when asked"."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "LAZY"


LAZY: Final = _Lazy()


class CreationTag:
    """How a view was created; any tag but ``DEFAULT`` forbids recorded in-place writes to it."""

    DEFAULT: Final = 0
    IN_CUSTOM_FUNCTION: Final = 1
    MULTI_OUTPUT: Final = 2
    NO_GRAD: Final = 3
    INFERENCE: Final = 4


class View:
    """The record of a view: its root, the node valid at a version, how it was made and how to make it again."""

    __slots__ = ("args", "base", "before", "fn", "nr", "op", "tag", "version")
    base: TensorBase
    fn: Any
    version: int
    tag: int
    op: Any
    args: tuple[Any, ...]
    """The call that made it: positional arguments with a hole for the tensor.  Python's garbage collector does not look
    at a tuple of numbers, as it would at one that held the row, too."""
    nr: int
    """Index of the view among the outputs of that call."""
    before: tuple[Any, ...] | None
    """What the view was made of, if that is a view: ``(before, op, args, nr)`` of that one.  Chained, so that a view of
    a view costs the same at every depth."""

    @property
    def chain(self) -> tuple[Any, ...]:
        """The ``before`` of views of this view."""
        return (self.before, self.op, self.args, self.nr)

    @property
    def replay(self) -> tuple[Any, ...]:
        """Steps ``(op, positional arguments with a hole for the tensor, output number)`` from the root."""
        steps: list[tuple[Any, ...]] = []
        chain: tuple[Any, ...] | None = self.chain
        while chain is not None:
            chain, *step = chain
            steps.append(tuple(step))
        return tuple(reversed(steps))


class Meta:
    """The autograd record; class attributes are the defaults."""

    requires_grad: bool = False
    """Meaningful for leaves."""
    grad: TensorBase | None = None
    accumulator: weakref.ref[Any] | None = None
    hooks: OrderedDict[int, Hook] | None = None
    post_accumulate_hooks: OrderedDict[int, Hook] | None = None
    retains_grad: bool = False
    detached_at: int = -1
    """Stamp of the ``detach_()`` that removed this tensor's history; older nodes cannot restore it."""
    view: View | None = None
    storage: Storage | None = None
    name: str | None = None
    tangent: TensorBase | None = None
    tangent_level: Any = None
    inference: bool = False
    bits: int = 0
    """``CONJUGATE`` and ``NEGATIVE``: applied to the memory's values when they are read (see ``unresolved``)."""
    batches: Mapping[Any, int] = MappingProxyType({})
    """The batches of ``vmap`` of which this is an entry, each with how many bytes of its memory lie before the entry
    because others come first (see ``batches``)."""
    level: Any = None
    """For a leaf made by a transform of ``torch.func``: where that cuts histories (``CutPoint``)."""
    wrapped_number: bool = False
    is_parameter: bool = False
    grad_dtype: Any = ...
    """Expected dtype of the gradient; ``...`` for the tensor's own, ``None`` for any."""
    same_leaf: Any = None
    """Accumulator kept alive by a leaf that was rebuilt from a packed one."""


def _name_slots() -> None:
    """Set what is set most often on the first record of all: CPython keeps values of the names that a class's first 30
    objects have within the object, and any other in a dictionary of its own (0.12 µs more for each view, 0.2 kB)."""
    first = Meta()
    first.storage = first.view = first.accumulator = first.grad = None
    first.requires_grad = first.is_parameter = False


_name_slots()


class TensorBase:
    """Slots and the most basic reading; ``Tensor`` adds everything a user sees."""

    __module__ = "retrograd._C"

    __slots__ = ("__dict__", "__weakref__", "_array", "_fn", "_meta", "_sig")

    _array: Array
    _fn: Any
    _meta: Meta | None
    _sig: Sig

    if TYPE_CHECKING:  # operators are attached later

        def __getattr__(self, name: str) -> Any: ...

    def need_meta(self) -> Meta:
        """The autograd record, made on first use."""
        if self._meta is None:
            self._meta = Meta()
        return self._meta


T = TypeVar("T", bound=TensorBase)
_new = TensorBase.__new__
PLAIN_CLASSES: Final[set[type]] = set()
"""The classes of tensors that compute as plain ones do: ``Tensor`` and ``Parameter``."""


made: list[Callable[[TensorBase], None]] = []
"""Called with each tensor made with new memory, except by generated code."""


def wrap(array: Any, fn: Any = None, shares: bool = False) -> Any:
    """A new tensor around an array (a NumPy scalar becomes a 0-d array); ``shares``: that of another one."""
    if array.__class__ is not np.ndarray:
        if array.__class__ is AbsentMemory:
            raise refusal("a value")
        array = np.asarray(array)
    t = _new(late.tensor_class)
    t._array = array
    t._fn = fn
    t._meta = None
    t._sig = sig_of(array)
    if made and not shares:
        for hear in made:
            hear(t)
    return t


def with_array(cls: type[Any], array: Any) -> Any:
    """A new tensor of a class around an array of any kind."""
    t = _new(cls)
    t._array, t._sig = array, sig_of(array)
    t._fn = t._meta = None
    return t


def set_array(t: TensorBase, array: Array) -> None:
    """Give a tensor another array (``.data = …``, ``t_()``, ``resize_``)."""
    t._array = array
    t._sig = sig_of(array)


def are_plain(values: Iterable[Any]) -> bool:
    """Whether each of a list is a tensor of a plain class; of thousands it takes half as long as ``isinstance``."""
    return PLAIN_CLASSES.issuperset(map(type, values))


def is_inference(t: TensorBase) -> bool:
    """Whether a tensor was made in inference mode."""
    return t._meta is not None and t._meta.inference
