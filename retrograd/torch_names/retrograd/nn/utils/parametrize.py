"""Parametrizations: parameters computed from others, with ``register_parametrization`` and its removal."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ...engine.switches.modes import no_grad
from ...engine.tensors.parameter import Parameter
from ...engine.tensors.tensor import Tensor
from ..module import Module
from ..modules.container import ModuleDict, ModuleList

_cache: dict[tuple[int, str], Any] | None = None
"""Values by module and name while ``cached`` is on."""


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside the block."""
    global _cache
    before, _cache = _cache, {} if _cache is None else _cache
    try:
        yield
    finally:
        _cache = before


class ParametrizationList(ModuleList):
    """The steps from the original tensor (or tensors) to a parameter; calling it computes the parameter."""

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        started = _inverse(self, original, beginning=True)
        self.is_tensor = isinstance(started, Tensor)
        if self.is_tensor:
            if not unsafe and started.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {started.dtype}"
                )
            self._keep("original", _taking(original, started), original)
            return
        self.ntensors = len(started)
        for i, value in enumerate(started):
            if not isinstance(value, Tensor):
                raise ValueError(
                    "right_inverse must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(value).__name__}."
                )
            self._keep(f"original{i}", value, original)

    def _keep(self, name: str, value: Any, like: Any) -> None:
        """The very parameter where nothing was changed, else a new one with the values."""
        trained = isinstance(like, Parameter)
        if trained:
            if value is not like:
                value = Parameter(value.detach(), requires_grad=like.requires_grad and value.is_floating_point())
            self.register_parameter(name, value)
        else:
            self.register_buffer(name, value)

    def originals(self) -> list[Any]:
        """What is trained in place of the parameter."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parameter becomes ``value``, as far as the steps can be undone."""
        with no_grad():
            for step in self:
                if not hasattr(step, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(step).__name__} does not implement right_inverse. Write it, or assign "
                        "to the original under `parametrizations`."
                    )
            started = _inverse(self, value)
            for own, new in zip(self.originals(), [started] if self.is_tensor else started, strict=True):
                own.data = new.detach().clone() if new is value else new

    def forward(self) -> Any:
        """The parameter."""
        x = self[0](*self.originals())
        for step in list(self)[1:]:
            x = step(x)
        return x


def _taking(original: Any, started: Any) -> Any:
    """The very tensor that was there, with the values to start from: optimizers that have it go on with it."""
    if started is original or started.dtype != original.dtype:
        return started
    original.data = started.detach()
    return original


def _inverse(steps: ModuleList, value: Any, *, beginning: bool = False) -> Any:
    """The originals for a value; in the beginning steps that cannot be undone leave it as it is."""
    with no_grad():
        for step in reversed(list(steps)):
            if hasattr(step, "right_inverse"):
                try:
                    value = step.right_inverse(value)
                except NotImplementedError:
                    if not beginning:
                        raise
    return value


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer by ``parametrization`` from now on; several are applied in order.

    ``right_inverse`` of the parametrization, if it has one, gives the tensor to start from.  ``ValueError`` if
    there is no such tensor, or if (unless ``unsafe``) its shape or dtype would change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        value = getattr(module, tensor_name)
        if not unsafe:
            _check(parametrization(value), value)
        module.parametrizations[tensor_name].append(parametrization)
        return module
    steps = _first_step(module, tensor_name, parametrization, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _change_class(module)
        module.parametrizations = ModuleDict()
    _inject(type(module), tensor_name)
    module.parametrizations[tensor_name] = steps
    return module


def _first_step(module: Module, tensor_name: str, parametrization: Module, unsafe: bool) -> ParametrizationList:
    """The steps by which a parameter or buffer that is an ordinary one so far will be computed."""
    known = {**module._parameters, **module._buffers}
    if tensor_name not in known:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    steps = ParametrizationList([parametrization], known[tensor_name], unsafe)
    steps.train(module.training)
    if not unsafe:
        with no_grad():
            _check(steps(), known[tensor_name])
    return steps


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give ``to_module`` the parametrizations of another module, and the tensors that they start from."""
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        given = from_module.parametrizations[name]
        for step in given:
            register_parametrization(to_module, name, step)
        taken = to_module.parametrizations[name]
        for original in [*given._parameters, *given._buffers]:
            setattr(taken, original, getattr(given, original))
    return to_module


def _check(made: Any, value: Any) -> None:
    """``ValueError`` unless the result can replace the value: a tensor of its dtype and shape."""
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    for fact in ("dtype", "shape"):
        if getattr(made, fact) != getattr(value, fact):
            raise ValueError(
                f"Registering a parametrization may not change the {fact} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nunparametrized {fact}: {getattr(value, fact)}\nparametrized {fact}: {getattr(made, fact)}"
            )


def _change_class(module: Module) -> None:
    """A class of its own for this module, on which its computed parameters are properties."""
    cls = type(module)

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        made = self.__new__(type(self))
        memo[id(self)] = made
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made

    def refused(self: Any) -> NoReturn:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): the class of this one was "
            "made while the program ran. Save state_dict(), and register the parametrizations again to load it."
        )

    own = {"__deepcopy__": copied, "__getstate__": refused}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), own)


def _inject(cls: Any, name: str) -> None:
    """Let attribute ``name`` of a class be computed by its parametrizations, once while ``cached()`` is on."""

    def read(self: Any) -> Any:
        steps = self.parametrizations[name]
        if _cache is None:
            return steps()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = steps()
        return _cache[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(cls, name, property(read, write))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has computed parameters, or a certain one."""
    steps = module._modules.get("parametrizations")
    if not isinstance(steps, ModuleDict):
        return False
    return bool(len(steps)) if tensor_name is None else tensor_name in steps


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a computed parameter an ordinary one, with its present value or with the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    steps: Any = module.parametrizations[tensor_name]
    if leave_parametrized:
        with no_grad():
            kept = _kept(steps, getattr(module, tensor_name))
    elif steps.is_tensor:
        kept = steps.original
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    (module.register_parameter if isinstance(kept, Parameter) else module.register_buffer)(tensor_name, kept)
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module


def _kept(steps: Any, value: Any) -> Any:
    """The ordinary parameter or buffer that has the present value: the original one, where there is one only."""
    first = steps.originals()[0]
    if not isinstance(first, Parameter):
        return value
    if not steps.is_tensor:
        return Parameter(value.detach(), requires_grad=first.requires_grad)
    first.data = value.detach()
    return first


def type_before_parametrizations(module: Module) -> type:
    """The class of a module without what its computed parameters added."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)
