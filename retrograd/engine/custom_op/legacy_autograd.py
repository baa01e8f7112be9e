"""The gradient of an old-style ``CustomOp``: both halves combined into one ``Function``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..function.function import Function
from ..pytree import trees
from ..switches.modes import is_grad_enabled
from ..tensors.tensor import Tensor
from .legacy_rules import Declared, grad_inputs_dict_to_flat_tuple, validate_grad_inputs_dict
from .registry import AutogradKernel, Kernel
from .schema import FunctionSchema


# -- the autograd entry
def autograd_kernel_indirection(custom_op: Declared) -> AutogradKernel:
    """Look up at each call what to do, so that the gradient may be registered after the operator exists."""

    def kernel(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if custom_op._has_impl("autograd"):
            return custom_op._get_impl("autograd").func(*args, **kwargs)
        for have, lack in (("save_for_backward", "backward"), ("backward", "save_for_backward")):
            if custom_op._has_impl(have):
                raise RuntimeError(
                    f"We found a '{have}' registration for {custom_op} at {custom_op._get_impl(have).location} but "
                    f"were unable to find a '{lack}' registration. To use the CustomOp API to register a backward "
                    "formula, please provide us both a backward function and a 'save for backward' function via "
                    "`impl_backward` and `impl_save_for_backward` respectively."
                )
        return autograd_not_implemented(custom_op)(*args, **kwargs)

    return kernel


def autograd_not_implemented(custom_op: Declared) -> Kernel:
    """The entry of an operator without gradient: an error as soon as one would be needed."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        leaves = trees.tree_leaves((args, kwargs))
        if is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in leaves):
            raise RuntimeError("Autograd has not been implemented for operator")
        return custom_op._op.below_autograd(args, kwargs)

    return kernel


class _Call:
    """One call of the Function: how arguments and results were flattened."""

    def __init__(self, names: Sequence[str], kwargs_from: int, in_spec: trees.TreeSpec) -> None:
        self.names = names
        self.kwargs_from = kwargs_from
        self.in_spec = in_spec
        self.out_spec: trees.TreeSpec | None = None

    def rebuild(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """Positional arguments, keyword-only ones, and both together."""
        values = trees.tree_unflatten(leaves, self.in_spec)
        at = self.kwargs_from
        return values[:at], dict(zip(self.names[at:], values[at:], strict=True)), values


def construct_autograd_kernel(custom_op: Declared, output_differentiability: list[bool] | None) -> Kernel:
    """The kernel that runs the operator inside a Function built from both halves."""
    schema = custom_op._schema
    names = [a.name for a in (*schema.positional, *schema.keyword_only)]
    halves = {
        "forward": staticmethod(_forward_half(custom_op, output_differentiability)),
        "backward": staticmethod(_backward_half(custom_op)),
    }
    generated: type[Function] = type(f"{schema.name}_customop", (Function,), halves)

    def apply(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *(kwargs[name] for name in names[len(args) :]))
        leaves, in_spec = trees.tree_flatten(values)
        call = _Call(names, len(args), in_spec)
        results = generated.apply(*leaves, call)
        assert call.out_spec is not None
        return trees.tree_unflatten(list(results), call.out_spec)

    return apply


def _forward_half(custom_op: Declared, output_differentiability: list[bool] | None) -> Kernel:
    schema, op = custom_op._schema, custom_op._op

    def forward(ctx: Any, *leaves_and_call: Any) -> tuple[Any, ...]:
        call: _Call = leaves_and_call[-1]
        ctx.set_materialize_grads(True)
        args, kwargs, values = call.rebuild(leaves_and_call[:-1])
        output = op.below_autograd(args, kwargs)
        save = custom_op._get_impl("save_for_backward").func
        saved = save(namedtuple_args(schema, values), output)
        args_info = namedtuple_args(schema, tuple(trees.tree_map(type, v) for v in values))
        save_pytree_for_backward(ctx, (saved, args_info))
        mark_non_differentiable(ctx, output, output_differentiability)
        flat, call.out_spec = trees.tree_flatten(output)
        ctx._custom_call = call
        return tuple(flat)

    return forward


def _backward_half(custom_op: Declared) -> Kernel:
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        call: _Call = ctx._custom_call
        assert call.out_spec is not None
        structured = trees.tree_unflatten(list(grads), call.out_spec)
        if not isinstance(structured, tuple):
            structured = (structured,)
        saved, args_info = unpack_saved(ctx)
        found = custom_op._get_impl("backward").func(object(), saved, *structured)
        validate_grad_inputs_dict(found, custom_op, args_info)
        return (*grad_inputs_dict_to_flat_tuple(found, args_info), None)

    return backward


# -- arguments by name
@cache
def _args_class(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


def namedtuple_args(schema: FunctionSchema, args: tuple[Any, ...]) -> Any:
    """A call's arguments as a named tuple ``<op>_args``; one class per schema."""
    assert isinstance(args, tuple), f"expected a tuple of arguments, got {type(args)}"
    fields = tuple(a.name for a in (*schema.positional, *schema.keyword_only))
    return _args_class(f"{schema.name}_args", fields)(*args)


# -- saving nested structures
def save_pytree_for_backward(ctx: Any, stuff: Any) -> None:
    """Save a nested structure: its tensors through ``save_for_backward``, everything else on ``ctx``."""
    leaves, spec = trees.tree_flatten(stuff)
    is_tensor = [isinstance(leaf, Tensor) for leaf in leaves]
    ctx.save_for_backward(*(leaf for leaf, t in zip(leaves, is_tensor, strict=True) if t))
    ctx.spec = spec
    ctx.num_elts = len(leaves)
    ctx.tensor_idxs = [i for i, t in enumerate(is_tensor) if t]
    ctx.saved_non_tensors = [leaf for leaf, t in zip(leaves, is_tensor, strict=True) if not t]
    ctx.non_tensor_idxs = [i for i, t in enumerate(is_tensor) if not t]


def unpack_saved(ctx: Any) -> Any:
    """The values that ``save_pytree_for_backward`` saved."""
    leaves: list[Any] = [None] * ctx.num_elts
    for index, tensor in zip(ctx.tensor_idxs, ctx.saved_tensors, strict=True):
        leaves[index] = tensor
    for index, value in zip(ctx.non_tensor_idxs, ctx.saved_non_tensors, strict=True):
        leaves[index] = value
    return trees.tree_unflatten(leaves, ctx.spec)


def mark_non_differentiable(ctx: Any, output: Any, output_differentiability: list[bool] | None) -> None:
    """Tell the Function which outputs have no gradient; ``RuntimeError`` for a flag on a non-tensor."""
    if output_differentiability is None:
        return
    outputs = output if isinstance(output, tuple) else (output,)
    assert len(outputs) == len(output_differentiability), "output_differentiability has the wrong length"
    marked: list[Any] = []
    for index, (differentiable, value) in enumerate(zip(output_differentiability, outputs, strict=True)):
        if isinstance(value, Tensor):
            marked.extend([] if differentiable else [value])
        elif isinstance(value, list):
            marked.extend([] if differentiable else value)
        elif differentiable:
            raise RuntimeError(
                f"With output_differentiability={output_differentiability}. At idx {index}, we received an object of "
                f"type {type(value)} that is not a Tensor, so it cannot have be marked as differentiable in "
                "output_differentiability."
            )
    if marked:
        ctx.mark_non_differentiable(*marked)
