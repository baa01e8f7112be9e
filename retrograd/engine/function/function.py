"""``Function``: base class of operators written by the user."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from .. import observe
from ..aliasing.views import gradient_edge, requires_grad
from ..core.base import TensorBase
from ..core.batches import between_batches, is_of, spread
from ..forward_mode.forward_ad import tangent_of
from ..nodes.node import GraphNode, edge_to
from ..switches.modes import no_grad, unrecorded
from ..switches.state import STATE
from ..warning import warn
from .jvp import run_jvp
from .node import BackwardCFunction, FunctionCtx
from .outputs import Outputs

_function_ids = itertools.count().__next__


class FunctionMeta(type):
    """Gives every Function its node class ``<Name>Backward``."""

    __module__ = "retrograd.autograd.function"

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(
            name + "Backward",
            (BackwardCFunction,),
            {
                "_forward_cls": cls,
                "_autograd_function_id": _function_ids(),
                "__module__": "retrograd.autograd.function",
            },
        )


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of operators with a custom backward; use ``apply``.

    >>> import retrograd as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x * x * g
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    __module__ = "retrograd.autograd.function"

    clear_saved_tensors_on_access: Any = False
    boxed_grads_call: Any = False
    generate_vmap_rule = False
    _backward_cls: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
            "autograd function with static forward method."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; ``forward(ctx, *args)``, or ``forward(*args)`` beside a ``setup_context``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, given all inputs and the raw output."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient per input from one gradient per output."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it "
            "with backward mode AD."
        )

    vjp = staticmethod(lambda ctx, *grad_outputs: Function.backward(ctx, *grad_outputs))
    _default_backward: Any = backward
    _default_vjp: Any = vjp

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """One tangent per output from one tangent per input."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Return the results for batches and their batch dimensions, given inputs and theirs."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operator and record it.

        Raises what ``forward`` raises, ``TypeError`` for wrong arguments, ``RuntimeError`` for contradictory marks.
        """
        separate_context = cls.setup_context is not Function.setup_context
        args = _with_defaults(cls, args, kwargs) if separate_context else _positional(cls, args, kwargs)
        tensors = [a for a in args if isinstance(a, TensorBase)]
        batch = _asking_batch(cls, tensors) if STATE.batches else None
        if batch is not None and batch.is_innermost():
            _check_flags(cls)
            return batch.by_rule(batch, cls.vmap, args)
        executable = STATE.grad_enabled and not STATE.inference and any(requires_grad(t) for t in tensors)
        node = _prepared_node(cls, args, tensors, executable)
        _check_flags(cls)
        if observe.observers:
            observe.notify("function_began", node, args)
        forward = cls.forward if batch is None else lambda *given: batch.by_rule(batch, cls.vmap, given)
        if STATE.batches and batch is None and cls.vmap is not Function.vmap:
            with between_batches():  # a Function with a rule for batches may compute by any means
                raw = _run_forward(cls, node, args, separate_context, forward)
        else:
            raw = _run_forward(cls, node, args, separate_context, forward)
        outputs = raw if isinstance(raw, tuple) else (raw,)
        pending = Outputs(node, args, tuple(outputs), executable)
        pending.raise_versions()
        if separate_context:
            pending.must_not_return = {id(t) for t in (*(node.to_save or ()), *(node.saved_for_forward or ()))}
        results = pending.wrapped()
        if STATE.batches:
            spread(tensors, [t for t in results if isinstance(t, TensorBase)])
        if _has_tangent(tensors):
            run_jvp(node, args, results, pending)
        pending.save(results)
        node.saved_for_forward = None
        if observe.observers:
            observe.notify("function_ended", node, args, results)
        return tuple(results) if isinstance(raw, tuple) else results[0]


def _asking_batch(cls: Any, tensors: list[Any]) -> Any:
    """The innermost batch, where the Function has a rule of its own for what differs from entry to entry of it."""
    batch = STATE.batches[-1]
    has_rule = cls.vmap is not Function.vmap and not cls.generate_vmap_rule and batch.by_rule is not None
    return batch if has_rule and any(is_of(t, batch) for t in tensors) else None


def _has_tangent(tensors: list[Any]) -> bool:
    return STATE.forward_grad_enabled and any(tangent_of(t) is not None for t in tensors)


def _prepared_node(cls: Any, args: tuple[Any, ...], tensors: list[Any], executable: bool) -> BackwardCFunction:
    node: BackwardCFunction = cls._backward_cls()
    node._is_tensor_input = tuple([isinstance(a, TensorBase) for a in args])
    node.needs_input_grad = tuple([isinstance(a, TensorBase) and requires_grad(a) for a in args])
    if executable:
        node._edges = tuple([gradient_edge(t) for t in tensors])
    return node


def _check_transforms(cls: Any) -> None:
    """Check what a Function must declare to be called inside ``vmap`` and ``grad``."""
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            "override the setup_context staticmethod."
        )
    if STATE.transforms[-1] != "vmap":
        return
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity."
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True."
        )


def _check_flags(cls: Any) -> None:
    if STATE.transforms:
        _check_transforms(cls)
    for flag in ("clear_saved_tensors_on_access", "boxed_grads_call"):
        value = getattr(cls, flag)
        if not isinstance(value, bool):
            raise RuntimeError(f"{flag} must be a bool, got {type(value).__name__}")


def _run_forward(
    cls: Any, node: BackwardCFunction, args: tuple[Any, ...], separate_context: bool, forward: Callable[..., Any]
) -> Any:
    """Call ``forward``, the user's or its substitute (and ``setup_context``): unrecorded, without forward mode."""
    forward_ad, through = STATE.forward_grad_enabled, STATE.through
    STATE.forward_grad_enabled, STATE.through = False, None
    try:
        with no_grad():
            if not separate_context:
                return forward(node, *args)
            raw = forward(*args)
            cls.setup_context(node, args, raw)
            return raw
    finally:
        STATE.forward_grad_enabled, STATE.through = forward_ad, through
        if observe.observers:
            observe.notify("function_left", node)


