"""``Library`` and the functions of ``torch.library`` that work by operator name."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..overriding.tags import Tag, as_tags
from . import registry as op_registry
from .autograd import AutogradRule, make_autograd_kernel
from .definition import CustomOpDef, definition_of
from .registry import DISPATCH_KEYS, AutogradKernel, Kernel, OpOverload
from .schema_parser import parse_qualname
from .unavailable import unavailable

_RESERVED = ("prim",)
_KINDS = ("DEF", "IMPL", "FRAGMENT")
_DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "default": "CompositeExplicitAutograd"}
AnyOp = str | OpOverload | CustomOpDef


class Library:
    """Operators of one namespace, declared by schema text, and kernels; they vanish with the library."""

    __module__ = "retrograd.library"

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._undo: list[Callable[[], None]] = []
        self._finalizer = weakref.finalize(self, _undo_all, self._undo)
        self._pending: dict[str, dict[str, Kernel]] = {}

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Tag | Iterable[Tag] = ()) -> str:
        """Declare ``name(arguments) -> returns`` in this namespace and return the name."""
        if self.kind == "IMPL":
            raise RuntimeError(
                f"Cannot define an operator inside of a library of kind IMPL: {self!r} only adds kernels; "
                "use one of kind DEF or FRAGMENT."
            )
        name, bracket, rest = schema.strip().partition("(")
        if not name or not bracket:
            raise RuntimeError(f"expected ident but found '{schema[:1]}' here:\n{schema}\n~ <--- HERE\n")
        op = op_registry.define(f"{self.ns}::{name}", bracket + rest, tags=as_tags(tags))
        self._undo.append(partial(op_registry.undefine, op))
        for key, fn in self._pending.pop(name, {}).items():
            self._undo.append(_connect(op, key, fn))
        return name

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Kernel,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Register a kernel under one of PyTorch's dispatch keys (``CPU``, ``Meta``, ``Autograd``, composite ones)."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key
        if key not in DISPATCH_KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        kernel: Kernel = (lambda *args, **kwargs: fn(key, *args, **kwargs)) if with_keyset else fn
        name = op_name.opname if isinstance(op_name, OpOverload) else op_name.rpartition("::")[2]
        op = op_registry.find(f"{self.ns}::{name}")
        if op is None:
            self._pending.setdefault(name, {})[DISPATCH_KEYS[key]] = kernel
        else:
            self._undo.append(_connect(op, DISPATCH_KEYS[key], kernel))

    def _register_fake(self, op_name: str, fn: Kernel, **_unused: Any) -> None:
        self.impl(op_name, fn, "Meta")

    def _destroy(self) -> None:
        """Remove the operators and kernels that this library registered."""
        _undo_all(self._undo)


def _undo_all(undo: list[Callable[[], None]]) -> None:
    while undo:
        undo.pop()()


def _connect(op: OpOverload, key: str, fn: Kernel) -> Callable[[], None]:
    """Register a kernel; the result unregisters it if it is still registered."""
    if key == "autograd":

        def entry(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return fn(*args, **kwargs)

        op.autograd_kernel = entry
        return partial(_disconnect_autograd, op, entry)
    op.kernels[key] = fn
    return partial(_disconnect, op, key, fn)


def _disconnect(op: OpOverload, key: str, fn: Kernel) -> None:
    if op.kernels.get(key) is fn:
        del op.kernels[key]


def _disconnect_autograd(op: OpOverload, entry: AutogradKernel) -> None:
    if op.autograd_kernel is entry:
        op.autograd_kernel = None


@contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A library whose operators exist only inside the block."""
    library = Library(ns, kind, dispatch_key)
    try:
        yield library
    finally:
        library._destroy()


_FOREVER: list[Library] = []


def _everlasting(namespace: str) -> Library:
    """A library that is never destroyed, for registrations without an owner."""
    library = Library(namespace, "FRAGMENT")
    _FOREVER.append(library)
    return library


def define(
    qualname: str | Library, schema: str, *, lib: Library | None = None, tags: Tag | Iterable[Tag] = ()
) -> Callable[[Kernel], Kernel] | None:
    """Declare ``namespace::name`` with a signature ``(arguments) -> returns``.

    Without ``lib`` it stays declared until the process ends.  ``ValueError`` for a name without a namespace,
    ``RuntimeError`` for one that is declared already.  The older form is a decorator: ``define(library, schema)``.
    """
    if isinstance(qualname, Library):
        return partial(_declared_with, qualname, schema)
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = parse_qualname(qualname)
    if lib is None:
        lib = _everlasting(namespace)
    lib.define(name + schema, tags=tags)
    return None


