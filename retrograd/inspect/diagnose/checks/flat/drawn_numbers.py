"""Random numbers whose derivative with respect to the parameters of their distribution is zero."""

from __future__ import annotations

from ....events import Event
from ...words import at

_REMEDIES = {
    "normal": "mean + std * torch.randn_like(std), or torch.distributions.Normal(mean, std).rsample()",
    "bernoulli": "a straight-through estimate: p + (torch.bernoulli(p) - p).detach(), or a score function: "
    "loss * distribution.log_prob(sample)",
    "poisson": "a score function: loss * torch.distributions.Poisson(rate).log_prob(sample)",
}
"""Function -> what a gradient gets past."""


def drawn_numbers(event: Event, they_get: str) -> tuple[str, str, str] | None:
    """Return kind, sentence and remedy if a call draws numbers and passes nothing on; ``they_get``: leaves and verb."""
    op = event.op
    if op not in _REMEDIES:
        return None
    message = f"{op}{at(event.source)} draws numbers, whose derivative with respect to what they are drawn from is zero"
    return "zero-gradient", f"{message}: {they_get} a gradient of zero.", _REMEDIES[op]