# -- arguments


@functools.lru_cache(maxsize=1024)
def _forward_signature(forward: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(forward)


def _with_defaults(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Bind to forward's signature and fill in its defaults."""
    signature = _forward_signature(cls.forward)
    for name, p in signature.parameters.items():
        if p.kind is p.KEYWORD_ONLY:
            raise TypeError(
                f"{cls.__name__}.forward() got an unexpected keyword argument '{name}': keyword-only "
                "parameters do not work with setup_context"
            )
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _positional(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Map keywords to positions by forward's parameter names (without ctx)."""
    if not kwargs:
        return args
    code = getattr(cls.forward, "__code__", None)
    names = code.co_varnames[1 : code.co_argcount] if code is not None else ()
    where = f"{cls.__name__}.forward()"
    values = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{where} got an unexpected keyword argument '{name}'")
        if name in values:
            raise TypeError(f"{where} got multiple values for argument '{name}'")
        values[name] = value
    if len(args) > len(names):
        raise TypeError(f"{where} takes {len(names)} positional arguments but {len(args)} were given")
    last = max(names.index(n) for n in values)
    for i, name in enumerate(names[: last + 1]):
        if name not in values:
            raise TypeError(f"{where} missing required argument: '{name}' (position {i})")
    return tuple(values[n] for n in names[: last + 1])


# -- once_differentiable


class _ErrorNode(GraphNode):
    """Raises when it is reached: a once-differentiable backward cannot be differentiated again."""

    qualified_name = "torch::autograd::Error"

    def __init__(self, message: str, edges: tuple[Any, ...], sigs: tuple[Any, ...]) -> None:
        super().__init__(edges, sigs)
        self.message = message

    def _run(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


_ErrorNode.__name__ = _ErrorNode.__qualname__ = "Error"


def once_differentiable(fn: Any) -> Any:
    """Mark a backward that cannot itself be differentiated: doing so raises ``RuntimeError``."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        was = STATE.grad_enabled
        with unrecorded():
            outputs = fn(ctx, *args)
        if not was:
            return outputs
        if not any(isinstance(a, TensorBase) and requires_grad(a) for a in args):
            return outputs
        several = isinstance(outputs, tuple)
        return _with_error_node(outputs if several else (outputs,), several)

    return wrapper


def _with_error_node(outputs: Any, several: bool) -> Any:
    # The error node leads to fresh leaves, not to the inputs: gradients requested of the inputs are "unused".
    made: list[Any] = [o.detach() if isinstance(o, TensorBase) else o for o in outputs]
    differentiable = [isinstance(o, TensorBase) and o._sig.differentiable for o in made]
    node = _ErrorNode(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        tuple(
            gradient_edge(o.detach()._requiring_grad()) if d else None
            for o, d in zip(made, differentiable, strict=True)
        ),
        tuple(o._sig if d else None for o, d in zip(made, differentiable, strict=True)),
    )
    for nr, (o, d) in enumerate(zip(made, differentiable, strict=True)):
        if d:
            o._fn = edge_to(node, nr)
    return tuple(made) if several else made[0]


class InplaceFunction(Function):
    """Old base class that remembers an ``inplace`` flag."""

    __module__ = "retrograd.autograd.function"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Old base class for nested inputs and outputs; it can be named, but its instance methods cannot be run."""

    __module__ = "retrograd.autograd.function"

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Refuse: the protocol of ``forward_extended`` needs instances, which no engine runs any more."""
        raise NotImplementedError(
            f"{cls.__name__} is a NestedIOFunction, whose non-static methods are not supported. Derive from Function "
            "and pass tensors as arguments of their own."
        )


__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]
