"""The roots of a backward pass, and the gradient of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliasing.views import gradient_edge, requires_grad
from ..core.base import TensorBase, wrap
from ..core.registry import F
from ..core.sig import Sig
from ..core.size import Size
from ..nodes.edges import GradientEdge, edge_of
from ..nodes.node import edge_parts
from ..overriding.asked_functions import is_asked, ones_like


def root_edges(outputs: list[Any]) -> list[Any]:
    """The edges a run starts at; ``RuntimeError`` for an output without a graph."""
    roots = []
    for i, t in enumerate(outputs):
        edge = edge_of(t) if isinstance(t, GradientEdge) else gradient_edge(t)
        if edge is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn. Give requires_grad=True to "
                "a leaf it was computed from, and check that no detach(), .data, item() or no_grad() lies between."
            )
        roots.append(edge)
    return roots


def make_grads(outputs: list[Any], given: list[Any], *, batched: bool) -> list[Any]:
    """The gradient each root starts with: checked, or ones for a real scalar."""
    if len(given) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    grads = []
    for i, (t, g) in enumerate(zip(outputs, given, strict=False)):
        sig = t._sig if isinstance(t, TensorBase) else _output_sig(t)
        if g is None:
            grads.append(_implicit_grad(t, sig))
        elif isinstance(g, TensorBase):
            grads.append(_checked_grad(i, t, g, batched))
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    return grads


def shapes_of(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output (or of the input of its edge) and of one gradient for it."""
    if isinstance(output, GradientEdge):
        if is_grads_batched:
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        return _output_sig(output).shape, grad.shape
    return output.shape, Size(grad.shape[1:]) if is_grads_batched else grad.shape


def _output_sig(t: Any) -> Sig:
    if isinstance(t, GradientEdge):
        edge = edge_of(t)
        node, nr = edge_parts(edge)
        sig = node._sigs[nr]
        if sig is None:
            raise RuntimeError(f"input {nr} of {node.name()} takes no gradient")
        return sig
    if not isinstance(t, TensorBase):
        raise AssertionError(f"Expected output to be a torch.Tensor or a GradientEdge, got {type(t).__name__}")
    return t._sig


def _implicit_grad(t: Any, sig: Sig) -> Any:
    if isinstance(t, TensorBase) and not requires_grad(t):
        return None
    if sig.shape and sig.shape.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if sig.kind != "f":
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {sig.dtype}")
    if isinstance(t, TensorBase) and is_asked(t):
        return ones_like(t)
    return wrap(np.ones(sig.shape, sig.numpy) if sig.shape else np.array(1, sig.numpy))


def _checked_grad(i: int, t: Any, g: Any, batched: bool) -> Any:
    """The gradient given for output ``i``; raises unless it has the output's shape and kind of dtype."""
    sig = _output_sig(t)
    if batched and not g._sig.shape:
        raise IndexError(f"invalid index of a 0-dim tensor: grad_output[{i}] has no batch dimension.")
    shape = Size(g._sig.shape[1:]) if batched else g._sig.shape
    if shape != sig.shape:
        if batched and isinstance(t, GradientEdge):
            raise RuntimeError(f"Batched grads are not supported with GradientEdge where shapes differ: {g._sig.shape}")
        if batched:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                f"dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {g._sig.shape} and output[{i}] "
                f"has a shape of {sig.shape}. If you only want some tensors in `grad_output` to be considered batched, "
                "consider using vmap."
            )
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {g._sig.shape} and output[{i}] has a shape of "
            f"{sig.shape}."
        )
    have, want = g._sig.numpy, sig.numpy
    if (have.kind == "c") != (want.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {g._sig.dtype} and output[{i}] has a dtype of {sig.dtype}."
        )
    return g if have == want else F._to_copy(g, want)
