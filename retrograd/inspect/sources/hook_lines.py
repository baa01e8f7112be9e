"""Attaches hooks to every node of a graph that log one line as the node executes, for either engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .base import Node

_ABBREVIATIONS = {
    "bfloat16": "bf16",
    "bool": "b8",
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{f"complex{bits}": f"c{bits}" for bits in (32, 64, 128)},
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def attach(
    order: list[Node], current_node: Callable[[], Node], log: Callable[[str], None], *, verbose: bool
) -> Callable[[], None]:
    """Hook every node; the function returned removes all hooks again.

    The hooks ask the engine which node is running instead of holding it, so they keep no graph alive.
    """

    def before(grad_outputs: Sequence[Any]) -> None:
        log(f"Executing: {current_node()} with grad_outputs: {_entries(grad_outputs)}")

    def after(grad_inputs: Sequence[Any], grad_outputs: Sequence[Any]) -> None:
        if verbose:
            log(f"Executed: {current_node()} with grad_inputs: {_entries(grad_inputs)}")

    handles: list[Any] = []

    def remove() -> None:
        while handles:
            handles.pop().remove()

    try:
        for node in order:
            handles.append(node.register_prehook(before))
            handles.append(node.register_hook(after))
    except BaseException:
        remove()
        raise
    return remove


def _entries(gradients: Sequence[Any]) -> str:
    """Write gradients as ``[f32[3],None]``."""
    return f"[{','.join(map(_entry, gradients))}]"


def _entry(gradient: Any) -> str:
    """Write one gradient as dtype and shape."""
    if gradient is None:
        return "None"
    dtype = str(gradient.dtype).rpartition(".")[2]
    return f"{_ABBREVIATIONS.get(dtype, dtype)}[{', '.join(map(str, gradient.shape))}]"
