"""Selective checkpointing: the program chooses which operators' results are saved; the others are recomputed.

``SAC_IGNORED_OPS`` is empty: none of the operators in torch's list is a row here. In-place writes are always repeated.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..aliasing.versions import storage_of
from ..core.base import wrap
from ..custom_op.registry import OpOverload
from ..overriding.aten import RowOverload, RowPacket, overload_of
from ..overriding.dispatch_modes import Compute, Interceptor, beneath
from ..overriding.spelling import spelled

SAC_IGNORED_OPS: Final[frozenset[Any]] = frozenset()
_REPEAT: Final = object()
_USED: Final = object()
_WHY: Final = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with an operator's result."""

    __module__ = "retrograd.utils.checkpoint"

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT: Final = frozenset({CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE})


class SelectiveCheckpointContext:
    """The context that a policy gets besides the operator: its result (``op_output``)."""

    __module__ = "retrograd.utils.checkpoint"

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Entry:
    """A kept result: arrays, and the versions of the tensors that the program got."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.outputs: list[Any] = []
        self.versions: list[int] = []

    def watch(self, results: list[Any]) -> None:
        """From now on writes to the operator's results are noticed."""
        self.outputs = [storage_of(t) for t in results]
        self.versions = [storage.version for storage in self.outputs]

    def checked(self, allow_mutation: bool) -> Any:
        """The arrays; ``RuntimeError`` if the results were written since."""
        if not allow_mutation and [storage.version for storage in self.outputs] != self.versions:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.values


Kept = dict[Any, dict[int, Any]]


class _Keeping(Interceptor):
    """The first run: the policy is asked about every operator."""

    def __init__(self, policy: Callable[..., Any], kept: Kept) -> None:
        self.policy, self.kept = policy, kept
        self.counts: dict[Any, int] = defaultdict(int)
        self.newest: _Entry | None = None

    def _intercept(self, op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
        """In forward: compute, and keep the result where the policy says so."""
        values = beneath(op, args, compute)
        func = overload_of(op, args)
        index = self.counts[func]
        self.counts[func] += 1
        context = SelectiveCheckpointContext(is_recompute=False, op_output=_shown_result(op, values))
        given, named = spelled(op, args)
        choice = self.policy(context, func, *given, **named)
        if isinstance(choice, bool):
            choice = CheckpointPolicy.MUST_SAVE if choice else CheckpointPolicy.PREFER_RECOMPUTE
        self.newest = _Entry(values) if choice in _KEPT else None
        self.kept[func][index] = _REPEAT if self.newest is None else self.newest
        return values

    def _made(self, results: list[Any]) -> None:
        """The tensors that the operator returned."""
        if self.newest is not None:
            self.newest.watch(results)
            self.newest = None


class _Using(Interceptor):
    """The second run: kept results are taken instead of computed, each once."""

    def __init__(self, kept: Kept, allow_mutation: bool) -> None:
        self.kept, self.allow_mutation = kept, allow_mutation
        self.counts: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self.counts.clear()  # every second run begins with the first call
        return super().__enter__()

    def _intercept(self, op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
        """In recomputation: hand out the kept result of this invocation, or compute it again."""
        func = overload_of(op, args)
        index = self.counts[func]
        self.counts[func] += 1
        if func not in self.kept:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_WHY}")
        entry = self.kept[func].get(index)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {index} encountered during backward but not found in storage. {_WHY}"
            )
        if entry is _USED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if entry is _REPEAT:
            return beneath(op, args, compute)
        self.kept[func][index] = _USED
        return entry.checked(self.allow_mutation)


def _shown_result(op: Any, values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return wrap(values)
    outputs = values[: len(values) - len(op.aux)] if isinstance(values, tuple) else (values,)
    tensors = tuple(wrap(v) for v in outputs)
    return tensors[0] if op.outputs == 1 else tensors


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """For ``checkpoint(context_fn=functools.partial(create_selective_checkpoint_contexts, policy))``.

    ``policy(ctx, op, *args, **kwargs)`` returns a ``CheckpointPolicy`` (or whether to keep) for each call of an
    operator, where ``op`` is one of ``torch.ops.aten``; or a list of the operators to keep.  ``ValueError`` for a
    list with anything but overloads, ``TypeError`` for what is neither.  Backward raises ``RuntimeError`` the second
    time, when a kept result was written (unless ``allow_cache_entry_mutation``) and when other operators run.
    """
    if isinstance(policy_fn_or_list, list):
        chosen = policy_fn_or_list
        for op in chosen:
            _check_overload(op)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            return op in chosen

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: Kept = defaultdict(dict)
    return _Keeping(policy, kept), _Using(kept, allow_cache_entry_mutation)


def _check_overload(op: Any) -> None:
    if isinstance(op, (RowOverload, OpOverload)):
        return
    hint = (
        f"Please update the OpOverloadPacket to a specific OpOverload. For example, if you have `{op}`, change it to "
        f"`{op}.default`."
        if isinstance(op, RowPacket)
        else ""
    )
    raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}")
