"""``AccumulateGrad``: adds a gradient to a leaf's ``.grad``."""

from __future__ import annotations

from functools import partial
from time import perf_counter_ns as now
from typing import Any

import numpy as np

from ...locks import reentrant_lock
from .. import late, observe
from ..aliasing.memory_formats import copied_with, laid_out
from ..aliasing.strided import contiguous_strides, element_strides, is_dense
from ..aliasing.versions import share_storage, storage_of
from ..aliasing.views import grad_fn_of
from ..calls.inplace import prepare_write
from ..core.base import LAZY, TensorBase, wrap
from ..core.bits import assign, bits_of
from ..core.layouts import contiguous_format
from ..core.registry import F
from ..nodes.edges import getrefcount, total
from ..nodes.hooks import call_hook
from ..nodes.node import LEAF_NUMBER, NODE_CLASSES, NOTHING, GraphNode
from ..overriding.asked_functions import detached
from ..overriding.dispatch_classes import is_dispatching
from ..switches import state
from ..switches.state import STATE
from .node_call import call_node

_lock = reentrant_lock()


class AccumulateGrad(GraphNode):
    """Adds the arriving gradient to its leaf's ``.grad``.

    The leaf holds its accumulator weakly and the accumulator the leaf strongly: it lives as long as some
    graph (or the user) refers to it.
    """

    __slots__ = ("variable",)
    qualified_name = "torch::autograd::AccumulateGrad"
    accumulates = True
    _edges = ()
    _number = LEAF_NUMBER

    variable: TensorBase

    __init__ = object.__init__  # ``views.accumulator`` makes them: 0.3 µs less for each leaf after large arrays

    def expect_dtype(self) -> None:
        """With a ``grad_dtype`` of its own, have every gradient fitted, even one of the leaf's dtype."""
        meta = self.variable._meta
        if meta is not None and meta.grad_dtype is not ...:
            self._sigs = (self.variable._sig,)  # equal, but not the object that needs no fitting

    def __lt__(self, other: Any) -> bool:
        return False  # accumulators are equal in a heap

    def _sweep(self, heap: Any, task: Any) -> None:
        task.leaves.append(self)  # filled at the end, when everything has arrived

    _sweep_observed = _sweep_tensors = _sweep

    @staticmethod
    def fill(leaves: list[Any], task: Any) -> None:
        """Accumulate gradients that wait at accumulators after a sweep into their leaves; there are no hooks.

        First gradients that fit and that nothing else refers to are stored as they are: the general checks would take
        six calls for each, 4 µs after large arrays.
        """
        delayed, filled = [], []
        watched = observe.observers
        new, tensor, array, began = TensorBase.__new__, late.tensor_class, np.ndarray, 0
        with _lock:
            for accumulator in leaves:
                variable, g = accumulator.variable, accumulator._pending
                sig = variable._sig
                if (
                    # a sweep has given it the shape and dtype of `_sigs`
                    accumulator._sigs is sig.alone and variable._fn is LAZY
                    and (meta := variable._meta).grad is None and meta.view is None
                    # nobody else holds it: but `g` and `_pending` here, and getrefcount's own argument
                    and g.__class__ is array and g.base is None and getrefcount(g) == 3
                    and g.strides == variable._array.strides
                ):  # fmt: skip
                    if watched:
                        began = now()
                    accumulator._pending = None
                    meta.grad = t = new(tensor)
                    t._array, t._sig = g, sig
                    t._fn = t._meta = None
                    if watched:
                        filled.append((accumulator, g, began, now()))
                else:
                    delayed.append(accumulator)
        if filled:
            observe.notify("filled", filled)
        if delayed:
            g = None  # so that only its accumulator holds the last array
            _fill_one_by_one(delayed, task)

    def __call__(self, *grads: Any, **kwargs: Any) -> Any:
        """Accumulate a gradient directly."""
        return call_node(self, grads, kwargs)

    def _run(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        """Take the gradient into the leaf, then run the leaf's post-accumulate hooks."""
        g = grads[0]
        variable = self.variable
        grads[0] = None  # so that nobody but `g` holds the array when it is taken over
        if g is not None:
            _check_still_leaf(variable)
            if variable._fn is LAZY:
                if observe.observers:
                    observe.notify("accumulating", variable)
                with _lock:
                    _store(variable, g, task)
                if observe.observers:
                    observe.notify("accumulated", variable, g)
        grads[0] = g
        meta = variable._meta
        if meta is not None and meta.post_accumulate_hooks:
            for handle, hook in list(meta.post_accumulate_hooks.items()):
                _check_returned_nothing(call_hook(handle, hook, variable), variable)
        return ()


def _fill_one_by_one(accumulators: list[Any], task: Any) -> None:
    """Run accumulators with what waits at them, in a way that leaves each array to whom it is given alone."""
    watched = observe.observers
    waiting = [accumulator._pending for accumulator in accumulators]
    for accumulator in accumulators:
        accumulator._pending = None  # also where one of them fails
    for i, accumulator in enumerate(accumulators):
        g, waiting[i] = waiting[i], None
        grads = [None if g is NOTHING else np.asarray(g)]
        del g  # so that only the list holds the array
        began = now() if watched else 0
        accumulator._run(grads, task)
        if watched:
            observe.notify("swept", accumulator, grads, (), began, now())


def expect_dtype(meta: Any) -> None:
    """Tell a leaf's accumulator, if there is one, that its ``grad_dtype`` was set."""
    node = meta.accumulator() if meta.accumulator is not None else None
    if node is not None:
        node.expect_dtype()


def _check_returned_nothing(result: Any, variable: TensorBase) -> None:
    if result is None or result is variable:  # the leaf itself is what ``p.add_(…)`` returns
        return
    if not isinstance(result, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _check_still_leaf(variable: TensorBase) -> None:
    if grad_fn_of(variable) is not None:
        raise RuntimeError(
            "leaf variable has been moved into the graph interior: it was changed in place after it had been used "
            "as a leaf. Use the out-of-place form, or change it before its first use."
        )


def _store(variable: TensorBase, g: Any, task: Any) -> None:
    """Add a gradient to ``.grad``, in place if there is one already."""
    meta = variable.need_meta()
    have = meta.grad
    holders = 4  # of an array that may be taken over: `_run` or its tensor, `g` here and in the two functions called
    if isinstance(g, TensorBase):
        asked = STATE.dispatch_modes or is_dispatching(g) or (have is not None and is_dispatching(have))
        if task.create_graph or state.FORWARD_LEVELS or asked:
            meta.grad = _stored_tensor(variable, g, task.create_graph)
            return
        # a plain tensor in a run on tensors: elsewhere one with a `__torch_dispatch__` lives, which must not show here
        if getrefcount(g) > 3 or g._meta is not None:  # more than `_run`, `g` here and getrefcount's own argument
            holders = 0
        g = g._array
    if have is None:
        meta.grad = _first_gradient(g, variable, holders, task)
    elif have._sig.shape != variable._sig.shape or have._sig.shape != g.shape:
        have.add_(wrap(g))  # an old gradient of another shape: the operator says what does not fit
    else:
        prepare_write(have)
        if bits_of(have):
            assign(have, have._array + g)
        else:
            np.add(have._array, g, out=have._array, casting="same_kind")
        storage_of(have).bump()


def _first_gradient(g: Any, variable: TensorBase, holders: int, task: Any) -> Any:
    """The first value of ``.grad``: the array itself if nothing else refers to it, otherwise a copy."""
    known = None if g.base is None or task.seen is None else task.seen.sharing(g)
    own = _own(g, variable, holders, known is not None)
    stored = wrap(own)
    if own is not g:
        if is_dense(variable._array):
            storage_of(stored).bump()  # PyTorch writes such a copy into new memory, which counts
    elif known is not None:
        share_storage(stored, known)
    return stored


def _stored_tensor(variable: Any, g: Any, create_graph: bool) -> Any:
    have = variable._meta.grad
    if have is None and g.is_sparse and not create_graph:
        return g.as_gradient(getrefcount(g) <= 6)
    if have is None and is_dispatching(g):
        return g.clone() if create_graph or g._array.strides != variable._array.strides else detached(g)
    if have is None:
        # taken over, as PyTorch says it, is only what nobody else holds, and that without a tangent; copies have theirs
        taken = not create_graph and getrefcount(g) <= 4 and _fits_in_place(g._array, variable._array)
        whole = g._array.base is None and getrefcount(g._array) == 2  # the tensor, and getrefcount's own argument
        made = detached(g) if taken else g
        return made if taken and whole else _laid_out(made, variable)
    if create_graph or (have.is_sparse and not g.is_sparse):
        return total(have, g)
    have.add_(g)
    return have


def _fits_in_place(g: Any, leaf: Any) -> bool:
    """Whether an array lies in memory as its leaf does; steps along dimensions of one element count for nothing."""
    return g.strides == leaf.strides or bool(g.flags.c_contiguous and leaf.flags.c_contiguous)


def _laid_out(g: Any, variable: TensorBase) -> Any:
    """A recorded copy with the leaf's layout, in rows where the leaf's elements have gaps or overlap."""
    leaf = variable._array
    if not is_dense(leaf):
        return F.clone(g, contiguous_format)
    shape, dtype = g._array.shape, g._array.dtype
    strides = element_strides(leaf) if shape == leaf.shape else contiguous_strides(shape)
    return wrap(laid_out(shape, strides, partial(np.empty, dtype=dtype))).copy_(g)


def _own(g: Any, variable: TensorBase, holders: int, shares: bool) -> Any:
    """The array itself if nothing else can see it and its layout is the leaf's, else a copy laid out like the leaf.

    ``holders`` are the variables that hold ``g``: its callers' and the one here; 0 if somebody else can see it.
    ``shares`` says that the program sees its memory in a tensor: as in PyTorch the leaf takes over a view of that.
    """
    leaf = variable._array
    base = g.base
    alone = getrefcount(g) <= holders + 1  # and getrefcount's own argument
    if base is not None and not shares:
        # a view of an array that it alone holds, such as a product that was transposed twice
        alone = alone and base.__class__ is np.ndarray and base.flags.owndata and getrefcount(base) == 3
        alone = alone and base.size == g.size
    if alone and g.flags.carray and leaf.flags.c_contiguous and g.shape == leaf.shape:
        return g
    as_rows = g.shape != leaf.shape or leaf.flags.c_contiguous or not is_dense(leaf)
    fits = not STATE.grad_layout or (g.flags.c_contiguous if as_rows else g.strides == leaf.strides)
    if alone and fits and g.flags.writeable:
        return g
    return np.array(g, order="C") if as_rows else copied_with(element_strides(leaf), g)


NODE_CLASSES["AccumulateGrad"] = AccumulateGrad
