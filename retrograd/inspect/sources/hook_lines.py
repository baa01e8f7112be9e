"""Attaches a hook to every node of a graph, of either engine, that logs a line as the node executes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..graphs.graph import Graph
from ..program.places import inside_words, short_place
from .base import Node

_ABBREVIATIONS = {
    "bfloat16": "bf16",
    "bool": "b8",
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{f"complex{bits}": f"c{bits}" for bits in (32, 64, 128)},
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
Read = Callable[[Any], np.ndarray | None]
"""Returns the entries of a gradient, None if they cannot be read."""


def attach(
    order: Sequence[Node], labels: Sequence[str], log: Callable[[str], None], read: Read, *, verbose: bool
) -> Callable[[], None]:
    """Register a logging hook on every node, with its label; the function returned removes all hooks.

    The hooks hold labels and no nodes, so they keep no graph alive.
    """

    def before(label: str, grad_outputs: Sequence[Any]) -> None:
        log(f"{label} gets {_entries(grad_outputs, read)}")

    def after(label: str, grad_inputs: Sequence[Any], grad_outputs: Sequence[Any]) -> None:
        log(f"{label} passes on {_entries(grad_inputs, read)}")

    handles: list[Any] = []

    def remove() -> None:
        while handles:
            handles.pop().remove()

    try:
        for node, label in zip(order, labels, strict=True):
            handles.append(node.register_prehook(partial(before, label)))
            if verbose:
                handles.append(node.register_hook(partial(after, label)))
    except BaseException:
        remove()
        raise
    return remove


def labels_of(snapshot: Graph) -> list[str]:
    """Return the label of each node in a log, the same in every run of a program.

    ``n2 AddmmBackward0 in net/fc (train.py:7)``, ``n4 AccumulateGrad of net.fc.weight``.
    """
    found = []
    for node, op in enumerate(snapshot.op):
        name, scope, at = snapshot.name[node], snapshot.scope[node], snapshot.source[node]
        of = (f" of {name}" if name else "") + (f" in {scope}" if scope else "")
        place = f" ({short_place(at.file, at.line)}{inside_words(at.inside)})" if at else ""
        found.append(f"n{node} {op}{of}{place}")
    return found


def _entries(gradients: Sequence[Any], read: Read) -> str:
    """Format gradients as ``f32[3] norm 1.5, None``."""
    return ", ".join(_entry(gradient, read) for gradient in gradients) or "nothing"


def _entry(gradient: Any, read: Read) -> str:
    """Format one gradient: dtype, shape and norm."""
    if gradient is None:
        return "None"
    dtype = str(gradient.dtype).rpartition(".")[2]
    entries = read(gradient)
    words = "" if entries is None else f" norm {_norm(entries):.4g}"
    return f"{_ABBREVIATIONS.get(dtype, dtype)}[{', '.join(map(str, gradient.shape))}]{words}"


def _norm(entries: np.ndarray) -> float:
    """Return the norm of a gradient, in double precision, so that none overflows."""
    wide = entries.ravel().astype(np.result_type(entries, np.float64))
    return math.sqrt(float(np.vdot(wide, wide).real))
