"""Levels of ``torch.func``: separates the inputs of a derivative from other uses of the same tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..aliasing.views import gradient_edge
from ..core.base import is_inference
from ..core.registry import F
from ..execution.backward import grad as gradients_of
from ..forward_mode.forward_ad import keep_tangent, make_dual, tangent_of
from ..graph.hooks import disable_saved_tensors_hooks
from ..nodes.node import edge_parts
from ..pytree.trees import tree_flatten, tree_map, tree_unflatten
from ..switches.modes import enable_grad, inference_mode, is_grad_enabled
from ..switches.state import STATE
from ..tensors.tensor import Tensor
from .captures import captures_refused
from .cuts import CutPoint, Through, hold_back
from .function_rules import transforming


@contextmanager
def recording(kind: str, cut: CutPoint) -> Iterator[None]:
    """Beneath a transform of this kind operations are recorded, whatever mode its caller is in."""
    with _recorded(kind, None if STATE.through is None else STATE.through.beneath(cut)):
        yield


@contextmanager
def recording_directions(kind: str) -> Iterator[None]:
    """The same where derivatives are taken along directions: the function finds the grad mode of the caller."""
    enabled = is_grad_enabled()
    through = Through(enabled) if STATE.through is None else STATE.through.beneath(None, enabled)
    through.listen()
    with _recorded(kind, through):
        yield


@contextmanager
def _recorded(kind: str, through: Through | None) -> Iterator[None]:
    outside, STATE.through = STATE.through, None
    try:
        with inference_mode(False), enable_grad(), transforming(kind):
            STATE.through = through
            try:
                yield
            finally:
                STATE.through = None
    finally:
        STATE.through = outside
        if through is not None:
            through.end()


@contextmanager
def without_saved_hooks() -> Iterator[None]:
    """Saved-tensor hooks are refused: what a transform saves is its own.  ``RuntimeError`` if some are active."""
    with disable_saved_tensors_hooks(
        "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks: differentiate with "
        "torch.autograd.grad where hooks are needed."
    ):
        yield


def new_leaf(t: Any) -> Any:
    """``t`` as a leaf that requires grad, also where programs may not ask for one."""
    t._set_requires_grad(True)
    return t


def ordinary(t: Any) -> Any:
    """``t``, or a copy that may be saved for backward if it was made in inference mode."""
    return t.clone() if is_inference(t) else t


class Level:
    """Tensors that a derivative is taken with respect to.

    An argument that requires grad goes in as an alias, so that the result can be differentiated further; any other
    one as a leaf of its own.  Tangents go in as well, and come out with the results.  ``pushes`` says that PyTorch
    would go along directions, where arguments are not leaves: the function may write them.
    """

    def __init__(self, values: Any, *, pushes: bool = False) -> None:
        leaves, self.spec = tree_flatten(values)
        self.cut = CutPoint()
        self._pushes = pushes
        self.called()
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        self._own: list[Any] = []
        with inference_mode(False), enable_grad():
            self.inputs = [_alias(t) if t.requires_grad else self._entered(t) for t in leaves]
            writable = pushes or STATE.through is not None
            self._given = [_alias(t) for t in self.inputs] if writable else self.inputs

    def _entered(self, t: Any) -> Any:
        leaf = new_leaf(ordinary(t).detach())
        leaf.need_meta().level = self.cut
        self._own.append(leaf)
        tangent = tangent_of(t)
        if tangent is not None:
            keep_tangent(leaf, tangent)
        return leaf

    def values(self) -> Any:
        """What the function is called with."""
        return tree_unflatten(self._given, self.spec)

    @contextmanager
    def guarded(self, others: Any = ()) -> Iterator[Any]:
        """Captured tensors are not written in the block; gives the other arguments, which may be."""
        inside = tree_map(_belonging, others)
        arguments = [t for t in tree_flatten(inside)[0] if isinstance(t, Tensor)]
        arguments += self.inputs
        with captures_refused(arguments, () if self._pushes else self._given, self.cut, self.inputs):
            self.cut.is_open = True
            try:
                yield inside
            finally:
                self.cut.is_open = False

    def called(self) -> None:
        """Results have a history if something is recorded now: they are called for later than the level began."""
        self._recorded_outside = STATE.grad_enabled
        self._held_back = STATE.through is not None and not STATE.through.enabled

    def gradients(self, outputs: list[Any], cotangents: list[Any]) -> Any:
        """Vector-Jacobian product, zeros where nothing depends on an input."""
        chosen = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
        if not chosen:
            return tree_unflatten([t.new_zeros(t.shape) for t in self.inputs], self.spec)
        found = self.pulled([o for o, _ in chosen], [ordinary(c) for _, c in chosen])
        made = [t.new_zeros(t.shape) if g is None else self.left(g) for g, t in zip(found, self.inputs, strict=True)]
        return tree_unflatten(made, self.spec)

    def pulled(self, outputs: list[Any], cotangents: list[Any]) -> Any:
        """The gradients of this level alone, ``None`` where nothing depends on an input."""
        with self.cut.pulling():
            return gradients_of(outputs, self.inputs, cotangents, create_graph=True, allow_unused=True)

    def left(self, t: Any, others: Sequence[Any] = ()) -> Any:
        """A result as seen from outside: without history if only this level's own leaves and ``others`` are in it.

        Nor has it one where nothing was recorded outside.
        """
        own = frozenset(id(leaf) for leaf in (*self._own, *others))
        if not t.requires_grad:
            return t
        if self._recorded_outside and self._reaches_more_than(own, t):
            return _held_back(t) if self._held_back and not self._pushes else t
        tangent = tangent_of(t)
        made = t.detach()
        return made if tangent is None else make_dual(made, self.left(tangent, others))

    def _reaches_more_than(self, own: frozenset[int], t: Any) -> bool:
        return id(t) not in own if t.grad_fn is None else self.cut.reaches_beyond(gradient_edge(t), own)

    def left_tree(self, tree: Any) -> Any:
        """All tensors of a result as seen from outside; ``RuntimeError`` for anything else."""

        def one(t: Any) -> Any:
            if not isinstance(t, Tensor):
                raise RuntimeError(f"Expected tensors, got unsupported type {type(t)}")
            return self.left(t)

        return tree_map(one, tree)


def _alias(t: Any) -> Any:
    """``t`` with one more node, in the same memory, but no view: writes within a level leave its history alone."""
    alias = F.alias(t)
    edge = gradient_edge(alias)
    alias._meta.view, alias._fn = None, edge
    return alias


def _held_back(t: Any) -> Any:
    """``t`` where the program has recording off, but tangents pass."""
    alias = F.alias(t)
    hold_back(edge_parts(gradient_edge(alias))[0])
    return alias


def _belonging(t: Any) -> Any:
    """An argument that nothing is differentiated by: a tensor of the level's own in the same memory."""
    if not isinstance(t, Tensor) or t.requires_grad:
        return t
    alias, tangent = ordinary(t).detach(), tangent_of(t)
    if tangent is not None:
        keep_tangent(alias, tangent)
    return alias
