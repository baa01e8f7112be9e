"""The transpose of a linear map that is given as differentiable code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliasing.views import gradient_edge
from ..execution.execute import run_backward
from ..switches.state import STATE, set_grad_enabled_here
from ..tensors.base import LAZY, wrap


def transpose_of(linear: Callable[[list[Any]], list[Any]], like: list[Any], vectors: list[Any]) -> list[Any]:
    """Apply the transpose of ``linear`` to ``vectors``.

    ``linear`` maps tensors shaped as ``like`` to tensors; the result is shaped as ``like`` and is differentiable
    in whatever ``linear`` closes over when grad mode is on.
    """
    create_graph = STATE.grad_enabled
    forward = STATE.forward_grad_enabled
    dummies = [_leaf(t) for t in like]
    try:
        STATE.forward_grad_enabled = False
        set_grad_enabled_here(True)
        images = linear(dummies)
        pairs = [
            (gradient_edge(image), v)
            for image, v in zip(images, vectors, strict=True)
            if image is not None and v is not None
        ]
        pairs = [(edge, v) for edge, v in pairs if edge is not None]
        edges = [gradient_edge(d) for d in dummies]
        found: list[Any] = [None] * len(like)
        if pairs:
            found = run_backward(
                [e for e, _ in pairs], [v for _, v in pairs], keep_graph=True, create_graph=create_graph,
                inputs=edges, capture=True,
            )  # fmt: skip
        for dummy in dummies:  # formulas that ask one for its size recorded it: nothing depends on its value
            dummy.need_meta().requires_grad = False
    finally:
        set_grad_enabled_here(create_graph)
        STATE.forward_grad_enabled = forward
    return found


def _leaf(t: Any) -> Any:
    leaf = wrap(np.zeros(t._sig.shape, t._sig.numpy), LAZY)
    leaf.need_meta().requires_grad = True
    return leaf
