"""Backward hooks of a module: an identity around its inputs and one around its outputs, whose nodes run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.function.function import Function
from ..engine.switches.modes import is_grad_enabled
from ..engine.tensors.tensor import Tensor
from ..engine.warning import warn

_Gradients = tuple[Any, ...]


class BackwardHookFunction(Function):
    """The identity, whose node carries the hooks."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """All arguments as they are; those without gradient stay without."""
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """All gradients as they are."""
        return grads


class BackwardHooks:
    """The backward hooks of one call of a module, as they were when it was called."""

    def __init__(self, module: Any, pre_hooks: list[Any], hooks: list[Any]) -> None:
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.input_places: list[int] | None = None
        self.output_places: list[int] = []
        self.inputs = self.outputs = 0
        self.grad_outputs: _Gradients | None = None

    # -- in forward
    def around_inputs(self, args: _Gradients) -> _Gradients:
        """The arguments, tensors behind the identity whose node runs the hooks once their gradients are known."""
        self.inputs = len(args)
        node, args, places = _through(args)
        if node is not None:
            self.input_places = places
            node.register_hook(self._inputs_done)
        return args

    def around_outputs(self, output: Any) -> Any:
        """The outputs likewise; the node takes the gradients that the module's backward starts with."""
        if not isinstance(output, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(output)}"
            )
            return output
        outputs = output if isinstance(output, tuple) else (output,)
        self.outputs = len(outputs)
        node, made, self.output_places = _through(outputs)
        if node is not None:
            node.register_prehook(self._outputs_known)
        return made if isinstance(output, tuple) else made[0]

    # -- in backward
    def _outputs_known(self, grads: _Gradients) -> Any:
        """Run the pre-hooks on the gradients of the outputs; where no input takes a gradient, the hooks as well."""
        self.grad_outputs = _spread(grads, self.output_places, self.outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, self.grad_outputs)
            if changed is not None:
                self.grad_outputs = _checked(changed, self.outputs, "Backward pre hook", "grad_output")
        given = self.grad_outputs
        if self.input_places is None:  # no input takes a gradient: nothing will come back to wait for
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients."
            )
            self._run(_spread((), [], self.inputs), may_replace=False)
        return tuple([given[i] for i in self.output_places])

    def _inputs_done(self, grad_inputs: _Gradients, _: Any) -> Any:
        if self.grad_outputs is None:
            return None
        assert self.input_places is not None
        found = self._run(_spread(grad_inputs, self.input_places, self.inputs), may_replace=True)
        return tuple([found[i] for i in self.input_places])

    def _run(self, grad_inputs: _Gradients, may_replace: bool) -> _Gradients:
        """Run the hooks on the gradients of inputs and outputs; what one returns replaces the former."""
        for hook in self.hooks:
            changed = hook(self.module, grad_inputs, self.grad_outputs)
            if changed is None:
                continue
            if not may_replace:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
            grad_inputs = _checked(changed, self.inputs, "Backward hook", "grad_input")
        self.grad_outputs = None
        return grad_inputs


def _through(values: Sequence[Any]) -> tuple[Any, _Gradients, list[int]]:
    """The node of an identity around the tensors among ``values``, the new values, and where the tensors stand."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return None, tuple(values), places
    made = BackwardHookFunction.apply(*[values[i] for i in places])
    node = next(t.grad_fn for t in made if t.requires_grad)
    replaced = list(values)
    for i, t in zip(places, made, strict=True):
        replaced[i] = t
    return node, tuple(replaced), places


def _spread(values: _Gradients, places: list[int], count: int) -> _Gradients:
    """``values`` at their places among ``count``; ``None`` elsewhere."""
    spread: list[Any] = [None] * count
    for i, v in zip(places, values, strict=False):
        spread[i] = v
    return tuple(spread)


def _checked(changed: Any, count: int, who: str, what: str) -> _Gradients:
    """What a hook returned, one after the other: also the rows of a single tensor, as in PyTorch."""
    if len(changed) != count:
        raise RuntimeError(f"{who} returned an invalid number of {what}, got {len(changed)}, but expected {count}")
    return tuple(changed)


def hook_last_node(module: Any, hooks: list[Any], output: Any) -> None:
    """Old backward hooks: on the node of the (first) output."""
    first = output
    while not isinstance(first, Tensor):
        values = first.values() if isinstance(first, dict) else first
        first = next(v for v in values if isinstance(v, (Tensor, tuple, list, dict)))
    node = first.grad_fn
    if node is None:
        return
    warn(
        "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be "
        "removed in future versions. This hook will be missing some grad_input. Please use register_full_backward_hook "
        "to get the documented behavior.",
        FutureWarning,
    )
    for hook in hooks:
        node.register_hook(lambda gi, go, hook=hook: hook(module, gi, go))
