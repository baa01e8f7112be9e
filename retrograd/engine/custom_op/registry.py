"""Operators declared by the program: kernels by device, one registry, and ``ops.namespace.name`` to call them.

A call is bound to the schema, goes through the autograd kernel if there is one, and from there "below autograd":
versions of written arguments are raised, then the kernel for the device of the tensors runs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..calls.inplace import bump_version, prepare_write
from ..core.batches import between_batches, spread
from ..overriding import aten
from ..overriding.dispatch_classes import ask, asked_of
from ..overriding.dispatch_modes import asked
from ..overriding.overrides import with_elements
from ..overriding.tags import Tag
from ..switches import watchers
from ..switches.state import STATE
from ..tensors.tensor import Tensor
from .fake_mode import is_fake_mode
from .schema import FunctionSchema
from .schema_binding import bind, bind_result
from .schema_parser import parse_schema

Kernel = Callable[..., Any]
AutogradKernel = Callable[[tuple[Any, ...], dict[str, Any]], Any]
DISPATCH_KEYS = {
    "CPU": "cpu", "CUDA": "cuda", "Meta": "meta", "Autograd": "autograd", "AutogradCPU": "autograd",
    "CompositeExplicitAutograd": "default", "CompositeImplicitAutograd": "implicit", "": "implicit",
    "BackendSelect": "factory", "AutogradCUDA": "autograd_cuda", "Functionalize": "functionalize",
}  # fmt: skip
"""PyTorch's dispatch key -> where a kernel registered under it belongs."""


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """Tensors among call arguments, also inside lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)


@aten.OpOverload.register
class OpOverload:
    """One operator: schema, kernels by device, autograd kernel.  Redefinition keeps the object."""

    def __init__(self, schema: FunctionSchema, tags: Iterable[Tag] = ()) -> None:
        self.reset(schema, tags)

    def reset(self, schema: FunctionSchema, tags: Iterable[Tag] = ()) -> None:
        """Start over with another declaration; handles that users hold call the new operator."""
        self._schema = schema
        self.tags = list(tags)
        self.kernels: dict[str, Kernel] = {}
        self.autograd_kernel: AutogradKernel | None = None
        self.bumps_versions = False
        self.missing_kernel: Callable[[str | None], Exception] | None = None
        self.batch_rule: Kernel | None = None
        """What ``register_vmap`` was given."""
        self.definition: Any = None
        """The ``CustomOpDef`` or ``CustomOp`` behind it, or the rule of a library's operator."""

    @property
    def qualname(self) -> str:
        """``namespace::name`` without the overload."""
        return self._schema.name

    @property
    def namespace(self) -> str:
        """The part before ``::``."""
        return self._schema.name.partition("::")[0]

    @property
    def opname(self) -> str:
        """The part after ``::``."""
        return self._schema.name.partition("::")[2]

    @property
    def overload(self) -> str:
        """The overload's name, ``default`` for the only one."""
        return self._schema.overload_name or "default"

    @property
    def __name__(self) -> str:
        return f"{self.opname}.{self.overload}"

    def name(self) -> str:
        """``namespace::name`` with the overload if it has one."""
        dot = f".{self._schema.overload_name}" if self._schema.overload_name else ""
        return self.qualname + dot

    def __str__(self) -> str:
        return f"{self.namespace}.{self.opname}.{self.overload}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self.opname}', overload='{self.overload}')>"

    @property
    def is_defined(self) -> bool:
        """Whether the operator is still registered."""
        return _REGISTRY.get(self.qualname, {}).get(self.overload) is self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.is_defined:
            raise RuntimeError(f"operator {self.name()} does not exist: it was removed from the registry.")
        bound, keywords = bind(self._schema, args, kwargs)
        if self.autograd_kernel is not None:
            return self.autograd_kernel(bound, keywords)
        return self.below_autograd(bound, keywords)

    def below_autograd(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the kernel for bound arguments and check its result; dispatch modes come first."""
        found = asked_of(with_elements((*args, *kwargs.values()))) if watchers.DISPATCHING else None
        if found:
            return ask(self, found, args, kwargs)
        if STATE.dispatch_modes:
            return asked(self, args, kwargs)
        return self.run_kernel(args, kwargs)

    def run_kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The kernel's result for bound arguments, without dispatch modes."""
        if self.bumps_versions:
            for tensor in self.written_tensors(args, kwargs):
                prepare_write(tensor)
                bump_version(tensor)
        kernel = self.find_kernel(args, kwargs)
        if STATE.batches and kernel is not self.kernels.get("implicit"):
            return self._of_entries(kernel, args, kwargs)
        return bind_result(self._schema, kernel(*args, **kwargs))

    def _of_entries(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results of a kernel, which may compute by any means, for entries of a batch."""
        with between_batches():
            made = bind_result(self._schema, kernel(*args, **kwargs))
        spread(tensors_in((*args, *kwargs.values())), tensors_in((made,)))
        return made

    def written_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
        """The tensors a call is declared to write, once per mention."""
        positional = zip(self._schema.positional, args, strict=True)
        for argument, value in [*positional, *((a, kwargs[a.name]) for a in self._schema.keyword_only)]:
            if argument.is_write:
                yield from tensors_in((value,))

    def find_kernel(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kernel:
        """The kernel for a call; ``NotImplementedError`` if none is registered."""
        kind = self.device_kind(args, kwargs)
        if kind != "meta":
            order: tuple[str, ...] = (kind or "factory", "default", "implicit")
        else:  # a composite of ordinary operators needs no fake kernel of its own
            order = ("meta", "default", "implicit")
        for key in order:
            if key in self.kernels:
                return self.kernels[key]
        raise self.missing_kernel(kind) if self.missing_kernel is not None else self._no_kernel(kind)

    def device_kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """``meta`` if data-less tensors take part, the tensors' device otherwise, ``None`` without tensors."""
        kinds = {t.device.type for t in tensors_in((*args, *kwargs.values()))}
        if is_fake_mode() or "meta" in kinds:
            return "meta"
        return min(kinds) if kinds else None

    def _no_kernel(self, kind: str | None) -> Exception:
        if kind is None:
            return NotImplementedError(
                f"There were no tensor arguments to this function ({self.name()}), and no kernel is registered for "
                'that; register one with Library.impl(name, fn, "CompositeExplicitAutograd").'
            )
        backend = {"cpu": "CPU", "meta": "Meta"}.get(kind, kind)
        return NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{backend}' backend. It is only available for: "
            f"{sorted(self.kernels)}; register a kernel for '{kind}'."
        )


@aten.OpOverloadPacket.register
class OpOverloadPacket:
    """``ops.namespace.name``: all overloads of one operator; calling it runs the first whose schema fits."""

    def __init__(self, qualname: str) -> None:
        self._qualified_op_name = qualname
        self.__name__ = qualname.partition("::")[2]

    @property
    def batch_rule(self) -> Kernel | None:
        """The rule for batches of the first overload, if it has one."""
        found = list(_REGISTRY.get(self._qualified_op_name, {}).values())
        return found[0].batch_rule if found else None

    def overloads(self) -> list[str]:
        """Names of the overloads."""
        return list(_REGISTRY.get(self._qualified_op_name, {}))

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _REGISTRY[self._qualified_op_name][name]
        except KeyError:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'") from None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = list(_REGISTRY.get(self._qualified_op_name, {}).values())
        for overload in found[:-1]:
            try:
                bind(overload._schema, args, kwargs)
            except RuntimeError:
                continue
            return overload(*args, **kwargs)
        if not found:
            raise RuntimeError(f"operator {self._qualified_op_name} does not exist: it was removed from the registry.")
        return found[-1](*args, **kwargs)

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class OpNamespace(types.ModuleType):
    """``ops.namespace``: its operators are attributes."""

    def __init__(self, name: str) -> None:
        super().__init__(f"retrograd.ops.{name}")
        self.__dict__["_namespace"] = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        namespace = self.__dict__["_namespace"]
        qualname = f"{namespace}::{name}"
        if qualname not in _REGISTRY:
            raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")
        return _PACKETS.setdefault(qualname, OpOverloadPacket(qualname))

    def __dir__(self) -> list[str]:
        prefix = f"{self.__dict__['_namespace']}::"
        return sorted(q.removeprefix(prefix) for q in _REGISTRY if q.startswith(prefix))


class OpsRoot(types.ModuleType):
    """``ops``: every namespace is an attribute, also one that is still empty."""

    def __init__(self) -> None:
        super().__init__("retrograd.ops", "Operators that the program declares, by namespace and name.")

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        space = self.__dict__[name] = OpNamespace(name)
        return space

    def __dir__(self) -> list[str]:
        return sorted({q.partition("::")[0] for q in _REGISTRY})


_REGISTRY: dict[str, dict[str, OpOverload]] = {}
_PACKETS: dict[str, OpOverloadPacket] = {}
ops = OpsRoot()


def define(qualname: str, signature: str, *, tags: Iterable[Tag] = (), redefine: bool = False) -> OpOverload:
    """Register ``namespace::name[.overload]`` with a signature ``(…) -> …``; ``RuntimeError`` if it exists already."""
    name, _, overload_name = qualname.partition(".")
    short = name.partition("::")[2]
    schema = parse_schema(short + signature).qualified(name, overload_name)
    overload = overload_name or "default"
    existing = _REGISTRY.get(name, {}).get(overload)
    if existing is not None:
        if not redefine:
            raise RuntimeError(
                f"Tried to register an operator ({schema}) with the same name and overload name multiple times. "
                "Each overload's schema should only be registered once; choose another name or remove the first."
            )
        existing.reset(schema, tags)
        return existing
    op = OpOverload(schema, tags)
    _REGISTRY.setdefault(name, {})[overload] = op
    return op


def undefine(op: OpOverload) -> None:
    """Remove an operator from the registry."""
    overloads = _REGISTRY.get(op.qualname, {})
    if overloads.get(op.overload) is op:
        del overloads[op.overload]
        if not overloads:
            del _REGISTRY[op.qualname]


def find(qualname: str) -> OpOverload | None:
    """The operator ``namespace::name[.overload]``, or ``None``."""
    name, _, overload = qualname.partition(".")
    return _REGISTRY.get(name, {}).get(overload or "default")
