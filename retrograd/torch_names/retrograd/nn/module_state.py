"""Registration of a module's parameters, buffers and children, and ``state_dict`` and its loading."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..engine import observe
from ..engine.core.swapping import swap_tensors
from ..engine.methods import FUNCTIONS
from ..engine.nodes.hooks import RemovableHandle, register
from ..engine.switches.engine_switches import get_swap_module_params_on_conversion
from ..engine.switches.modes import no_grad
from ..engine.tensors.parameter import Buffer, Parameter
from ..engine.tensors.tensor import Tensor
from ..engine.warning import warn
from .uninitialized import is_lazy

typename = FUNCTIONS["typename"]


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found too little and too much."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def refuse_arguments(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``TypeError`` for what ``Module.__init__`` does not take."""
    name = f"{type(module).__name__}.__init__()"
    if kwargs:
        raise TypeError(f"{name} got an unexpected keyword argument '{next(iter(kwargs))}'")
    raise TypeError(f"{name} takes 1 positional argument but {len(args) + 1} were given")


def check_name(module: Any, kind: str, name: Any) -> None:
    """``TypeError`` or ``KeyError`` for a name that a new parameter, buffer or module cannot have."""
    table = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}[kind]
    if table not in module.__dict__:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if not name:
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in module.__dict__[table]:
        raise KeyError(f"attribute '{name}' already exists")


def check_parameter(name: str, param: Any) -> None:
    """``TypeError`` for what is not a parameter, ``ValueError`` for one that was computed."""
    if param is None:
        return
    is_parameter = isinstance(param, Parameter)
    if not is_parameter:
        raise TypeError(
            f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
        )
    if param.grad_fn is not None:
        raise ValueError(
            f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
            f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
        )


def check_buffer(name: str, tensor: Any) -> None:
    """``TypeError`` for what is not a tensor."""
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")


def set_buffer(module: Any, name: str, value: Any) -> None:
    """Register what is assigned to the name of a buffer; a ``Buffer`` says itself whether it is part of the state."""
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(
            f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
        )
    persistent = value.persistent if isinstance(value, Buffer) else name not in module._non_persistent_buffers_set
    register = module.register_buffer
    if "persistent" in inspect.signature(register).parameters:
        register(name, value, persistent)
    elif persistent:
        register(name, value)
    else:
        raise RuntimeError(
            "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the "
            "persistent argument is not allowed; add that argument."
        )


def entries(module: Any) -> Iterator[tuple[str, Any]]:
    """Parameters and lasting buffers of one module."""
    for name, value in module._parameters.items():
        if value is not None:
            yield name, value
    for name, value in module._buffers.items():
        if value is not None and name not in module._non_persistent_buffers_set:
            yield name, value


def _children(module: Any) -> Iterator[tuple[str, Any]]:
    """Every child under every name that it has."""
    return ((name, child) for name, child in module._modules.items() if child is not None)


