"""Custom Functions and operators under ``vmap``: required declarations, and their own batching rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.batches import Batch, around_batch, is_of, spread
from ..core.registry import F
from ..function.function import Function
from ..pytree.trees import broadcast_to, tree_flatten, tree_map, tree_unflatten
from ..switches.state import STATE
from ..tensors.tensor import Tensor


class VmapInfo(NamedTuple):
    """Facts about the batch that ``Function.vmap`` receives."""

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


def by_rule(rule: Any, info: VmapInfo, dims: list[int | None], args: tuple[Any, ...], out_dims: Any) -> Any:
    """The results of ``rule``, with their batch dimension where ``out_dims`` wants it.

    ``dims`` has the batch dimension of each leaf of the arguments; the rule gets them nested as those are.
    """
    leaves, nesting = tree_flatten(args)
    returned = rule(info, tree_unflatten(dims, nesting), *args)
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got {got} instead from {rule.__qualname__}."
        )
    output, output_dims = returned
    outputs, spec = tree_flatten(output)
    found, wanted = broadcast_to(output_dims, spec), broadcast_to(out_dims, spec)
    if found is None or wanted is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={output_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(output_dims)[1]} but output has structure {spec}."
        )
    given = {id(leaf): dim for leaf, dim in zip(leaves, dims, strict=True)}  # an argument keeps its own dimension
    found = [given.get(id(o), dim) for o, dim in zip(outputs, found, strict=True)]
    moved = [_moved(*entry, info.batch_size) for entry in zip(outputs, found, wanted, strict=True)]
    return tree_unflatten(moved, spec)


def by_rule_of_entry(run: Batch, rule: Any, args: tuple[Any, ...]) -> Any:
    """What a rule for batches makes of one entry of a batch, which it gets as a batch of one."""
    leaves, nesting = tree_flatten(args)
    own = [isinstance(leaf, Tensor) and is_of(leaf, run) for leaf in leaves]
    with around_batch(run):
        given = [F.unsqueeze(leaf, 0) if is_entry else leaf for leaf, is_entry in zip(leaves, own, strict=True)]
        dims = [0 if is_entry else None for is_entry in own]
        made = by_rule(rule, VmapInfo(1, run.randomness), dims, tree_unflatten(given, nesting), 0)
        made = tree_map(lambda t: F.select(t, 0, 0), made)
    spread([leaf for leaf in leaves if isinstance(leaf, Tensor)], tree_flatten(made)[0])
    return made


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
