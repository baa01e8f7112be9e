"""Replaces public functions and methods by ones that consult ``__torch_function__`` of their arguments' classes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Final

from .. import late
from ..core.registry import OPS
from . import overrides
from .overrides import with_elements

# Functions that PyTorch writes in Python: what they hand to `__torch_function__`.
#
# Arguments that must be given go by position, all others by name, also those that the caller left out.  The classes
# named are those of all tensors among the arguments, plain ones too.

Arrange = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

_FUNCTIONS: Final = {
    "torch.nn.functional": frozenset((
        "adaptive_avg_pool2d", "adaptive_avg_pool3d", "affine_grid", "alpha_dropout", "batch_norm",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "cosine_embedding_loss", "cross_entropy",
        "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding", "embedding_bag",
        "feature_alpha_dropout", "fold", "gaussian_nll_loss", "glu", "grid_sample", "group_norm", "gumbel_softmax",
        "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate",
        "kl_div", "l1_loss", "layer_norm", "leaky_relu", "local_response_norm", "log_softmax", "lp_pool1d",
        "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d",
        "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
        "multilabel_soft_margin_loss", "nll_loss", "normalize", "pad", "poisson_nll_loss", "relu", "relu6",
        "rms_norm", "rrelu", "selu", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softsign",
        "tanhshrink", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
    )),
    "torch": frozenset(("cdist", "norm", "split", "stft")),
    "torch.autograd": frozenset(("grad",)),
    "torch.Tensor": frozenset(("__repr__", "backward", "norm", "split", "stft")),
}  # fmt: skip
_AS_GIVEN: Final = frozenset((
    "__array__", "__deepcopy__", "__floordiv__", "__ipow__", "__pow__", "__rfloordiv__", "__rmod__", "__rpow__",
    "__rsub__", "__rtruediv__", "block_diag", "broadcast_tensors", "cartesian_prod", "einsum", "meshgrid",
    "register_hook", "register_post_accumulate_grad_hook",
))  # fmt: skip
"""Functions and methods that PyTorch has in Python and whose arguments are handed on as the caller gave them."""
_INPLACE: Final = {"inplace": False}
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    **dict.fromkeys(("relu", "relu6", "selu", "hardsigmoid", "silu", "mish", "hardswish"), _INPLACE),
    "glu": {"dim": -1}, "hardtanh": {"min_val": -1.0, "max_val": 1.0, **_INPLACE}, "elu": {"alpha": 1.0, **_INPLACE},
    "celu": {"alpha": 1.0, **_INPLACE}, "leaky_relu": {"negative_slope": 0.01, **_INPLACE},
}  # fmt: skip
"""What functions may be given that have no signature of their own here, and what it is if left out."""
_MAX_POOL: Final = {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False}
_OMITTED: Final = {"l1_loss": ("weight",), "layer_norm": ("cudnn_enable",)}
"""Arguments that PyTorch's functions do not hand on, or have not."""


def is_python(module: str, name: str) -> bool:
    """Whether PyTorch has a function of a module, or a method (``torch.Tensor``), in Python."""
    return name in _FUNCTIONS.get(module, ()) or (module in ("torch", "torch.Tensor") and name in _AS_GIVEN)


def arrangement(name: str, function: Callable[..., Any]) -> Arrange:
    """What brings the arguments of a call into the form that handlers get; ``TypeError`` for those that do not fit."""
    if name in _AS_GIVEN:
        return lambda args, kwargs: (args, kwargs)
    signature = _signature(name, function)
    parameters = signature.parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    omitted = _OMITTED.get(name, ())

    def arrange(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        named = {key: value for key, value in values.items() if key not in required and key not in omitted}
        return tuple([values[key] for key in required]), named

    return arrange


def _signature(name: str, function: Callable[..., Any]) -> inspect.Signature:
    options, required = _OPTIONS.get(name), ("input",)
    if name.startswith("max_pool"):
        options, required = _MAX_POOL, ("input", "kernel_size")  # type: ignore[assignment]
    if options is None:
        return inspect.signature(function)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    needed = [inspect.Parameter(one, kind) for one in required]
    return inspect.Signature([*needed, *[inspect.Parameter(k, kind, default=v) for k, v in options.items()]])


def without_arguments(name: str, function: Callable[..., Any]) -> bool:
    """Whether a method takes nothing but the tensor: PyTorch passes handlers its class, even the plain one."""
    row = OPS.get(name)
    if row is not None:
        return len(row.params) == 1
    parameters = list(inspect.signature(function).parameters.values())
    return len(parameters) == 1 and parameters[0].kind is not parameters[0].VAR_POSITIONAL


_ASKED = {"torch.autograd.grad": {"outputs": 0, "inputs": 1}, "torch.autograd.backward": {"tensors": 0, "inputs": 5}}
"""Functions that ask only some of their arguments, with the places of these."""


def _asked_values(args: tuple[Any, ...], kwargs: dict[str, Any], places: dict[str, int]) -> list[Any]:
    return [*with_elements(args[i] for i in places.values() if i < len(args)),
            *with_elements(kwargs[name] for name in places if name in kwargs)]  # fmt: skip


def overridable_call(
    function: Callable[..., Any], public_api: Callable[[], Any], asked: dict[str, int] | None = None,
    arrange: Arrange | None = None, pass_class: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """``function``, but ``__torch_function__`` of active modes and of its arguments' classes runs first.

    ``asked`` are the arguments whose classes are asked, if not all; ``arrange`` is the form in which they are handed
    over; with ``pass_class`` modes get the first argument's class, a plain tensor's too.
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
        found = [] if here.subclasses_off else [args[0]] if pass_class else overrides.overloaded(values)
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
    _install_methods(late.tensor_class)
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
        None if function is None else overridable_call(function, api(part), pass_class=part == "__get__")
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
    super(late.tensor_class, cls).__init_subclass__(**kwargs)
    if overrides.answers(cls):
        install()
