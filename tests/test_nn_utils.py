"""``nn.utils``: clipped gradients, and parameters as one vector, held against PyTorch."""

from __future__ import annotations

from typing import Any

from both_engines import differential, raises


@differential
def test_gradients_are_clipped(torch: Any) -> Any:
    """The norm over all parameters, its bound, and the bound of entries."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    ((a * 3).sum() + (b * b * 2).sum()).backward()
    clip = torch.nn.utils
    norms = [
        clip.clip_grad_norm_([a, b], 1.0), clip.clip_grad_norm_(a, 100.0, norm_type=float("inf")),
        clip.get_total_norm([a.grad, b.grad], 1), clip.clip_grad_norm_([], 1.0),
    ]  # fmt: skip
    first = [a.grad.clone(), b.grad.clone()]
    clip.clip_grad_value_((p for p in (a, b)), 0.3)
    a.grad[0] = float("nan")
    return [
        norms, first, a.grad, b.grad, clip.get_total_norm([a.grad]),
        raises("is non-finite, so it cannot be clipped", clip.clip_grad_norm_, [a], 1.0, error_if_nonfinite=True),
    ]  # fmt: skip


@differential
def test_parameters_as_a_vector(torch: Any) -> Any:
    """The vector is recorded, and parameters may be set from one."""
    a, b = torch.ones(3, requires_grad=True), torch.zeros(2, 2, requires_grad=True)
    vector = torch.nn.utils.parameters_to_vector([a, b])
    (vector**2).sum().backward()
    torch.nn.utils.vector_to_parameters(torch.arange(7.0), [a, b])
    return [vector, a.grad, a, b, raises("expected torch.Tensor", torch.nn.utils.vector_to_parameters, 3, [a])]
