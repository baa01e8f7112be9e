"""``AdaptiveLogSoftmaxWithLoss``, held against PyTorch."""

from __future__ import annotations

from typing import Any

from both_engines import differential, raises


def adaptive(torch: Any, **options: Any) -> Any:
    """Ten classes in a shortlist of three and two clusters, with fixed weights."""
    made = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [3, 6], div_value=2.0, **options).double()
    with torch.no_grad():
        for i, p in enumerate(made.parameters()):
            values = torch.arange(float(p.numel()), dtype=torch.float64).add(i).mul(1.7).sin()
            p.copy_(values.reshape(p.shape))
    return made


@differential
def test_loss_and_classes(torch: Any) -> Any:
    """Log-probabilities of targets in the shortlist and in clusters, loss, gradients, all classes, the likeliest."""
    made = adaptive(torch)
    x = torch.arange(80.0, dtype=torch.float64).mul(0.37).cos().view(5, 16).requires_grad_()
    found = made(x, torch.tensor([0, 4, 9, 2, 6]))
    found.loss.backward()
    alone = adaptive(torch, head_bias=True)(x[0], torch.tensor(7))
    names, grads = list(made.state_dict()), [p.grad for p in made.parameters()]
    return repr(made), found.output, found.loss, x.grad, names, grads, made.log_prob(x), made.predict(x), tuple(alone)


@differential
def test_refusals(torch: Any) -> Any:
    """Cutoffs that do not rise, targets out of range or of another size than the input."""
    made, x = adaptive(torch), torch.ones(2, 16, dtype=torch.float64)
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss
    return [
        raises("unique, positive integers sorted", layer, 4, 10, [5, 3]),
        raises("unique, positive integers sorted", layer, 4, 10, [3, 10]),
        raises("length larger than 0", layer, 4, 10, []),
        raises("Target values should be in [0, 9]", made, x, torch.tensor([1, 10])),
        raises("same size in the batch dimension", made, x, torch.tensor([1])),
        raises("multi-target not supported", made, x, torch.zeros(2, 2, dtype=torch.long)),
        raises("1D target tensor expects 2D input", made, x[0], torch.ones(16, dtype=torch.long)),
    ]
