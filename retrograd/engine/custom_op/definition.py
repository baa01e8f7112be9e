"""``library.custom_op``: makes an operator with schema, kernels, fake kernel and gradient of a Python function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.devices import DEVICE_TYPES
from ..overriding.tags import Tag, as_tags
from ..switches.modes import is_grad_enabled
from . import registry as op_registry
from .autograd import AutogradRule, make_autograd_kernel
from .memory import memory_block
from .registry import AutogradKernel, Kernel, OpOverload, tensors_in
from .schema import FunctionSchema
from .schema_inference import Mutated, infer_schema, written_names
from .schema_parser import parse_qualname, parse_schema
from .unavailable import unavailable

# Rules that hold around a custom operator's kernels: results are new memory, in-place and out forms, fake writes.


def check_aliasing(op: OpOverload, fn: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Raise unless the results are new tensors with new memory, or what the operator's tag says."""
    if Tag.inplace in op.tags:
        if result is not args[0]:
            raise RuntimeError(
                f"{_where(op, fn)}: An operator tagged with torch.Tag.inplace must return its first argument."
            )
        return
    if Tag.out in op.tags:
        _check_out(op, fn, kwargs, result)
        return
    seen = {memory_block(t) for t in tensors_in((*args, *kwargs.values()))}
    for tensor in tensors_in((result,)):
        block = memory_block(tensor)
        if block in seen:
            raise RuntimeError(
                f"{_where(op, fn)}: The output of this custom operator (1) must not also be an input to this custom "
                "operator and (2) may not alias any inputs to this custom operator or other returns. The most common "
                "way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please "
                "instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
                "custom operator to not return y."
            )
        seen.add(block)


def _check_out(op: OpOverload, fn: Kernel, kwargs: dict[str, Any], result: Any) -> None:
    expected = [kwargs[a.name] for a in op._schema.keyword_only if a.is_write]
    returned = list(result) if isinstance(result, list | tuple) else [result]
    if len(returned) != len(expected) or any(r is not e for r, e in zip(returned, expected, strict=True)):
        raise RuntimeError(
            f"{_where(op, fn)}: An operator tagged with torch.Tag.out must return its mutable keyword-only arguments."
        )


def _where(op: OpOverload, fn: Kernel) -> str:
    module = sys.modules.get(getattr(fn, "__module__", ""), None)
    return f"{op.opname} (with implementation in {module or 'an unknown module'})"


