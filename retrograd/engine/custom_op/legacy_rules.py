"""Checks and gradients of operators made in the older way."""

from __future__ import annotations

import inspect
from typing import Any, Final, NamedTuple, Protocol

from ..pytree import trees
from ..tensors.tensor import Tensor
from .registry import Kernel, OpOverload
from .schema import Argument, FunctionSchema

# The facts about an operator that the gradient of an old-style `CustomOp` needs.


class FuncAndLocation(NamedTuple):
    """A registered function and the ``file:line`` that registered it."""

    func: Kernel
    location: str


class Declared(Protocol):
    """The facts about an old-style operator that its gradient uses: its schema, and what was registered for it."""

    _op: OpOverload
    _schema: FunctionSchema

    def _has_impl(self, kind: str) -> bool: ...
    def _get_impl(self, kind: str) -> FuncAndLocation: ...


# Checks the names, declarations and registrations of old-style `CustomOp`s, and refuses others with the reason.

RESERVED_NS: Final = ("prim", "prims", "aten", "at", "torch", "pytorch")
SUPPORTED_DEVICES: Final = ("cpu", "cuda")
_RETURN_TYPES: Final = ("int", "SymInt", "bool", "float", "Tensor", "Tensor[]")


# -- name and schema
def checked_name(qualname: str, func: Any) -> str:
    """The name without its namespace; ``ValueError`` unless it may be declared, and is that of the function."""
    if not inspect.isfunction(func):
        raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
    namespace, name = parse_qualname(qualname)
    validate_namespace(namespace)
    if func.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
            f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to "
            "`custom_op`"
        )
    return name


def parse_qualname(qualname: str) -> tuple[str, str]:
    """Split ``namespace::name``; ``ValueError`` without a namespace or with an overload."""
    namespace, colons, name = qualname.partition("::")
    if not colons:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo"
        )
    if "." in name:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. Please name your "
            f"operator something like ns::foo. Got: {qualname}"
        )
    return namespace, name


def validate_namespace(ns: str) -> None:
    """``ValueError`` for a namespace with a dot or a reserved one."""
    if "." in ns:
        raise ValueError(f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)')
    if ns in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. ")


def validate_schema(schema: FunctionSchema) -> None:
    """``ValueError`` unless the operator is functional and has no argument called self."""
    if not schema.is_functional:
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of "
            f"the inputs, and has at least one return). Got the following non-functional schema: {schema}"
        )
    if any(a.name == "self" for a in schema.arguments):
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}"
        )


def validate_function_matches_schema(schema: FunctionSchema, func: Kernel) -> None:
    """``ValueError`` unless the function has the schema's parameters, no annotations and no defaults."""
    signature = inspect.signature(func)
    parameters = list(signature.parameters.values())
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind not in plain for p in parameters):
        raise ValueError(
            "custom_op(..., manual_schema)(func): positional-only args, varargs, and kwargs are not supported. Please "
            f"rewrite `func` to not have them. Got `func` with signature: {signature}"
        )
    annotations = [*(p.annotation for p in parameters), signature.return_annotation]
    if any(a is not inspect.Parameter.empty for a in annotations):
        raise ValueError(
            "custom_op(..., manual_schema)(func): When passing in a manual schema, we expect `func` to have no type "
            f"annotations to avoid ambiguity. Got `func` with signature: {signature}"
        )
    _check_names(schema, signature, parameters)
    if any(p.default is not inspect.Parameter.empty for p in parameters) or any(
        a.has_default_value() for a in schema.arguments
    ):
        raise ValueError(
            "custom_op(..., manual_schema)(func): neither func nor manual_schema should have default arguments. Got "
            f"func's signature: {signature}, manual_schema: {schema}"
        )


def _check_names(schema: FunctionSchema, signature: inspect.Signature, parameters: list[inspect.Parameter]) -> None:
    def names(arguments: tuple[Argument, ...]) -> list[str]:
        return [a.name for a in arguments]

    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    keyword_only = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if positional != names(schema.positional) or keyword_only != names(schema.keyword_only):
        raise ValueError(
            "custom_op(..., manual_schema)(func): When passing in a manual schema, we expect `func`'s signature to "
            "match `manual_schema` (aside from type annotations). func's signature: "
            f"{signature}, manual_schema: {schema}"
        )


# -- registrations
def check_device(device: str) -> None:
    """``ValueError`` for a device for which no kernel can be registered."""
    if device not in SUPPORTED_DEVICES:
        raise ValueError(
            f"CustomOp.impl(device_types=[{device}, ...]): we only support device_type in {list(SUPPORTED_DEVICES)}."
        )


