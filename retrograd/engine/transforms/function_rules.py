"""Custom Functions within ``vmap``: what they must declare, and the rule for batches that they may bring."""

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
    """The custom Function whose ``apply`` this is, if it brings a rule for batches."""
    owner = getattr(func, "__self__", None)
    if not (isinstance(owner, type) and issubclass(owner, Function) and func.__name__ == "apply"):
        return None
    return owner if owner.vmap is not Function.vmap and not owner.generate_vmap_rule else None


def by_rule(owner: Any, info: VmapInfo, in_dims: tuple[Any, ...], args: tuple[Any, ...], out_dims: Any) -> Any:
    """The results of ``owner.vmap``, with their batch dimension where ``out_dims`` wants it."""
    returned = owner.vmap(info, in_dims, *args)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            f"{owner.__name__}.vmap must return (outputs, out_dims), but got {type(returned).__name__}"
            + (f" of {len(returned)}" if isinstance(returned, tuple) else "")
        )
    outputs, dims = returned
    if not isinstance(outputs, tuple):
        return _moved(outputs, dims, out_dims, info.batch_size)
    each = dims if isinstance(dims, tuple) else (dims,) * len(outputs)
    wanted = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
    return tuple([_moved(*entry, info.batch_size) for entry in zip(outputs, each, wanted, strict=True)])


def _moved(output: Any, dim: int | None, wanted: int, size: int) -> Any:
    if not isinstance(output, Tensor):
        return output
    if dim is None:
        output, dim = F.expand(F.unsqueeze(output, 0), (size, *output.shape)), 0
    return output.movedim(dim, wanted)
