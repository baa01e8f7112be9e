"""The autograd half of ``library.custom_op``: a generated ``Function`` per operator.

The Function's arguments are the call's positional arguments with tensor lists spread out, and at the end the call
itself; so PyTorch's rules for Functions (counts, kinds, repair of gradients, hooks, double backward) hold unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..function.function import Function
from ..pytree import trees
from ..switches.modes import is_grad_enabled
from ..tensors.tensor import Tensor
from .registry import AutogradKernel, OpOverload, tensors_in
from .schema import Argument


class AutogradRule:
    """The latest arguments of ``register_autograd``; looked up when needed, so a later registration wins."""

    def __init__(self) -> None:
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None


def _is_spread(argument: Argument) -> bool:
    return argument.type.is_tensor_like and argument.type.is_list


def _without_defaults(arguments: Sequence[Argument], values: tuple[Any, ...]) -> int:
    """How many values there are without those at the end that are the defaults of their arguments."""
    count = len(values)
    while count and _is_default(arguments[count - 1], values[count - 1]):
        count -= 1
    return count


def _is_default(argument: Argument, value: Any) -> bool:
    return (
        argument.has_default_value() and type(value) is type(argument.default_value) and value == argument.default_value
    )


def _gathered(flat: Sequence[Any], spread: list[bool], lengths: list[int]) -> list[Any]:
    """Values in one row put back: one list where something was spread out."""
    found: list[Any] = []
    at = 0
    for is_list, length in zip(spread, lengths, strict=True):
        found.append(list(flat[at : at + length]) if is_list else flat[at])
        at += length
    return found


class _Call:
    """One call of an operator: how its arguments were spread out, and its keyword-only arguments."""

    def __init__(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.op = op
        self.args = args
        self.kwargs = kwargs
        self.spread = [_is_spread(a) and isinstance(v, list) for a, v in zip(op._schema.positional, args, strict=True)]
        self.lengths = [len(v) if s else 1 for v, s in zip(args, self.spread, strict=True)]
        self.optional = [s and all(x is None for x in v) for v, s in zip(args, self.spread, strict=True)]
        """Which lists hold no tensor at all, so that ``None`` may be returned for their gradients."""
        self.given = _without_defaults(op._schema.positional, args)
        """How many arguments there are without the last ones that have their defaults; they need no gradients."""
        self.out_spread: list[bool] = []
        self.out_lengths: list[int] = []

    def leaves(self) -> list[Any]:
        """The arguments with tensor lists spread out."""
        found: list[Any] = []
        for value, spread in zip(self.args, self.spread, strict=True):
            found.extend(value) if spread else found.append(value)
        return found

    def nested(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """One value per leaf, put into the structure of the arguments."""
        return tuple(_gathered(leaves, self.spread, self.lengths))

    def forget_arguments(self) -> None:
        """Let go of the tensors: the graph must not keep them alive."""
        self.args, self.kwargs = (), {}

    def flat_outputs(self, result: Any) -> Any:
        """A kernel's result as a Function returns it: lists spread out, a lone value bare."""
        schema = self.op._schema
        outputs = result if isinstance(result, tuple) else (result,)
        self.out_spread = [isinstance(value, list) for value in outputs]
        self.out_lengths = [len(v) if isinstance(v, list) else 1 for v in outputs]
        if len(schema.returns) == 1 and not schema.returns_one_tuple and not self.out_spread[0]:
            return result
        flat: list[Any] = []
        for value in outputs:
            flat.extend(value) if isinstance(value, list) else flat.append(value)
        return tuple(flat)

    def nested_outputs(self, flat: Sequence[Any]) -> list[Any]:
        """One value per flat output, with one list per list output."""
        return _gathered(flat, self.out_spread, self.out_lengths)

    def outputs(self, result: Any) -> Any:
        """The caller's results, from what ``apply`` returned."""
        schema = self.op._schema
        if not schema.returns:
            return None
        nested = self.nested_outputs(result if isinstance(result, tuple) else (result,))
        return tuple(nested) if len(schema.returns) > 1 or schema.returns_one_tuple else nested[0]


def _run_setup(rule: AutogradRule, ctx: Any, call: _Call, result: Any) -> None:
    ctx.needs_input_grad = call.nested(ctx.needs_input_grad)
    if rule.setup_context is None:
        return
    if call.kwargs:
        rule.setup_context(ctx=ctx, inputs=call.args, keyword_only_inputs=call.kwargs, output=result)
    else:
        rule.setup_context(ctx=ctx, inputs=call.args, output=result)
    if any(call.spread) and hasattr(ctx, "_pt_metadata"):
        raise RuntimeError("Please don't set ctx._pt_metadata; it is used to store the structure of the arguments")


def _checked_gradients(call: _Call, returned: Any, name: str) -> list[Any]:
    """One gradient per leaf from what the user's backward returned."""
    grads = list(returned) if isinstance(returned, tuple) else [returned]
    expected = len(call.spread)
    if any(call.spread):
        return _unspread(call, grads)
    while len(grads) > expected and grads[-1] is None:
        grads.pop()
    if len(grads) == call.given < expected:
        grads += [None] * (expected - len(grads))
    if len(grads) != expected:
        raise RuntimeError(
            f"function {name}Backward returned an incorrect number of gradients (expected {expected}, got {len(grads)})"
        )
    return grads


def _unspread(call: _Call, grads: list[Any]) -> list[Any]:
    """Gradients of list arguments, element by element; the nesting must be that of the arguments."""
    fits = len(grads) == len(call.spread)
    leaves: list[Any] = []
    for grad, spread, length, empty in zip(grads, call.spread, call.lengths, call.optional, strict=False):
        if not spread:
            fits = fits and not isinstance(grad, list | tuple | dict)
            leaves.append(grad)
        elif isinstance(grad, list) and len(grad) == length and all(g is None or isinstance(g, Tensor) for g in grad):
            leaves.extend(grad)
        elif grad is None and empty:
            leaves.extend([None] * length)
        else:
            fits = False
    if not fits:
        raise RuntimeError(
            "Expected the return from backward to be of the same structure as the inputs. "
            f"Got: {trees.tree_structure(tuple(grads))} (return from backward), "
            f"{trees.tree_structure(call.nested([None] * sum(call.lengths)))} (inputs)"
        )
    return leaves


def _generate(op: OpOverload, rule: AutogradRule) -> type[Function]:
    """The Function whose forward runs the operator below autograd."""
    name = f"GeneratedBackwardFor_{op.namespace}_{op.opname}_{op.overload}"

    def forward(ctx: Any, *leaves_and_call: Any) -> Any:
        call: _Call = leaves_and_call[-1]
        result = op.below_autograd(call.args, call.kwargs)
        flat = call.flat_outputs(result)
        ctx._operator_call = call
        _run_setup(rule, ctx, call, result)
        call.forget_arguments()
        return flat

    def backward(ctx: Any, *grads: Any) -> Any:
        call: _Call = ctx._operator_call
        if rule.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        returned = rule.backward(ctx, *call.nested_outputs(grads))
        return (*_checked_gradients(call, returned, name), None)

    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def make_autograd_kernel(op: OpOverload, rule: AutogradRule) -> AutogradKernel:
    """The entry that records a call when some tensor argument requires grad and otherwise runs the kernel."""
    generated = _generate(op, rule)

    def kernel(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_grad_enabled() and any(t.requires_grad for t in tensors_in((*args, *kwargs.values()))):
            call = _Call(op, args, kwargs)
            return call.outputs(generated.apply(*call.leaves(), call))
        return op.below_autograd(args, kwargs)

    return kernel
