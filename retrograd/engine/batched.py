"""Evaluation over a leading batch dimension: one pass per entry, results stacked.

There is no batching transform here, so ``is_grads_batched=True``, ``vectorize=True`` and the batched checks of
gradcheck all come to this loop. The results equal those of a transform; hooks run once per entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from retrograd.engine import functions as F
from retrograd.engine.modes import enable_grad
from retrograd.engine.tensor import Tensor

Gradients: TypeAlias = tuple[Tensor | None, ...]


def batched_grad(run: Callable[[Gradients, bool], Gradients], grad_outputs: Sequence[Tensor | None]) -> Gradients:
    """Run a backward pass for every entry of the first dimension of ``grad_outputs`` and stack the results.

    ``run(slices, keep_graph)`` makes one pass; ``keep_graph`` is true for all passes but the last, whose treatment
    of the graph is the caller's affair. An input that no pass reaches stays ``None``; one that only some passes
    reach gets zeros for the others.
    """
    size = batch_size(grad_outputs)
    passes = [run(_entry(grad_outputs, index), index + 1 < size) for index in range(size)]
    return tuple(_stack(column) for column in zip(*passes, strict=True))


def map_batch(function: Callable[..., Gradients], batches: Sequence[Tensor]) -> Gradients:
    """Call ``function`` with every entry of the first dimension of ``batches`` and stack what it returns."""
    return batched_grad(lambda slices, _: function(*slices), batches)


def batch_size(batches: Sequence[Tensor | None]) -> int:
    """The common length of the first dimension; ``ValueError`` when there is none, ``IndexError`` when it is 0."""
    sizes = []
    for position, batch in enumerate(batches):
        if batch is None or batch.dim() == 0:
            raise ValueError(
                f"Got in_dim=0 for grad_output[{position}], but it has no batch dimension (it is missing or a single "
                "number). Give every output a grad_output whose first dimension is the batch."
            )
        sizes.append(batch.shape[0])
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension. Give every grad_output the same number of entries."
        )
    if not sizes or sizes[0] == 0:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0: a batch needs at least one entry.")
    return int(sizes[0])


def check_batched_shapes(output_shapes: Sequence[Sequence[int]], grad_outputs: Sequence[Tensor | None]) -> None:
    """Refuse a batched gradient whose shape without the first dimension is not its output's shape."""
    for position, (expected, batch) in enumerate(zip(output_shapes, grad_outputs, strict=False)):
        if batch is None:
            continue
        if batch.dim() == 0:
            raise IndexError(f"invalid index of a 0-dim tensor: grad_output[{position}] has no batch dimension.")
        if tuple(batch.shape[1:]) != tuple(expected):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{position}] has a shape of "
                f"torch.Size({list(batch.shape[1:])}) and output[{position}] has a shape of "
                f"torch.Size({list(expected)}). Give each grad_output the shape (batch, *output.shape)."
            )


def _entry(batches: Sequence[Tensor | None], index: int) -> Gradients:
    # With grad mode on, so that results stay differentiable with respect to batches that require grad.
    with enable_grad():
        return tuple(None if batch is None else batch[index] for batch in batches)


def _stack(column: Gradients) -> Tensor | None:
    sample = next((entry for entry in column if entry is not None), None)
    if sample is None:
        return None
    with enable_grad():
        return F.stack([F.zeros_like(sample) if entry is None else entry for entry in column])
