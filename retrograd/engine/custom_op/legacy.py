"""The old, deprecated way to declare an operator: ``CustomOp`` with ``impl`` and friends (``torch._custom_op``).

A declaration says name and schema; kernels and the two halves of the gradient are registered afterwards, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...interpreter import getframe
from ..warning import warn
from . import registry as op_registry
from .fake_mode import refuse_context
from .legacy_autograd import autograd_kernel_indirection, construct_autograd_kernel
from .legacy_rules import (
    SUPPORTED_DEVICES,
    FuncAndLocation,
    check_device,
    check_differentiability,
    checked_name,
    refuse_conflicts,
    refuse_unregistrable,
    validate_function_matches_schema,
    validate_schema,
)
from .registry import Kernel, OpOverload
from .schema_inference import infer_schema
from .schema_parser import parse_schema


def _caller(stacklevel: int) -> str:
    frame = getframe(stacklevel + 1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class CustomOp:
    """An operator of the old interface; made by ``custom_op`` only."""

    def __init__(self, op: OpOverload | None = None, *_unused: Any, _private_access: bool = False) -> None:
        warn_deprecated()
        if not _private_access or op is None:
            raise RuntimeError(
                "The CustomOp constructor is private and we do not guarantee BC for it. Please use custom_op(...) to "
                "create a CustomOp object"
            )
        self._op = op
        self._schema = op._schema.qualified(op.opname)
        self._cpp_ns = op.namespace
        self._opname = op.opname
        self._qualname = op.qualname
        self.__name__ = op.opname
        self._impls: dict[str, FuncAndLocation] = {}
        self._registered_autograd_kernel_indirection = False
        self._output_differentiability: list[bool] | None = None
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def _destroy(self) -> None:
        """Remove the operator; calling it afterwards is an error."""
        global_registry.pop(self._qualname, None)
        op_registry.undefine(self._op)

    # -- bookkeeping of registrations
    def _has_impl(self, kind: str) -> bool:
        return kind in self._impls

    def _get_impl(self, kind: str) -> FuncAndLocation:
        return self._impls[kind]

    def _register_impl(self, kind: str, func: Kernel, location: str) -> None:
        if self._has_impl(kind):
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl "
                f"registered from Python at {self._impls[kind].location}. This is not supported."
            )
        self._impls[kind] = FuncAndLocation(func, location)

    # -- kernels
    def impl(self, device_types: str | Iterable[str] = SUPPORTED_DEVICES, _stacklevel: int = 2) -> Kernel:
        """Decorator: the kernel for tensors on these devices (``"cpu"``, ``"cuda"``)."""
        devices = [device_types] if isinstance(device_types, str) else list(device_types)
        for device in devices:
            check_device(device)
        location = _caller(1)

        def register(func: Kernel) -> Kernel:
            for device in devices:
                if not self._has_impl(device) and device in self._op.kernels:
                    raise RuntimeError(
                        f"impl(..., device_types={device}): the operator {self._qualname} already has an "
                        "implementation for this device type via a pre-existing library registration."
                    )
                self._register_impl(device, func, location)
                self._op.kernels[device] = func
            return func

        return register

    def impl_factory(self) -> Kernel:
        """Decorator: the kernel for calls without any tensor argument."""
        location = _caller(1)

        def register(func: Kernel) -> Kernel:
            self._register_impl("factory", func, location)
            self._op.kernels["factory"] = func
            return func

        return register

    def impl_abstract(self, _stacklevel: int = 2) -> Kernel:
        """Decorator: the kernel that returns shapes and dtypes for tensors without data."""
        location = _caller(1)

        def register(func: Kernel) -> Kernel:
            if not self._has_impl("abstract") and "meta" in self._op.kernels:
                raise RuntimeError(
                    f"impl_abstract(...): the operator {self._qualname} already has a Meta implementation via a "
                    "pre-existing library registration."
                )
            self._register_impl("abstract", func, location)
            self._op.kernels["meta"] = self._without_context(func, location)
            return func

        return register

    def _without_context(self, func: Kernel, location: str) -> Kernel:
        """A meta kernel in which ``get_ctx()`` is refused."""
        message = (
            f"Attempted to call get_ctx() for the meta implementation for {self._qualname}. You have presumably called "
            "get_ctx() because the operator has a data-dependent output shape; if so, there is no such meta "
            "implementation and this error is the correct behavior. Otherwise, please remove the call to get_ctx() in "
            f"the implementation registered with impl_abstract at {location}"
        )

        def meta_kernel(*args: Any, **kwargs: Any) -> Any:
            with refuse_context(message):
                return func(*args, **kwargs)

        return meta_kernel

    def _missing_kernel(self, kind: str | None) -> Exception:
        """The error for a call for which no kernel was registered."""
        if kind is None:
            return NotImplementedError(
                f"{self}: There were no Tensor inputs to this operator (e.g. you passed an empty list of Tensors). If "
                "your operator is a factory function (that is, it takes no Tensors and constructs a new one), then "
                "please use CustomOp.impl_factory to register an implementation for it"
            )
        if kind == "meta":
            return NotImplementedError(
                f"{self._qualname}: attempted to run this operator with Meta tensors, but there was no fake impl or "
                "Meta kernel registered. Please register one via CustomOp.impl_abstract"
            )
        return NotImplementedError(
            f"{self}: when running with device='{kind}' tensors: there is no {kind} impl registered for this CustomOp. "
            f"Please register one via CustomOp.impl(device_type='{kind}')"
        )

    # -- the two halves of the gradient
    def _register_half(self, kind: str, func: Kernel, location: str) -> None:
        self._register_impl(kind, func, location)
        if self._has_impl("backward") and self._has_impl("save_for_backward"):
            kernel = construct_autograd_kernel(self, self._output_differentiability)
            self._register_impl("autograd", kernel, location)

    def _check_can_register_backward(self) -> None:
        refuse_unregistrable(self._qualname, self._schema)
        if not self._registered_autograd_kernel_indirection:
            refuse_conflicts(self._op)
            self._register_autograd_kernel_indirection()

    def _register_autograd_kernel_indirection(self) -> None:
        self._op.autograd_kernel = autograd_kernel_indirection(self)
        self._registered_autograd_kernel_indirection = True

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[[Kernel], None]:
        """Decorator: ``f(inputs, output)`` returns what backward needs, in any nested structure."""
        location = _caller(1)

        def register(func: Kernel) -> None:
            self._check_can_register_backward()
            self._register_half("save_for_backward", func, location)

        return register

    def impl_backward(
        self, output_differentiability: list[bool] | None = None, _stacklevel: int = 2
    ) -> Callable[[Kernel], None]:
        """Decorator: ``f(ctx, saved, *grads)`` returns a dictionary from argument names to gradients."""
        check_differentiability(output_differentiability, len(self._schema.returns))
        location = _caller(1)

        def register(func: Kernel) -> None:
            self._check_can_register_backward()
            self._output_differentiability = output_differentiability
            self._register_half("backward", func, location)

        return register


global_registry: dict[str, CustomOp] = {}


def warn_deprecated() -> None:
    """Say that this interface has a successor."""
    warn(
        "torch._custom_op is deprecated and will be removed, please use the equivalent torch.library API instead.",
        DeprecationWarning,
    )


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[[Kernel], CustomOp]:
    """Decorator: declare ``namespace::name``; the function provides name, schema and documentation and never runs.

    ``ValueError`` for a bad name, a function of another name, and a schema that is not functional or not its own.
    """
    warn_deprecated()

    def make(func: Kernel) -> CustomOp:
        name = checked_name(qualname, func)
        text = (
            infer_schema(func, mutates_args=()) if manual_schema is None else manual_schema[manual_schema.find("(") :]
        )
        schema = parse_schema(name + text)
        validate_schema(schema)
        if manual_schema is not None:
            validate_function_matches_schema(schema, func)
        made = CustomOp(op_registry.define(qualname, text), _private_access=True)
        made.__name__, made.__module__, made.__doc__ = func.__name__, func.__module__, func.__doc__
        made._op.missing_kernel = made._missing_kernel
        made._op.definition = made
        made._register_autograd_kernel_indirection()
        return made

    return make


def get_op(qualname: str) -> OpOverload:
    """The registered operator of this name; ``ValueError`` if there is none."""
    found = op_registry.find(qualname)
    if found is None:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator."
        )
    return found


def custom_op_from_existing(op: OpOverload) -> CustomOp:
    """A ``CustomOp`` around an operator that was declared by other means."""
    return CustomOp(op, _private_access=True)


def _find_custom_op(qualname: str, also_check_torch_library: bool = False) -> CustomOp:
    if qualname in global_registry:
        return global_registry[qualname]
    if not also_check_torch_library:
        raise RuntimeError(f'Could not find custom op "{qualname}". Did you register it via the torch._custom_ops API?')
    return custom_op_from_existing(get_op(qualname))


def get_abstract_impl(qualname: str) -> Kernel | None:
    """The function given to ``impl_abstract``, if any."""
    found = global_registry.get(qualname)
    return found._impls["abstract"].func if found is not None and found._has_impl("abstract") else None
