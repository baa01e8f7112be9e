"""Custom Functions and operators within ``vmap``: what they must declare, and the rules for batches they may bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..function.function import Function
from ..switches.state import STATE
from ..table.registry import F
from ..tensors.tensor import Tensor


class VmapInfo(NamedTuple):
    """What ``Function.vmap`` is told of the batch."""

    batch_size: int
    randomness: str


@contextmanager
def transforming(kind: str) -> Iterator[None]:
    """Custom Functions are called beneath a transform of this kind (``"vmap"``, ``"grad"``)."""
    STATE.transforms.append(kind)
    try:
        yield
    finally:
        STATE.transforms.pop()


def rule_of(func: Any) -> Any:
    """The rule for batches of the custom Function whose ``apply`` this is, or of a custom operator; else None."""
    owner = getattr(func, "__self__", None)
    if not (isinstance(owner, type) and issubclass(owner, Function) and func.__name__ == "apply"):
        return getattr(func, "batch_rule", None)
    return owner.vmap if owner.vmap is not Function.vmap and not owner.generate_vmap_rule else None


def by_rule(rule: Any, info: VmapInfo, in_dims: tuple[Any, ...], args: tuple[Any, ...], out_dims: Any) -> Any:
    """The results of ``rule``, with their batch dimension where ``out_dims`` wants it."""
    returned = rule(info, in_dims, *args)
    if not isinstance(returned, tuple) or len(returned) != 2:
        found = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got {found} instead from {rule.__qualname__}."
        )
    outputs, dims = returned
    if not isinstance(outputs, tuple):
        return _moved(outputs, dims, out_dims, info.batch_size)
    each = dims if isinstance(dims, tuple) else (dims,) * len(outputs)
    wanted = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
    return tuple([_moved(*entry, info.batch_size) for entry in zip(outputs, each, wanted, strict=True)])


def _moved(output: Any, dim: Any, wanted: int, size: int) -> Any:
    if not isinstance(output, Tensor):
        raise ValueError(
            f"vmap(apply, ...): `apply` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    if dim is not None and not isinstance(dim, int):
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={dim} to be compatible with the structure of `output`: one number, or None, for each tensor."
        )
    if dim is None:
        output, dim = F.expand(F.unsqueeze(output, 0), (size, *output.shape)), 0
    return output.movedim(dim, wanted)
