"""Replaces public functions and methods by ones that consult ``__torch_function__`` of their arguments' classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ..tensors.base import tensor_class
from . import overrides
from .overrides import with_elements
from .python_functions import Arrange, arrangement, is_python, without_arguments

_ASKED = {"torch.autograd.grad": {"outputs": 0, "inputs": 1}, "torch.autograd.backward": {"tensors": 0, "inputs": 5}}
"""Functions that ask only some of their arguments, with the places of these."""


def _asked_values(args: tuple[Any, ...], kwargs: dict[str, Any], places: dict[str, int]) -> list[Any]:
    return [*with_elements(args[i] for i in places.values() if i < len(args)),
            *with_elements(kwargs[name] for name in places if name in kwargs)]  # fmt: skip


def overridable_call(
    function: Callable[..., Any], public_api: Callable[[], Any], asked: dict[str, int] | None = None,
    arrange: Arrange | None = None, tells_class: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """``function``, but ``__torch_function__`` of active modes and of its arguments' classes runs first.

    ``asked`` are the arguments whose classes are asked, if not all; ``arrange`` is the form in which they are handed
    over; with ``tells_class`` modes are told of the first argument's class, a plain tensor's too.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        here = overrides.HERE
        if here.all_off or (here.subclasses_off and not here.modes):
            return function(*args, **kwargs)
        if asked is None:
            values = [*with_elements(args), *with_elements(kwargs.values())]
        else:
            values = _asked_values(args, kwargs, asked)
        if not here.modes and not any(overrides.overrides_functions(v) for v in values):
            return function(*args, **kwargs)
        if arrange is not None:
            args, kwargs = arrange(args, kwargs)
            return overrides.handle_torch_function(public_api(), values, *args, **kwargs)
        found = [] if here.subclasses_off else [args[0]] if tells_class else overrides.overloaded(values)
        return overrides.asked(public_api(), found, args, kwargs)

    return call


_FACES: list[tuple[dict[str, Any], str, list[str]]] = []
"""Namespaces of the public modules, their names in torch, and which of their names are operators."""
_UNASKED: list[tuple[dict[str, Any], str]] = []
"""Namespaces, and names there of functions that nobody is asked about."""
_AWAITING: dict[str, list[Callable[[dict[str, Any]], None]]] = {}
"""By public module, what waits for its namespace."""
_PLAIN_PREFIXES = ("set_", "get_", "use_", "are_", "is_storage", "is_tensor", "is_deterministic")
_PLAIN = frozenset({"save", "load", "seed", "typename", "compile", "broadcast_shapes", "result_type", "can_cast"})
"""Functions that concern no tensor in particular."""


def make_overridable(namespace: dict[str, Any], module: str, functions: Iterable[str]) -> None:
    """Note a public module's functions (by name in its ``globals()``), so that ``install`` reaches them."""
    offered = list(functions)
    say_where_they_are(namespace, offered)
    names = [n for n in offered if n not in _PLAIN and not n.startswith(_PLAIN_PREFIXES)]
    _FACES.append((namespace, module, names))
    _UNASKED.extend((namespace, n) for n in offered if n not in names)
    if overrides.INSTALLED:
        _install_face(namespace, module, names)
    for use in _AWAITING.pop(module, []):
        use(namespace)


def say_where_they_are(namespace: dict[str, Any], names: list[str]) -> None:
    """Give functions the module and name under which programs, and ``pickle``, find them."""
    module = namespace["__name__"]
    for name in names:
        function = namespace.get(name)
        if isinstance(function, FunctionType):
            function.__module__, function.__qualname__ = module, name


def when_loaded(module: str, use: Callable[[dict[str, Any]], None]) -> None:
    """Call ``use`` with the ``globals()`` of a public module: now, or as soon as it is loaded."""
    for namespace, name, _ in _FACES:
        if name == module:
            use(namespace)
            return
    _AWAITING.setdefault(module, []).append(use)