def state_dict(self: Any, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
    """Parameters and persistent buffers by name, detached unless ``keep_vars``; ``_metadata`` has the versions.

    ``destination``, ``prefix`` and ``keep_vars`` may also come by position, which is discouraged.
    """
    if args:
        warn("Positional args are being deprecated, use kwargs instead.", FutureWarning)
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
        keep_vars = given.get("keep_vars", keep_vars)
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    own = {"version": self._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = own
    for hook in self._state_dict_pre_hooks.values():
        hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in _children(self):
        child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in self._state_dict_hooks.values():
        replaced = hook(self, destination, prefix, own)
        destination = destination if replaced is None else replaced
    return destination


def get_extra_state(self: Any) -> Any:
    """What a subclass adds to ``state_dict`` beside its tensors."""
    raise RuntimeError(_UNREACHED.format("get"))


def set_extra_state(self: Any, state: Any) -> None:
    """Take over what ``get_extra_state`` gave."""
    raise RuntimeError(_UNREACHED.format("set"))


_UNREACHED = (
    "Reached a code path in Module.{}_extra_state() that should never be called: write this method in your subclass."
)


def _overrides(module: Any, method: Any) -> bool:
    return getattr(type(module), method.__name__) is not method


def save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
    """What this module alone adds; may be overridden."""
    for name, value in entries(self):
        destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
    if _overrides(self, get_extra_state):
        destination[f"{prefix}_extra_state"] = self.get_extra_state()


def load_state_dict(self: Any, state_dict: Any, strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
    """Copy values in (or put them in place, with ``assign``) and return the names that did not fit.

    ``RuntimeError`` lists what has another shape and, if ``strict``, what is missing or too much.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    report = _IncompatibleKeys([], [])
    faults: list[str] = []
    versions = getattr(state_dict, "_metadata", {})
    options = {"assign_to_params_buffers": True} if assign else {}
    _load(self, OrderedDict(state_dict), "", versions, options, (report, faults))
    if strict and report.unexpected_keys:
        faults.insert(0, f"Unexpected key(s) in state_dict: {_listed(report.unexpected_keys)}. ")
    if strict and report.missing_keys:
        faults.insert(0, f"Missing key(s) in state_dict: {_listed(report.missing_keys)}. ")
    if faults:
        text = "\n\t".join(faults)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
    observe.notify("state_loaded", self, state_dict, report)
    return report


def _load(
    module: Any, given: Any, prefix: str, versions: Any, options: dict[str, Any],
    found: tuple[_IncompatibleKeys, list[str]],
) -> None:  # fmt: skip
    """Load one module and its children; ``found`` gets missing and unexpected names, and faults as sentences."""
    report, faults = found
    own = {**versions.get(prefix[:-1], {}), **options}
    module._load_from_state_dict(given, prefix, own, True, report.missing_keys, report.unexpected_keys, faults)
    for name, child in _children(module):
        inner = f"{prefix}{name}."
        _load(child, {k: v for k, v in given.items() if k.startswith(inner)}, inner, versions, options, found)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, report) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )


def load_from_state_dict(
    self: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
    unexpected_keys: list[str], error_msgs: list[str],
) -> None:  # fmt: skip
    """What this module alone takes over; may be overridden.  The lists are added to."""
    for hook in self._load_state_dict_pre_hooks.values():
        hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    own, extra = dict(entries(self)), f"{prefix}_extra_state"
    for name, tensor in own.items():
        if prefix + name in state_dict:
            fault = _take(self, name, tensor, state_dict[prefix + name], prefix + name, local_metadata)
            error_msgs.extend(fault)
        elif strict:
            missing_keys.append(prefix + name)
    sets_extra = _overrides(self, set_extra_state)
    if sets_extra:
        if extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif strict:
            missing_keys.append(extra)
    if strict:
        known = {*own, *self._modules, *(["_extra_state"] if sets_extra else [])}
        names = (key[len(prefix) :] for key in state_dict if key.startswith(prefix))
        for rest in names:
            first = rest.split(".")[0]
            if first not in known or (first in own and rest != first):
                unexpected_keys.append(prefix + rest)


def _take(module: Any, name: str, tensor: Any, given: Any, key: str, local: dict[str, Any]) -> list[str]:
    """Put one value in; what is wrong with it, if anything."""
    if is_lazy(tensor) and is_lazy(given):
        return []
    if not isinstance(given, Tensor):
        what = f"expected torch.Tensor or Tensor-like object from checkpoint but received {type(given)}"
        return [f'While copying the parameter named "{key}", {what}']
    if tensor.dim() == 0 and tuple(given.shape) == (1,):
        given = given[0]  # files of old releases have one element where there is a number now
    if given.shape != tensor.shape:
        what = f"copying a param with shape {given.shape} from checkpoint, the shape in current model is"
        return [f"size mismatch for {key}: {what} {tensor.shape}."]
    if get_swap_module_params_on_conversion():
        return _swapped(tensor, given, key, bool(local.get("assign_to_params_buffers")))
    if local.get("assign_to_params_buffers"):
        kept = name in module._parameters and not isinstance(given, Parameter)
        setattr(module, name, Parameter(given, requires_grad=tensor.requires_grad) if kept else given)
        return []
    if tensor.is_meta and not given.is_meta:
        warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
            "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
            "corresponding key in the module instead of performing an in-place copy?)"
        )
    try:
        with no_grad():
            tensor.copy_(given)
    except NotImplementedError as error:
        return [_failed("copying", key, tensor, given, error)]
    return []


def _swapped(tensor: Any, given: Any, key: str, assign: bool) -> list[str]:
    """Exchange a tensor's content with what ``module_load`` makes of the one given; what went wrong, if anything."""
    try:
        with no_grad():
            made = tensor.module_load(given, assign=assign)
        if made is given or made is tensor:
            raise RuntimeError("module_load returned one of self or other, please .detach() the result")
        if isinstance(tensor, Parameter) and not isinstance(made, Parameter):
            made = Parameter(made, requires_grad=tensor.requires_grad)
        swap_tensors(tensor, made.requires_grad_(tensor.requires_grad))
    except Exception as error:
        return [_failed("swapping", key, tensor, given, error)]
    return []


def _failed(action: str, key: str, tensor: Any, given: Any, error: Exception) -> str:
    sizes = f"dimensions in the model are {tensor.shape} and whose dimensions in the checkpoint are {given.shape}"
    return f'While {action} the parameter named "{key}", whose {sizes}, an exception occurred : {error.args}.'


def register_state_dict_pre_hook(self: Any, hook: Any) -> RemovableHandle:
    """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads this module."""
    return register(self._state_dict_pre_hooks, hook)


def register_state_dict_post_hook(self: Any, hook: Any) -> RemovableHandle:
    """Call ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict`` has read this module."""
    return register(self._state_dict_hooks, partial(_must_return_none, hook))


def _must_return_none(hook: Any, *given: Any) -> None:
    if hook(*given) is not None:
        raise RuntimeError("state_dict post-hook must return None")


def register_raw_state_dict_hook(self: Any, hook: Any) -> RemovableHandle:
    """The same; what the hook of the outermost module returns, if anything, takes the place of the dictionary."""
    return register(self._state_dict_hooks, hook)


def register_load_state_dict_pre_hook(self: Any, hook: Any) -> RemovableHandle:
    """Call ``hook(module, state_dict, prefix, …)`` before this module takes values over."""
    return register(self._load_state_dict_pre_hooks, lambda *given: hook(self, *given))


def register_load_state_dict_post_hook(self: Any, hook: Any) -> RemovableHandle:
    """Call ``hook(module, incompatible_keys)`` after this module and those below have taken values over."""
    return register(self._load_state_dict_post_hooks, hook)


def register_raw_load_pre_hook(self: Any, hook: Any, with_module: bool = False) -> RemovableHandle:
    """``register_load_state_dict_pre_hook`` whose hook gets the module only when asked for."""
    return register(self._load_state_dict_pre_hooks, (lambda *given: hook(self, *given)) if with_module else hook)


def _listed(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def member(module: Any, target: str, kind: str = "") -> Any:
    """The parameter, buffer or module with a dotted name; ``AttributeError`` where there is none of the kind."""
    found, owner, last = module, module, ""
    for part in target.split(".") if target else ():
        if found is not module and not hasattr(found, "named_modules"):
            raise AttributeError(f"`{last}` is not an nn.Module")
        if not hasattr(found, part):
            raise AttributeError(f"{type(found).__name__} has no attribute `{part}`")
        found, owner, last = getattr(found, part), found, part
    if not kind and found is not module and not hasattr(found, "named_modules"):
        raise AttributeError(f"`{last}` is not an nn.Module")
    if kind == "parameter" and not isinstance(found, Parameter):
        raise AttributeError(f"`{last}` is not an nn.Parameter")
    if kind == "buffer" and last not in owner._buffers:
        raise AttributeError(f"`{last}` is not a buffer")
    return found


def set_member(self: Any, target: str, module: Any, strict: bool = False) -> None:
    """Put a module in the place with a dotted name; ``strict`` wants one to be there."""
    if target == "":
        raise ValueError("Cannot set the submodule without a target name!")
    path, _, name = target.rpartition(".")
    if not hasattr(module, "named_modules"):
        raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
    parent = self.get_submodule(path)
    if strict and not hasattr(parent, name):
        raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
    if hasattr(parent, name) and not hasattr(getattr(parent, name), "named_modules"):
        raise AttributeError(f"`{name}` is not an nn.Module")
    setattr(parent, name, module)
