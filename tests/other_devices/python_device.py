"""A device of PyTorch that exists in Python alone, ``py``: each tensor on it stands for one of the CPU, its twin.

Import it first; ``copies()`` counts how often values came from it to the host, which on a real device means to wait.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.utils.backend_registration
from torch.utils import _pytree

torch.utils.backend_registration._setup_privateuseone_for_python_backend("py")  # type: ignore[attr-defined]
_twins: dict[int, tuple[Any, torch.Tensor]] = {}
"""By the storage, which is kept so that no other one gets its place."""
_copied = [0]


def copies() -> int:
    """How often values of the device were read so far."""
    return _copied[0]


def _is_ours(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "py"


def _twin(value: Any) -> Any:
    """What stands for an argument on the CPU."""
    if _is_ours(value):
        return _twins[value.untyped_storage()._cdata][1]
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "py" else value


def _on_device(twin: torch.Tensor) -> torch.Tensor:
    """A new tensor of the device."""
    made: torch.Tensor = torch._C._acc.create_empty_tensor(twin.shape, twin.dtype)  # type: ignore[attr-defined]
    storage = made.untyped_storage()
    _twins[storage._cdata] = storage, twin
    return made


def _run(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Run any operator on the twins."""
    given, given_by_name = _pytree.tree_map(_twin, (args, kwargs))
    name = operator._schema.name
    if name == "aten::_copy_from":
        _copied[0] += args[1].device.type == "cpu"
        given[1].copy_(given[0])
        return args[1]
    to_host = name == "aten::_to_copy" and kwargs.get("device", torch.device("py")).type == "cpu"
    if to_host or name == "aten::_local_scalar_dense":
        _copied[0] += 1
        return operator(*given, **given_by_name)
    known = {id(_twin(one)): one for one in _pytree.tree_leaves((args, kwargs)) if _is_ours(one)}
    found = operator(*given, **given_by_name)
    return _pytree.tree_map_only(
        torch.Tensor, lambda one: known[id(one)] if id(one) in known else _on_device(one), found
    )


_library = torch.library.Library("_", "IMPL")
_library.fallback(_run, "PrivateUse1", with_keyset=False)  # type: ignore[no-untyped-call]