def called_publicly(module: str, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """A public function, called by code of ours that PyTorch has in Python, so that modes and classes are asked.

    ``plain`` is that function where no program has used the module so far, and nobody is asked.
    """
    spaces: list[dict[str, Any]] = []
    when_loaded(module, spaces.append)
    return lambda *args, **kwargs: (spaces[0][name] if spaces else plain)(*args, **kwargs)


def install() -> None:
    """Wrap the public functions and methods; called by whatever makes that necessary."""
    if overrides.INSTALLED:
        return
    overrides.INSTALLED = True
    _install_methods(tensor_class())
    for face in _FACES:
        _install_face(*face)


def _install_face(namespace: dict[str, Any], module: str, names: list[str]) -> None:
    for name in names:
        function = namespace.get(name)
        if function is None or isinstance(function, type) or function in overrides.NAMES:
            continue
        asked = _ASKED.get(f"{module}.{name}")
        arrange = arrangement(name, function) if is_python(module, name) else None
        made = overridable_call(function, lambda space=namespace, n=name: space[n], asked, arrange)  # type: ignore[misc]
        namespace[name] = _named(made, function, _PREFIXES.get(module, "") + name)
        overrides.NAMES[made] = f"{module}.{name}"
    say_where_they_are(namespace, names)


_PREFIXES = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}
"""How functions of some modules are called among all functions."""


def _named(made: Any, function: Any, name: str) -> Any:
    made.__name__ = made.__qualname__ = name
    made.__doc__, made.__wrapped__ = getattr(function, "__doc__", None), function
    return made


_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__mod__": "remainder", "__pow__": "pow", "__matmul__": "matmul", "__ne__": "ne", "__lt__": "lt", "__le__": "le",
    "__gt__": "gt", "__ge__": "ge", "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__ipow__": "pow_", "__neg__": "neg",
    "__pos__": "positive", "__abs__": "abs",
}  # fmt: skip
"""Operators that torch has under the name of a method."""
_NOT_OVERRIDABLE = frozenset(
    (
        "__new__", "__init_subclass__", "__torch_function__", "__torch_dispatch__", "__hash__", "__iter__",
        "__reduce_ex__", "as_subclass",
        "_make_subclass", "_make_wrapper_subclass",
        "__class__", "__doc__", "__dict__", "__weakref__", "__getattr__", "__setattr__", "need_meta",
    )
)  # fmt: skip


def _install_methods(tensor: Any) -> None:
    attributes = {name: value for cls in reversed(tensor.__mro__[:-1]) for name, value in vars(cls).items()}
    for name, value in attributes.items():
        if name in _NOT_OVERRIDABLE or (name.startswith("_") and not name.startswith("__") and name not in _PRIVATE):
            continue
        if isinstance(value, property):
            setattr(tensor, name, _overridable_property(tensor, name, value))
        elif callable(value) and not isinstance(value, type):
            public = _OPERATORS.get(name, name)
            arrange = arrangement(name, value) if is_python("torch.Tensor", name) else None
            api = lambda n=public: tensor.__dict__[n]  # noqa: E731
            made = overridable_call(value, api, None, arrange, without_arguments(public, value))
            setattr(tensor, name, _named(made, value, "__rdiv__" if public == "__rtruediv__" else public))
            overrides.NAMES[made] = f"torch.Tensor.{public}"


_PRIVATE = frozenset({"_version", "_base", "_is_view", "_backward_hooks", "_grad_fn"})


def _overridable_property(tensor: Any, name: str, value: property) -> property:
    """A property whose reading, setting and deleting can be overridden like calls of its ``__get__`` and so on."""

    def api(part: str) -> Callable[[], Any]:
        return lambda: getattr(tensor.__dict__[name], part)

    parts: list[Any] = [
        None if function is None else overridable_call(function, api(part), tells_class=part == "__get__")
        for function, part in ((value.fget, "__get__"), (value.fset, "__set__"), (value.fdel, "__delete__"))
    ]
    kind: Any = _Attribute
    made: _Attribute = kind(*parts, value.__doc__)
    made.__name__ = name
    return made


class _Attribute(property):
    """A property that knows its name, as those of C have it."""

    __name__ = ""

    def __repr__(self) -> str:
        return f"<attribute '{self.__name__}' of 'torch._C.TensorBase' objects>"


def not_overridable() -> set[Any]:
    """Every public function that nobody is asked about."""
    return {namespace[name] for namespace, name in _UNASKED if name in namespace}


def overridable() -> list[Any]:
    """Every public function and method that is overridable."""
    install()
    return list(overrides.NAMES)


def subclass_defined(cls: type, /, **kwargs: Any) -> None:
    """Wrap the public functions as soon as a subclass of Tensor overrides them."""
    super(tensor_class(), cls).__init_subclass__(**kwargs)
    if overrides.answers(cls):
        install()
