"""Derivatives of Python functions: products with the Jacobian and the Hessian, and both matrices in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.registry import F
from ..switches.modes import enable_grad, is_grad_enabled, set_grad_enabled
from ..tensors.tensor import Tensor
from .matrices import (
    FUNCTION_OUTPUTS,
    MaybeTensors,
    Tensors,
    as_tuple,
    check_depends,
    check_vector,
    fill_zeros,
    finish,
    fresh,
    grad_where_possible,
    hessian,
    jacobian,
    unwrap,
)
from .matrices import _construct_standard_basis_for as _construct_standard_basis_for

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of ``func`` and the product of ``v`` with its Jacobian, shaped like ``inputs``.

    ``v`` has the shapes of the outputs and may be left out when there is a single output of one element. With
    ``create_graph`` both results are differentiable. With ``strict`` an output or input that does not take part is
    a ``RuntimeError`` instead of zeros.
    """
    with enable_grad():
        inputs_in_tuple, points = as_tuple(inputs, "inputs", "vjp")
        points = fresh(points, create_graph=create_graph, require_grad=True)
        outputs_in_tuple, outputs = as_tuple(func(*points), FUNCTION_OUTPUTS, "vjp")
        check_depends(outputs, "outputs", strict)
        vector = _vector("vjp", v, outputs, outputs_in_tuple, create_graph=create_graph)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = grad_where_possible(outputs, points, vector, create_graph=create_graph)
        filled = fill_zeros(products, points, "back", create_graph=create_graph, strict=strict)
    return (
        unwrap(finish(outputs, create_graph), outputs_in_tuple),
        unwrap(finish(filled, create_graph), inputs_in_tuple),
    )


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of ``func`` and the product of its Jacobian with ``v``, shaped like the outputs.

    ``v`` has the shapes of the inputs and may be left out when there is a single input of one element. Works by
    two backward passes: the product of a vector with the Jacobian is linear in that vector, and its derivative
    with respect to it is the wanted product. Options as in :func:`vjp`.
    """
    with enable_grad():
        inputs_in_tuple, points = as_tuple(inputs, "inputs", "jvp")
        points = fresh(points, create_graph=create_graph, require_grad=True)
        vector = _vector("jvp", v, points, inputs_in_tuple, create_graph=create_graph)
        outputs_in_tuple, outputs = as_tuple(func(*points), FUNCTION_OUTPUTS, "jvp")
        check_depends(outputs, "outputs", strict)
        # The first pass is linear in these, so that their value does not matter as long as it is finite.
        dummies = tuple(F.zeros_like(out).requires_grad_() for out in outputs)
        first = grad_where_possible(outputs, points, dummies, create_graph=True)
        check_depends(first, "gradients", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = grad_where_possible(first, dummies, vector, create_graph=create_graph)
        filled = fill_zeros(products, outputs, "back_trick", create_graph=create_graph, strict=strict)
    return (
        unwrap(finish(outputs, create_graph), outputs_in_tuple),
        unwrap(finish(filled, create_graph), outputs_in_tuple),
    )


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of ``func``, which is a single element, and the product of ``v`` with its Hessian.

    ``v`` has the shapes of the inputs and may be left out for a single input of one element. Options as in
    :func:`vjp`.
    """
    call = _differentiate_scalar("vhp", func, inputs, v, create_graph=create_graph, strict=strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = grad_where_possible(call.gradient, call.inputs, call.vector, create_graph=create_graph)
        filled = fill_zeros(products, call.inputs, "double_back", create_graph=create_graph, strict=strict)
    return call.results(filled, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of ``func``, which is a single element, and the product of its Hessian with ``v``.

    Costs one pass more than :func:`vhp`, which gives the same where the Hessian is symmetric. Options as in
    :func:`vjp`.
    """
    call = _differentiate_scalar("hvp", func, inputs, v, create_graph=create_graph, strict=strict)
    with enable_grad():
        dummies = tuple(F.zeros_like(point).requires_grad_() for point in call.inputs)
        second = grad_where_possible(call.gradient, call.inputs, dummies, create_graph=True)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        products = grad_where_possible(second, dummies, call.vector, create_graph=create_graph)
        filled = fill_zeros(products, call.inputs, "double_back_trick", create_graph=create_graph, strict=strict)
    return call.results(filled, create_graph)


@dataclass(frozen=True, slots=True)
class _ScalarCall:
    """A call of a function with one output element: what went in, what came out, and its gradient with a graph."""

    inputs: Tensors
    inputs_in_tuple: bool
    vector: Tensors | None
    output: Tensor
    gradient: MaybeTensors

    def results(self, products: Tensors, create_graph: bool) -> tuple[Any, Any]:
        """Output and products as ``vhp`` and ``hvp`` return them."""
        output = finish((self.output,), create_graph)[0]
        return output, unwrap(finish(products, create_graph), self.inputs_in_tuple)


def _differentiate_scalar(
    caller: str, func: Callable[..., Any], inputs: Any, v: Any, *, create_graph: bool, strict: bool
) -> _ScalarCall:
    """Call ``func``, check that it returns one element, and take its gradient with a graph, for ``vhp`` and ``hvp``."""
    with enable_grad():
        in_tuple, points = as_tuple(inputs, "inputs", caller)
        points = fresh(points, create_graph=create_graph, require_grad=True)
        vector = _vector(caller, v, points, in_tuple, create_graph=create_graph)
        outputs_in_tuple, outputs = as_tuple(func(*points), FUNCTION_OUTPUTS, caller)
        check_depends(outputs, "outputs", strict)
        if outputs_in_tuple:
            raise RuntimeError(f"The function given to {caller} should return a single Tensor")
        if outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {caller} should contain a single element, but it has "
                f"{outputs[0].numel()}."
            )
        gradient = grad_where_possible(outputs, points, create_graph=True)
        check_depends(gradient, "jacobian", strict)
    return _ScalarCall(points, in_tuple, vector, outputs[0], gradient)


def _vector(caller: str, v: Any, like: Tensors, in_tuple: bool, *, create_graph: bool) -> Tensors | None:
    """The checked vector as fresh tensors, or ``None`` where it was left out and may be."""
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return None
        side = "the user-provided function returns" if caller == "vjp" else "the input to the user-provided function is"
        raise RuntimeError(f"The vector v can only be None if {side} a single Tensor with a single element.")
    vector = fresh(as_tuple(v, "v", caller)[1], create_graph=create_graph, require_grad=False)
    check_vector(vector, like, in_tuple)
    return vector
