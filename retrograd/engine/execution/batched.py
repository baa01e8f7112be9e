"""Derivatives over a leading batch dimension: one pass for each entry, results stacked.

There is no batching transform here, so ``is_grads_batched=True``, ``vectorize=True`` and the batched checks of
gradcheck all use this loop. The results equal those of a transform; hooks run once for each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..core.registry import F
from ..switches.modes import enable_grad

# Tensors, or None where there is no gradient.
Gradients: TypeAlias = tuple[Any, ...]


def batched_grad(
    run: Callable[[Gradients], Sequence[Any]],
    grad_outputs: Sequence[Any],
    *,
    run_last: Callable[[Gradients], Sequence[Any]] | None = None,
) -> Gradients:
    """Run a backward pass for every entry of the first dimension of ``grad_outputs`` and stack the results.

    ``run`` makes one pass and must keep the graph; ``run_last``, when given, makes the last one and may free it. An
    input that no pass reaches stays ``None``; one that only some passes reach gets zeros for the others.
    """
    size = batch_size(grad_outputs)
    passes = [run(_entry(grad_outputs, index)) for index in range(size - 1)]
    passes.append((run_last or run)(_entry(grad_outputs, size - 1)))
    return tuple(_stack(column) for column in zip(*passes, strict=True))


def map_batch(function: Callable[..., Sequence[Any]], batches: Sequence[Any]) -> Gradients:
    """Call ``function`` with every entry of the first dimension of ``batches`` and stack the results."""
    return batched_grad(lambda entries: function(*entries), batches)


def batch_size(batches: Sequence[Any]) -> int:
    """The common length of the first dimension; ``ValueError`` when there is none, ``IndexError`` when it is 0."""
    sizes = []
    for position, batch in enumerate(batches):
        if batch is None or not batch.shape:
            raise ValueError(
                f"Got in_dim=0 for grad_output[{position}], but it has no batch dimension (it is missing or a single "
                "number). Give every output a grad_output whose first dimension is the batch."
            )
        sizes.append(int(batch.shape[0]))
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension. Give every grad_output the same number of entries."
        )
    if not sizes or sizes[0] == 0:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0: a batch needs at least one entry.")
    return sizes[0]


def _entry(batches: Sequence[Any], index: int) -> Gradients:
    # With grad mode on, so that results stay differentiable with respect to batches that require grad.
    with enable_grad():
        return tuple(batch[index] for batch in batches)


def _stack(column: Sequence[Any]) -> Any:
    sample = next((entry for entry in column if entry is not None), None)
    if sample is None:
        return None
    with enable_grad():
        return F.stack([sample.new_zeros(sample.shape) if entry is None else entry for entry in column])