def _declared_with(library: Library, schema: str, kernel: Kernel) -> Kernel:
    """The decorator returned by ``define(library, schema)``."""
    library.impl(library.define(schema), kernel)
    return kernel


def impl(
    qualname: str | Library, types: str | Sequence[str] = "", func: Any = None, *, lib: Library | None = None
) -> Any:
    """Register a kernel for ``"cpu"``, ``"default"`` or other device types; decorator or direct call.

    ``RuntimeError`` for an unknown device type.  The older form is ``impl(library, name, dispatch_key="")``.
    """
    if isinstance(qualname, Library):
        return partial(_implemented_with, qualname, str(types), key=func or "")
    namespace, name = parse_qualname(qualname)
    keys = []
    for device in [types] if isinstance(types, str) else types:
        if device not in _DEVICE_KEYS:
            raise RuntimeError(
                f"Expected one of {', '.join(_DEVICE_KEYS)} device type at start of device string: {device}"
            )
        keys.append(_DEVICE_KEYS[device])

    def register(func: Kernel) -> None:
        library = _everlasting(namespace) if lib is None else lib
        for key in keys:
            library.impl(name, func, key)

    if func is None:
        return register
    register(func)
    return None


def _implemented_with(library: Library, name: str, kernel: Kernel, key: str) -> Kernel:
    """The decorator returned by ``impl(library, name, key)``."""
    library.impl(name, kernel, key)
    return kernel


def _resolve(function: str, op: AnyOp) -> OpOverload:
    """The operator meant by a name, an operator or a ``CustomOpDef``."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverload):
        return op
    if not isinstance(op, str):
        raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")
    namespace, name = parse_qualname(op)
    found = op_registry.find(op)
    if found is None:
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name.partition('.')[0]}'")
    return found


def register_autograd(
    op: AnyOp,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """``CustomOpDef.register_autograd`` by name; works for a library's operators too."""
    found = _resolve("register_autograd", op)
    definition = definition_of(found)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    schema = found._schema
    if not schema.is_functional:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {found} with schema {schema}. "
            "Please create a functional operator and register an autograd formula for that."
        )
    if any(a.type.is_tensor_like for a in schema.keyword_only):
        raise NotImplementedError(
            f"register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your "
            f"tensors not kwarg-only. Got: {schema}"
        )
    if not isinstance(found.definition, AutogradRule):
        found.definition = AutogradRule()
        found.autograd_kernel = make_autograd_kernel(found, found.definition)
    found.definition.backward, found.definition.setup_context = backward, setup_context


def register_fake(
    op: AnyOp,
    func: Kernel | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """``CustomOpDef.register_fake`` by name; decorator or direct call."""
    if isinstance(op, str):
        parse_qualname(op)
        if op_registry.find(op) is None:
            raise RuntimeError(f"operator {op} does not exist")
    found = _resolve("register_fake", op)

    def register(func: Kernel) -> Kernel:
        definition = definition_of(found)
        if definition is not None:
            return definition.register_fake(func)
        found.kernels["meta"] = func
        return func

    return register if func is None else register(func)


def register_kernel(
    op: AnyOp, device_types: str | Sequence[str] | None, func: Kernel | None = None, /, *, lib: Library | None = None
) -> Any:
    """``CustomOpDef.register_kernel`` by name; decorator or direct call."""
    found = _resolve("register_kernel", op)
    definition = definition_of(found)
    if definition is not None:
        return definition.register_kernel(device_types, func)

    def register(func: Kernel) -> Kernel:
        devices = (
            ["default"] if device_types is None else [device_types] if isinstance(device_types, str) else device_types
        )
        for device in devices:
            found.kernels[device] = func
        return func

    return register if func is None else register(func)


def register_vmap(op: AnyOp, func: Kernel | None = None, /, *, lib: Library | None = None) -> Any:
    """The rule by which ``vmap`` maps an operator: decorator or direct call."""
    found = _resolve("register_vmap", op)

    def register(func: Kernel) -> None:
        found.batch_rule = func

    return register if func is None else register(func)


register_autocast = unavailable("register_autocast")
register_torch_dispatch = unavailable("register_torch_dispatch")
triton_op = unavailable("triton_op")
wrap_triton = unavailable("wrap_triton")
fallthrough_kernel = unavailable("fallthrough_kernel")
get_kernel = unavailable("get_kernel")
