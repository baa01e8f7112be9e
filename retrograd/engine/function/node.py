"""The node of a custom ``Function``, which is also the ``ctx`` its forward and backward receive."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import observe
from ..core.base import TensorBase, wrap
from ..core.sig import Sig
from ..execution.introspection import current_task
from ..execution.seen_tensors import SeenTensors
from ..nodes.node import GraphNode
from ..nodes.opnode import RunContext
from ..nodes.saved import SECOND_TIME, SavedTensor
from ..overriding.dispatch_classes import dispatches
from ..switches import watchers
from ..warning import warn


class FunctionCtx:
    """The methods by which a custom Function declares facts about itself during forward."""

    __module__ = "retrograd.autograd.function"

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or ``None``) for backward; read them as ``ctx.saved_tensors``.  The last call counts."""
        self.to_save: Any = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors (or ``None``) for ``jvp``."""
        for t in tensors:
            assert t is None or isinstance(t, TensorBase), (
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                "on ctx."
            )
        self.saved_for_forward: Any = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare inputs that forward modified in place; they must be returned."""
        self.dirty_tensors: Any = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare outputs that take no gradient."""
        self.non_differentiable: Any = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Nothing: kept for old code."""
        warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach backward as zeros (default) or as ``None``."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got "
                f"({type(value).__name__}), but expected a bool"
            )
        self._materialize = value

    _materialize: bool = True


class BackwardCFunction(GraphNode, FunctionCtx):
    """Base of the node classes that ``Function`` subclasses get."""

    __module__ = "retrograd.autograd.function"

    _forward_cls: Any
    _autograd_function_id: int
    takes_attributes = True
    to_save: Any = None
    dirty_tensors: Any = None
    non_differentiable: Any = None
    saved_for_forward: Any = None
    needs_input_grad: Any = ()
    _materialize_non_diff_grads = True
    _pure_view = False
    _in_jvp = False

    def __init__(self) -> None:
        super().__init__((), ())
        watchers.appear()
        self._is_tensor_input: tuple[bool, ...] = ()
        self._output_info: tuple[Sig | None, ...] = ()
        self._saved: list[SavedTensor] | None = []
        self._read_once = False

    def __del__(self) -> None:
        watchers.vanish()

    # -- reading and writing of settings
    @property
    def materialize_grads(self) -> bool:
        """Whether missing gradients reach ``backward`` as zeros; can only be written."""
        raise AttributeError("attribute 'materialize_grads' of the ctx can only be written")

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        self.set_materialize_grads(value)

    @property
    def _is_pure_view(self) -> bool:
        raise AttributeError("attribute '_is_pure_view' of the ctx can only be written")

    @_is_pure_view.setter
    def _is_pure_view(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                f"_is_pure_view received an invalid combination of arguments - got ({type(value).__name__}), but "
                "expected a bool"
            )
        self._pure_view = value

    # -- saved values
    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors, unpacked anew at each access; ``RuntimeError`` once they were freed."""
        if self._in_jvp:
            return tuple(self.saved_for_forward or ())
        if self._saved is None:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
                if self._read_once
                else SECOND_TIME
            )
        values = tuple([s.value(self) for s in self._saved])
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved, self._read_once = None, True
        return values

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """Old name of ``saved_tensors``."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._saved is None:
            raise RuntimeError(SECOND_TIME)
        return tuple(self._saved)

    def maybe_clear_saved_tensors(self) -> None:
        """Release the saved tensors now unless the running task retains the graph."""
        task = current_task()
        if task is not None and not task.keep_graph:
            self._release()

    def _release(self) -> None:
        if self._saved is not None:
            for s in self._saved:
                s.release()
        self._saved = None

    def _register_hook_dict(self, tensor: Any) -> None:
        if not isinstance(tensor, TensorBase):
            raise RuntimeError(f"_register_hook_dict(): expected a Tensor, got {type(tensor).__name__}")
        super()._register_hook_dict(tensor)

    def __repr__(self) -> str:
        return object.__repr__(self)

    # -- running
    def apply(self, *grads: Any) -> Any:
        """Call the user's backward with gradients as they are."""
        given = ([*grads],) if self._forward_cls.boxed_grads_call else grads
        return user_backward(self._forward_cls)(self, *given)

    def _run(self, grads: list[Any], task: RunContext) -> tuple[Any, ...]:
        seen = SeenTensors() if task.seen is None else task.seen
        shown = [seen.tensor_of(g) for g in grads]
        given = BackwardCFunction.apply(self, *self._materialized(shown))
        if observe.observers:
            observe.notify("function_backward", self, shown, given)
        results = self._checked(given)
        if watchers.DISPATCHING and any(map(dispatches, results)):
            task.use_tensors()
        if task.tensors:
            return tuple(results)
        for r in results:
            if r is not None:
                seen.add(r)
        return tuple([None if r is None else r._array for r in results])

    def _materialized(self, grads: list[Any]) -> list[Any]:
        if not self._materialize:
            return grads
        filled = []
        for g, info, sig in zip(grads, self._output_info, self._sigs, strict=True):
            if g is None and info is not None and (sig is not None or self._materialize_non_diff_grads):
                g = wrap(np.zeros(info.shape, info.numpy))
            filled.append(g)
        return filled

    def _checked(self, result: Any) -> list[Any]:
        """Validate number and kind of the gradients; those of tensor arguments, in edge order."""
        results = list(result) if isinstance(result, tuple) else [result]
        expected = len(self._is_tensor_input)
        while len(results) > expected and results[-1] is None:
            results.pop()
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)})"
            )
        kept = []
        for i, (r, is_tensor) in enumerate(zip(results, self._is_tensor_input, strict=True)):
            if not is_tensor:
                if r is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                continue
            if r is not None and not isinstance(r, TensorBase):
                raise RuntimeError(f"expected Variable or None (got {type(r).__name__})")
            kept.append(r)
        return kept


def user_backward(cls: Any) -> Any:
    """The ``backward`` (or ``vjp``) that a Function class overrides; errors are raised when it is reached."""
    from_backward = cls.backward is not cls._default_backward
    from_vjp = cls.vjp is not cls._default_vjp
    if from_backward and from_vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
            "implement one of them."
        )
    return cls.vjp if from_vjp else cls.backward
