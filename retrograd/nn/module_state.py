"""What a module consists of: the rules for registering it, and its state as a dictionary and back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..engine.switches.modes import no_grad
from ..engine.table.methods import FUNCTIONS
from ..engine.tensors.parameter import Parameter
from ..engine.tensors.tensor import Tensor

typename = FUNCTIONS["typename"]


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found too little and too much."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


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
    """``TypeError`` for what is no parameter, ``ValueError`` for one that was computed."""
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
    """``TypeError`` for what is no tensor."""
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")


def entries(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Parameters and lasting buffers of a module and then of its children, each wherever it stands."""
    for name, value in module._parameters.items():
        if value is not None:
            yield prefix + name, value
    for name, value in module._buffers.items():
        if value is not None and name not in module._non_persistent_buffers_set:
            yield prefix + name, value
    for name, child in module._modules.items():
        if child is not None:
            yield from entries(child, f"{prefix}{name}.")


def state_dict(module: Any, prefix: str, keep_vars: bool, destination: Any) -> Any:
    """The entries, detached unless ``keep_vars``."""
    made = OrderedDict() if destination is None else destination
    made.update((name, value if keep_vars else value.detach()) for name, value in entries(module, prefix))
    return made


def load_state_dict(module: Any, given: dict[str, Any], strict: bool) -> IncompatibleKeys:
    """Copy what fits; ``RuntimeError`` that lists what is missing, too much (if ``strict``) or of another shape."""
    own = dict(entries(module))
    missing, unexpected = [n for n in own if n not in given], [n for n in given if n not in own]
    faults = []
    if strict and missing:
        faults.append(f"Missing key(s) in state_dict: {_listed(missing)}. ")
    if strict and unexpected:
        faults.append(f"Unexpected key(s) in state_dict: {_listed(unexpected)}. ")
    with no_grad():
        for name, tensor in own.items():
            if name not in given:
                continue
            if given[name].shape != tensor.shape:
                faults.append(
                    f"size mismatch for {name}: copying a param with shape {given[name].shape} from checkpoint, the "
                    f"shape in current model is {tensor.shape}."
                )
                continue
            tensor.copy_(given[name])
    if faults:
        text = "\n\t".join(faults)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{text}")
    return IncompatibleKeys(missing, unexpected)


def _listed(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def member(module: Any, target: str) -> Any:
    """The parameter, buffer or module with a dotted name; ``AttributeError`` where there is none."""
    found = module
    for part in target.split(".") if target else ():
        if not hasattr(found, part):
            raise AttributeError(f"{type(found).__name__} has no attribute `{part}`")
        found = getattr(found, part)
    return found