def refuse_unregistrable(qualname: str, schema: FunctionSchema) -> None:
    """``RuntimeError`` for operators that cannot have a gradient: they write, return nothing, views or other types."""
    reason = ""
    if schema.is_mutable:
        reason = "non-functional operator"
    elif not schema.returns:
        reason = "operator with no returns"
    elif schema.returns_view:
        reason = "operator that returns views"
    else:
        for returned in schema.returns:
            if str(returned.type) not in _RETURN_TYPES:
                reason = f"operator with return not in {list(_RETURN_TYPES)} (got {returned.type})"
    if reason:
        raise RuntimeError(
            f"Cannot use torch._custom_ops APIs to register backward formula for {reason}. "
            f"Got operator {qualname} with schema: {schema}"
        )


def refuse_conflicts(op: OpOverload) -> None:
    """``RuntimeError`` if the operator has a gradient from elsewhere, or is composed of ordinary operators."""
    where = f"impl_backward/impl_save_for_backward: the operator {op.qualname}"
    if "implicit" in op.kernels:
        raise RuntimeError(
            f"{where} already has an implementation via a pre-existing registration to CompositeImplicitAutograd. "
            "Such operators do not need an autograd formula: they decompose into operators that have one."
        )
    if op.autograd_kernel is not None:
        raise RuntimeError(
            f"{where} already has an Autograd kernel registered via a pre-existing library registration. Please either "
            "remove those registrations or don't use the torch._custom_ops APIs"
        )


def check_differentiability(flags: Any, returns: int) -> None:
    """``RuntimeError`` unless it is ``None`` or a list of as many bools as the operator has returns."""
    fits = flags is None or (isinstance(flags, list) and len(flags) == returns and all(type(f) is bool for f in flags))
    if not fits:
        raise RuntimeError(
            "impl_backward(output_differentiability): expected output_differentiability to be a list of bools with "
            f"length equal to the number of outputs of this CustomOp got: {flags}"
        )


# Checks and orders the dictionary of gradients that the backward half of an old-style `CustomOp` returns.


def validate_grad_inputs_dict(grad_inputs: Any, custom_op: Declared, args_info: Any) -> None:
    """``RuntimeError`` unless there is exactly one fitting gradient per argument that is or may hold tensors."""

    def fail(what: str) -> None:
        location = custom_op._get_impl("backward").location
        raise RuntimeError(
            f"In the backward function defined for {custom_op} at {location} using the CustomOp API, {what}"
        )

    if not isinstance(grad_inputs, dict):
        fail(f"expected the output of the backward function to be a dict but got {type(grad_inputs)}")
    arguments = custom_op._schema.arguments
    expected = {a.name for a in arguments if a.type.is_tensor_like}
    if set(grad_inputs) != expected:
        fail(
            f"expected the returned grad_input dict to have keys {expected} but got {grad_inputs.keys()}. The backward "
            "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
            "Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the grad_input dict"
        )
    for name, grad in grad_inputs.items():
        info = getattr(args_info, name)
        problem = _list_problem(name, grad, info) if isinstance(info, list) else _single_problem(name, grad, info)
        if problem:
            fail(problem)


def _list_problem(name: str, grad: Any, info: list[type]) -> str:
    """What is wrong with the gradient of a list argument, or nothing."""
    if not isinstance(grad, list | tuple):
        return (
            f"for input '{name}' expected the grad_input dict to hold a list of gradients but got object of type "
            f"{type(grad)}."
        )
    if len(grad) != len(info):
        count = len(info)
        return (
            f"for input '{name}' expected the grad_input dict to hold a list of {count} gradients but got {len(grad)}"
        )
    for index, (item, kind) in enumerate(zip(grad, info, strict=True)):
        if item is None:
            continue
        if not isinstance(item, Tensor):
            return (
                f"for input '{name}' expected the grad_input dict to hold a list of None or Tensor gradients but got "
                f"object of {type(item)} at index {index}"
            )
        if not issubclass(kind, Tensor):
            return (
                f"for input '{name}', got a Tensor as the gradient for the {index}-th value but expected None because "
                f"the {index}-th value was not a Tensor (it was type {kind}"
            )
    return ""


def _single_problem(name: str, grad: Any, info: type) -> str:
    """What is wrong with the gradient of a single argument, or nothing."""
    if grad is None:
        return ""
    if not isinstance(grad, Tensor):
        return (
            f"got object of type {type(grad)} as the gradient for input '{name}', but expected the gradient to be "
            "either None or a Tensor"
        )
    if not issubclass(info, Tensor):
        return (
            f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input '{name}' "
            f"was not a Tensor (it was type {info})."
        )
    return ""


def grad_inputs_dict_to_flat_tuple(grad_inputs: dict[str, Any], args_info: Any) -> tuple[Any, ...]:
    """One gradient per flattened argument in the order of the schema; ``None`` for what is not in the dictionary."""
    flat: list[Any] = []
    for name, info in args_info._asdict().items():
        leaves = trees.tree_leaves(info)
        flat.extend(trees.tree_leaves(grad_inputs[name]) if grad_inputs.get(name) is not None else [None] * len(leaves))
    return tuple(flat)
