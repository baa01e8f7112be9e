"""How PyTorch itself declares its functions: argument names, kinds and defaults, read from its schemas.

``signatures("linalg.norm")`` lists one ``Argument`` tuple per overload.  Functions written in Python are read with
``inspect``.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from op_samples import Const, Dtype, look_up

PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_", "nn.functional": ""}
REQUIRED = object()
ANY = ""


@dataclass(frozen=True)
class Argument:
    """One argument of one overload."""

    name: str
    type: str
    """As the schema writes it (``Tensor``, ``List[int]``, ``Optional[int]``); empty where unknown."""
    keyword_only: bool
    default: Any
    """``REQUIRED`` where there is none."""

    def takes(self, value: Any) -> bool:
        """Whether a sample's argument fits; unknown types take anything."""
        value = value.array if isinstance(value, Const) else value
        optional = self.type.startswith("Optional[")
        kind = self.type.removeprefix("Optional[").removesuffix("]") if optional else self.type
        if kind == ANY or (optional and value is None):
            return True
        return _fits(kind, value)


def _fits(kind: str, value: Any) -> bool:
    if kind == "Tensor":
        return isinstance(value, (np.ndarray, np.generic))
    if kind.startswith(("List[Tensor", "List[Optional[Tensor")):
        return isinstance(value, (list, tuple)) and all(v is None or isinstance(v, (np.ndarray, Const)) for v in value)
    if kind.startswith("List["):
        return isinstance(value, (list, tuple, int)) and not isinstance(value, bool)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "str":
        return isinstance(value, str)
    if kind == "int":
        return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, Dtype)
    numbers = (int, float, complex) if kind == "number" else (int, float)
    return isinstance(value, numbers)


@cache
def _schemas() -> dict[str, list[Any]]:
    import torch

    found: dict[str, list[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            found.setdefault(schema.name.removeprefix("aten::"), []).append(schema)
    return found


@cache
def signatures(path: str) -> tuple[tuple[Argument, ...], ...]:
    """The overloads of a function by its public name, those with ``out`` left out."""
    import torch

    module, _, name = path.rpartition(".")
    function = look_up(torch, path)
    if inspect.isfunction(function) and not hasattr(function, "__wrapped__"):
        try:
            return (tuple(_from_python(function)),)
        except ValueError:
            return ()
    schemas = _schemas().get(PREFIXES.get(module, "") + name, [])
    return tuple(
        tuple(_from_schema(schema))
        for schema in schemas
        if not any(a.is_out or a.name == "out" for a in schema.arguments) and _of_tensors(schema)
    )


def _of_tensors(schema: Any) -> bool:
    return any("Tensor" in str(a.type) for a in schema.arguments) and "Dimname" not in str(schema)


def _from_schema(schema: Any) -> Any:
    for a in schema.arguments:
        default = a.default_value if a.has_default_value() else REQUIRED
        yield Argument(a.name, str(a.type), a.kwarg_only, default)


def _from_python(function: Any) -> Any:
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise ValueError(f"{function.__name__} takes any arguments")
        default = REQUIRED if p.default is p.empty else p.default
        yield Argument(p.name, ANY, p.kind is p.KEYWORD_ONLY, default)


def matching(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Argument, ...]]:
    """The overloads that a call with these arguments may mean."""
    return [s for s in signatures(path) if _matches(s, args, kwargs)]


def _matches(signature: tuple[Argument, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    positional = [a for a in signature if not a.keyword_only]
    by_name = {a.name: a for a in signature}
    if len(args) > len(positional) or any(k not in by_name for k in kwargs):
        return False
    given = {a.name: v for a, v in zip(positional, args, strict=False)} | kwargs
    return all(a.takes(given[a.name]) if a.name in given else a.default is not REQUIRED for a in signature)
