"""Processes the values that a custom Function returns: views, tensors marked dirty, history."""

from __future__ import annotations

from typing import Any

from ..aliasing.versions import storage_of
from ..aliasing.views import forbidden_view_message, grad_fn_of, gradient_edge, requires_grad
from ..calls.history import rebase_history
from ..calls.inplace import bump_version
from ..core.base import LAZY, CreationTag, TensorBase
from ..core.registry import F
from ..nodes.node import edge_to
from ..nodes.saved import SavedTensor
from ..switches.modes import unrecorded
from ..switches.state import STATE
from ..warning import warn
from .node import BackwardCFunction


class Outputs:
    """The outputs of one call, before they are returned."""

    def __init__(
        self, node: BackwardCFunction, inputs: tuple[Any, ...], raw: tuple[Any, ...], executable: bool
    ) -> None:
        self.node = node
        self.raw = raw
        self.executable = executable
        self.inputs = {id(x) for x in inputs if isinstance(x, TensorBase)}
        self.dirty = {id(x): x for x in _tensors(node.dirty_tensors, "mark_dirty can only accept variables")}
        marked = _tensors(node.non_differentiable, "mark_non_differentiable only accepts variable arguments")
        self.constant = {id(x) for x in marked}
        self.must_not_return: set[int] = set()
        """Tensors saved by ``setup_context``: inputs that are returned unchanged would be saved before they are
        replaced."""

    def is_differentiable(self, t: Any) -> bool:
        """Whether an output takes a gradient."""
        return self.executable and t._sig.differentiable and id(t) not in self.constant

    def wrapped(self) -> list[Any]:
        """Attach history to each output, in order; return the caller's results."""
        tensors = [isinstance(x, TensorBase) for x in self.raw]
        self.node._output_info = tuple([x._sig if is_t else None for x, is_t in zip(self.raw, tensors, strict=True)])
        self.node._sigs = tuple(
            [x._sig if is_t and self.is_differentiable(x) else None for x, is_t in zip(self.raw, tensors, strict=True)]
        )
        results = [self._one(i, x) if is_t else x for i, (x, is_t) in enumerate(zip(self.raw, tensors, strict=True))]
        self._check_all_dirty_returned()
        if sum(s is not None for s in self.node._sigs) > 1:
            self._tag_views(results, CreationTag.MULTI_OUTPUT)
        elif not self.node._pure_view:
            self._tag_views(results, CreationTag.IN_CUSTOM_FUNCTION)
        return results

    def raise_versions(self) -> None:
        """Count the writes that were declared, before anything is checked."""
        for t in self.node.dirty_tensors or ():  # one given twice is raised twice
            if id(t) not in self.inputs and not self._is_part_of_input(t):
                text = (
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
                    "mutated should be passed to ctx.mark_dirty()."
                )
                if t._is_view():  # whose base has no history that could go on
                    raise RuntimeError(text)
                warn(text)
            bump_version(t)

    def _is_part_of_input(self, t: Any) -> bool:
        return t._is_view() and requires_grad(t._base)

    def _check_all_dirty_returned(self) -> None:
        returned = {id(x) for x in self.raw}
        if any(key not in returned for key in self.dirty):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                "that are modified inplace must all be outputs of the Function."
            )

    def _one(self, i: int, t: Any) -> Any:
        """Output ``i`` as the caller gets it: constant, a view of the input it is, rebased, or attached to the node."""
        is_input, is_dirty = id(t) in self.inputs, id(t) in self.dirty
        if not self.is_differentiable(t):
            return self._constant_output(t, is_input, is_dirty)
        edge = edge_to(self.node, i)
        if is_input and not is_dirty:
            view = self._view_of_input(t)
            self._attach(view, edge)
            return view
        if is_dirty:
            self._rebase(t, edge)
            return t
        self._attach(t, edge)
        return t

    def _view_of_input(self, t: Any) -> Any:
        if id(t) in self.must_not_return:
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not supported if "
                "you override setup_context. You should return and save a view of the input instead, e.g. with "
                "x.view_as(x) or setup ctx inside the forward function itself."
            )
        return _view_of_self(t)

    def _constant_output(self, t: Any, is_input: bool, is_dirty: bool) -> Any:
        if not requires_grad(t):
            return self._view_of_input(t) if is_input and not is_dirty else t
        if is_input:
            return t.detach()
        if not t._is_view():
            t.detach_()
        return t

    def _attach(self, t: Any, edge: Any) -> None:
        """Overwrite a tensor's place in the graph."""
        meta = t._meta
        if meta is not None and meta.view is not None:
            meta.view.fn = edge
            meta.view.version = storage_of(t).version
            if self.node._pure_view:
                meta.view.tag = CreationTag.DEFAULT
            t._fn = LAZY
            return
        t._fn = edge
        if meta is not None:
            meta.requires_grad = False

    def _rebase(self, t: Any, edge: Any) -> None:
        """Make this node the history of a tensor written by forward; raises where PyTorch forbids the write."""
        meta = t._meta
        if t._fn is LAZY and meta is not None and meta.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        view = meta.view if meta is not None else None
        if view is not None:
            if view.fn is None and requires_grad(t):
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
            if len(self.raw) > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
                    "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
                    "should either make sure the input is not a view (using .clone() for example) or make your "
                    "Function only return one Tensor."
                )
            if view.tag != CreationTag.DEFAULT:
                raise RuntimeError(forbidden_view_message(view, "is being"))
            if requires_grad(t) and grad_fn_of(view.base) is None:
                raise RuntimeError(
                    "a view of a leaf Variable that requires grad is being used in an in-place operation."
                )
        rebase_history(t, edge)
        if meta is not None:
            meta.grad = None

    def _tag_views(self, results: list[Any], tag: int) -> None:
        """Set the reason for rejecting writes to an output that is a view."""
        for t in results:
            if (
                isinstance(t, TensorBase)
                and t._meta is not None
                and t._meta.view is not None
                and id(t) not in self.dirty
            ):
                t._meta.view.tag = tag

    def save(self, results: list[Any]) -> None:
        """Make the saved records, after the outputs have their history."""
        node = self.node
        try:
            if node.to_save is not None and self.executable:
                places = {id(raw): i for i, raw in enumerate(self.raw)}
                node._saved = [self._record(i, t, places, results) for i, t in enumerate(node.to_save)]
        finally:  # whatever a hook raised: nothing may refer from a node to its results
            node.to_save = node.dirty_tensors = node.non_differentiable = None

    def _record(self, i: int, t: Any, places: dict[int, int], results: list[Any]) -> SavedTensor:
        if t is None:
            return SavedTensor(None)
        if not isinstance(t, TensorBase):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}"
            )
        at = places.get(id(t))
        own = at is not None and self.node._sigs[at] is not None and (id(t) not in self.inputs or id(t) in self.dirty)
        if own and at is not None:
            return SavedTensor(results[at], is_output=True, nr=at)
        return SavedTensor(t, edge=_edge_to_remember(t))


def _tensors(marked: Any, message: str) -> list[Any]:
    for x in marked or ():
        if not isinstance(x, TensorBase):
            raise RuntimeError(f"{message}, but got {type(x).__name__}")
    return list(marked or ())


def _edge_to_remember(t: Any) -> Any:
    try:
        return gradient_edge(t)
    except RuntimeError:
        if STATE.saved_hooks:
            raise
        return None  # a view whose history is lost: using it is an error, keeping it is not


def _view_of_self(t: Any) -> Any:
    """A view of all of ``t``, made with grad mode off."""
    with unrecorded():
        return F._view(t, tuple(t.shape))