def fake_written(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Fake result of an operator that returns nothing or exactly what it wrote."""
    written = list(op.written_tensors(args, kwargs))
    returns = op._schema.returns
    if not returns:
        return None
    return written[0] if len(returns) == 1 else tuple(written)


def refuse_out_autograd(op: OpOverload) -> AutogradKernel:
    """Autograd entry of an out-tagged operator: an error if anything requires grad, else straight to the kernel."""

    def kernel(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_grad_enabled() and any(t.requires_grad for t in tensors_in((*args, *kwargs.values()))):
            raise RuntimeError(
                f"{op.opname}(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )
        return op.below_autograd(args, kwargs)

    return kernel


DeviceTypes = str | Sequence[str] | None


class CustomOpDef:
    """An operator made by ``custom_op``: callable like its function, and open for more registrations."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Kernel, tags: tuple[Tag, ...] = ()) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._tags = tags
        self._init_fn = fn
        self._backend_fns: dict[str | None, Kernel] = {}
        self._disabled_kernel: set[str] = set()
        self._abstract_fn: Kernel | None = None
        self._rule = AutogradRule()
        parsed = parse_schema(name.partition(".")[0] + schema)
        if Tag.out not in tags:
            _refuse_keyword_only_tensors(parsed)
        self._opoverload = op_registry.define(
            f"{namespace}::{name}", schema, tags=(Tag.pt2_compliant_tag, *tags), redefine=True
        )
        self._connect()

    def _connect(self) -> None:
        """Put this definition's kernels behind the operator."""
        op = self._opoverload
        op.definition = self
        op.bumps_versions = op._schema.is_mutable
        op.kernels["meta"] = self._run_fake
        op.autograd_kernel = make_autograd_kernel(op, self._rule)
        if Tag.out in self._tags:
            op.autograd_kernel = refuse_out_autograd(op)

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _owner(self) -> CustomOpDef:
        """The definition in force: an older handle of a redefined operator passes everything on."""
        found = self._opoverload.definition
        return found if isinstance(found, CustomOpDef) else self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    # -- kernels
    def register_kernel(self, device_types: DeviceTypes, fn: Kernel | None = None, /) -> Any:
        """Use ``fn`` for tensors on these devices (``None``: on all without their own kernel); also a decorator.

        A later registration replaces an earlier one.  ``ValueError`` for an operator without tensor arguments that
        has no ``device`` argument to choose by.
        """

        def register(fn: Kernel) -> Kernel:
            names = (
                [None] if device_types is None else [device_types] if isinstance(device_types, str) else device_types
            )
            for device in names:
                self._owner._register_backend(device, fn)
            return fn

        return register if fn is None else register(fn)

    def _register_backend(self, device: str | None, fn: Kernel) -> None:
        """Register the kernel of a device, or of all (None)."""
        if device is not None and device.partition(":")[0] not in DEVICE_TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {device}"
            )
        schema = self._opoverload._schema
        by_device = _device_position(schema)
        if device is not None and not any(a.type.is_tensor_like for a in schema.arguments) and by_device is None:
            raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")
        self._backend_fns[device] = fn
        kernels = self._opoverload.kernels
        kernels["default" if device is None else device] = self._checked(device)
        if device is not None and by_device is not None and not any(a.type.is_tensor_like for a in schema.arguments):
            kernels["factory"] = self._by_device_argument

    def _checked(self, device: str | None) -> Kernel:
        """The kernel for a device as it runs: perhaps disabled, its result checked for aliasing."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            fn = self._init_fn if device in self._disabled_kernel else self._backend_fns[device]
            result = fn(*args, **kwargs)
            check_aliasing(self._opoverload, fn, args, kwargs, result)
            return result

        return kernel

    def _by_device_argument(self, *args: Any, **kwargs: Any) -> Any:
        """Kernel of an operator without tensor arguments: its ``device`` argument decides."""
        position = _device_position(self._opoverload._schema)
        values = [*args, *kwargs.values()]
        device = values[position].type if position is not None and values[position] is not None else "cpu"
        kernel = self._opoverload.kernels.get(device) or self._opoverload.kernels.get("default")
        if kernel is None or device == "meta":
            raise RuntimeError(
                f"{self._name} does not have a kernel registered for {device}. Please use register_kernel to do so."
            )
        return kernel(*args, **kwargs)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside the block, switch a device's own kernel off (the original function runs instead) or on again."""
        disabled = self._owner._disabled_kernel
        before = device_type in disabled
        (disabled.discard if enabled else disabled.add)(device_type)
        try:
            yield
        finally:
            (disabled.add if before else disabled.discard)(device_type)

    # -- fake kernel
    def register_fake(self, fn: Kernel, /) -> Kernel:
        """Use ``fn`` to work out shapes and dtypes of the results for tensors without data."""
        self._owner._abstract_fn = fn
        return fn

    def _run_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is not None:
            return self._abstract_fn(*args, **kwargs)
        schema = self._opoverload._schema
        if schema.returns and not (Tag.inplace in self._tags or Tag.out in self._tags):
            raise RuntimeError(
                f"There was no fake impl registered for {self}. This is necessary for tensors without data. "
                f"Please use `{self._init_fn.__name__}.register_fake` to add a fake impl."
            )
        return fake_written(self._opoverload, args, kwargs)

    # -- gradient
    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Use ``backward(ctx, *grads)`` as the gradient; ``setup_context(ctx, inputs, output)`` saves for it.

        The last registration counts, also for graphs that were recorded before.  ``RuntimeError`` for operators that
        write to their arguments.
        """
        schema = self._opoverload._schema
        if Tag.out in self._tags:
            raise RuntimeError(
                f"Cannot register autograd formula for operator tagged with torch.Tag.out: {self}. "
                "Out variants do not support autograd."
            )
        if schema.is_mutable or schema.returns_view:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema {schema}. "
                "Please create a functional operator and register an autograd formula for that."
            )
        rule = self._owner._rule
        rule.backward, rule.setup_context = backward, setup_context

    def register_vmap(self, func: Kernel | None = None) -> Any:
        """The rule for batches: ``func(info, in_dims, *args)`` gives outputs and their batch dimensions.

        It is called where ``vmap`` maps the operator itself; within a mapped function each entry is one call.
        """
        if func is None:
            return self.register_vmap
        self._opoverload.batch_rule = func
        return None

    @property
    def batch_rule(self) -> Kernel | None:
        """The function passed to ``register_vmap``."""
        return self._opoverload.batch_rule

    # -- registrations that have nothing to act on; all raise ``NotImplementedError``
    register_autocast = unavailable("register_autocast")
    register_torch_dispatch = unavailable("register_torch_dispatch")
    register_effect = unavailable("register_effect")


def _device_position(schema: FunctionSchema) -> int | None:
    """Index of the ``device`` argument among all arguments."""
    for index, argument in enumerate((*schema.positional, *schema.keyword_only)):
        if argument.name == "device" and argument.type.base == "Device":
            return index
    return None


def _refuse_keyword_only_tensors(schema: FunctionSchema) -> None:
    if any(a.type.is_tensor_like for a in schema.keyword_only):
        raise NotImplementedError(
            f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {schema}"
        )


def custom_op(
    name: str,
    fn: Kernel | None = None,
    /,
    *,
    mutates_args: Mutated,
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tag | Iterable[Tag] | None = None,
) -> Any:
    """Make a function an operator called ``namespace::name``; decorator, or direct call with ``fn``.

    ``mutates_args`` names the arguments it writes to (or ``"unknown"``), ``device_types`` the devices it serves
    (all by default), ``schema`` replaces the one inferred from annotations.  ``ValueError`` for a bad name, for
    annotations that have no schema, and when ``schema`` and ``mutates_args`` contradict each other.

    >>> import retrograd as torch
    >>> @torch.library.custom_op("shown::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> twice.register_autograd(lambda ctx, g: g * 2)
    >>> x = torch.ones(2, requires_grad=True)
    >>> twice(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def make(fn: Kernel) -> CustomOpDef:
        found_tags = as_tags(tags)
        text = infer_schema(fn, mutates_args=mutates_args, tags=found_tags) if schema is None else schema
        namespace, op_name = parse_qualname(name)
        if schema is not None:
            _check_agreement(op_name, schema, mutates_args)
        made = CustomOpDef(namespace, op_name, text, fn, found_tags)
        made.register_kernel(device_types, fn)
        return made

    return make if fn is None else make(fn)


def _check_agreement(op_name: str, schema: str, mutates_args: Mutated) -> None:
    written = written_names(parse_schema(op_name.partition(".")[0] + schema).arguments)
    if isinstance(mutates_args, str) or set(mutates_args) != written:
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}`. The schema "
            f"suggests that the op mutates {written or '{}'}, which is different from what was provided to us in "
            "`mutates_args`. Please make these consistent."
        )


def definition_of(op: OpOverload) -> CustomOpDef | None:
    """The ``CustomOpDef`` behind an operator, if there is one."""
    return op.definition if isinstance(op.definition, CustomOpDef) else None
