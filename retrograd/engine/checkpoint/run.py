"""Checkpointed blocks: run, and run again in backward."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from .. import observe
from ..core.base import wrap
from ..execution.backward import backward as run_backward
from ..function.function import Function
from ..switches.modes import enable_grad, no_grad
from ..switches.state import STATE
from ..tensors.tensor import Tensor
from ..warning import warn
from .debug import debug_contexts
from .frame import DETERMINISM_CHECKS, Frame, remembered, replayed

# Recomputation by a nested backward pass: the older form of checkpointing (`use_reentrant=True`).


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Leaves with the same values and ``requires_grad``; anything but tensors unchanged."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    detached: list[Any] = []
    for value in inputs:
        if isinstance(value, Tensor):
            leaf = value.detach()
            leaf.requires_grad = value.requires_grad
            detached.append(leaf)
        else:
            detached.append(value)
    return tuple(detached)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if nothing among the inputs requires grad."""
    if not any(value.requires_grad for value in inputs if isinstance(value, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def is_checkpoint_valid() -> bool:
    """Whether the running backward may start one that accumulates: it must not be restricted to some inputs."""
    return all(task.reached is None for task in STATE.tasks)


class CheckpointFunction(Function):
    """Runs a function without recording; backward passes it again with recording and backward through that."""

    __module__ = "retrograd.utils.checkpoint"

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """The results of ``run_function(*args)``."""
        check_backward_validity(args)
        ctx.function = run_function
        ctx.rng_state = remembered(preserve_rng_state)
        ctx.tensor_places = [i for i, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.other_inputs = [None if isinstance(value, Tensor) else value for value in args]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_places))
        if observe.observers:
            observe.notify("checkpoint", "reentrant", ctx)
        try:
            with no_grad():
                return run_function(*args)
        finally:
            if observe.observers:
                observe.notify("checkpoint", "ended", ctx)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Gradients of the arguments, by running the function again."""
        if not is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.other_inputs)
        for place, tensor in zip(ctx.tensor_places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        detached = detach_variable(tuple(inputs))
        with replayed(ctx.rng_state), enable_grad():
            outputs = ctx.function(*detached)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(value.grad if isinstance(value, Tensor) else None for value in detached))


# `checkpoint`: trade computation for memory by running a function again in backward instead of saving tensors.

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class _Switches:
    """What the two context managers below override, in every thread."""

    early_stop: bool | None = None
    debug: bool | None = None


def noop_context_fn() -> Contexts:
    """The default ``context_fn``: two contexts that do nothing."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside the block, overrule ``early_stop`` of checkpoints whose forward runs there."""
    before = _Switches.early_stop
    _Switches.early_stop = enable
    try:
        yield
    finally:
        _Switches.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside the block, overrule ``debug`` of checkpoints (``None``: leave it to each call)."""
    before = _Switches.debug
    _Switches.debug = enabled
    try:
        yield
    finally:
        _Switches.debug = before


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run ``function(*args, **kwargs)`` without keeping what it saves; backward passes it again.

    ``use_reentrant=False`` is the form to use; ``True`` starts a nested backward and allows neither keyword
    arguments nor ``grad``.  ``preserve_rng_state`` (default true) lets the second run draw the same random numbers.
    ``context_fn`` gives the surroundings of both runs.  With ``early_stop`` the second run ends once everything
    needed is there.  ``CheckpointError`` if it does not save the same tensors (``determinism_check="none"`` compares
    only their number); ``debug`` adds the operators of both runs to that error.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        _refuse_for_reentrant(kwargs, context_fn, debug)
        return CheckpointFunction.apply(function, preserve, *args)
    debug = debug if _Switches.debug is None else _Switches.debug
    early_stop = early_stop if _Switches.early_stop is None else _Switches.early_stop
    region = _Region(function, preserve, determinism_check, early_stop=early_stop)
    return region.run(args, kwargs, context_fn, debug)


def _refuse_for_reentrant(kwargs: dict[str, Any], context_fn: Callable[[], Contexts], debug: bool) -> None:
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")


class _Region:
    """One call of ``checkpoint`` in the non-reentrant form: both runs of the function and their surroundings."""

    def __init__(
        self, function: Callable[..., Any], preserve_rng_state: bool, determinism_check: str, *, early_stop: bool
    ) -> None:
        if determinism_check not in DETERMINISM_CHECKS:
            raise ValueError(
                f"determinism_check should be one of {list(DETERMINISM_CHECKS)}, but got {determinism_check}"
            )
        self.function = function
        self.keeps_random_state = preserve_rng_state
        self.rng_state = remembered(preserve_rng_state)
        self.metadata = DETERMINISM_CHECKS[determinism_check]
        self.early_stop = early_stop
        self.recompute_context: AbstractContextManager[Any] = nullcontext()

    def run(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], context_fn: Callable[[], Contexts], debug: bool
    ) -> Any:
        """The original run."""
        explain = None
        if debug:
            if context_fn is not noop_context_fn:
                raise ValueError("debug=True is incompatible with non-default context_fn")
            context_fn, explain = debug_contexts()
        forward_context, self.recompute_context = context_fn()
        frame = Frame(self.again, early_stop=self.early_stop, metadata=self.metadata)
        frame.explain = explain
        switch = wrap(np.zeros(0, np.float32))._requiring_grad(True)
        if not frame.save_inputs(switch, (kwargs, *args), lambda value: isinstance(value, Tensor)):
            return self.function(*args, **kwargs)
        if observe.observers:
            observe.notify("checkpoint", "forward", frame)
        try:
            with frame.hooks(), forward_context:
                result = self.function(*args, **kwargs)
        finally:
            if observe.observers:
                observe.notify("checkpoint", "ended", frame)
        frame.forward_completed = True
        return result

    def again(self, kwargs: dict[str, Any], *args: Any) -> None:
        """The second run."""
        with replayed(self.rng_state), self.recompute_context:
            self.function(*args, **kwargs)


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,  # noqa: A002 - torch's name
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Apply ``functions`` in order in ``segments`` checkpointed parts; the last part is not checkpointed.

    ``functions`` is a list or a module with children (``nn.Sequential``).
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "In version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is "
            "recommended, but if you need to preserve the current behavior, you can pass use_reentrant=True."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = _children(functions)
    size = len(parts) // segments
    if size == 0:
        raise ValueError(
            f"checkpoint_sequential: {len(parts)} functions cannot be divided into {segments} segments; "
            "give at most as many segments as functions."
        )
    last = size * (segments - 1)
    value = input
    for start in range(0, last, size):
        part = _Chain(parts[start : start + size])
        value = checkpoint(part, value, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _Chain(parts[last:])(value)


def _children(functions: Any) -> list[Callable[[Any], Any]]:
    children = getattr(functions, "children", None)
    if children is None:
        return list(functions.values()) if isinstance(functions, OrderedDict) else list(functions)
    return list(children())


class _Chain:
    """Functions applied one after the other."""

    def __init__(self, parts: list[Callable[[Any], Any]]) -> None:
        self.parts = parts

    def __call__(self, value: Any) -> Any:
        for part in self.parts:
            value = part(value)
        return value
