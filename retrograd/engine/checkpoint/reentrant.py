"""Recomputation by a nested backward pass: the older form of checkpointing (``use_reentrant=True``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import observe
from ..execution.backward import backward as run_backward
from ..function.function import Function
from ..switches.modes import enable_grad, no_grad
from ..switches.state import STATE
from ..tensors.tensor import Tensor
from ..warning import warn
from .random_state import remembered, replayed


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
