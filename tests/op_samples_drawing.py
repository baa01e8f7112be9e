"""Samples of random functions (with parameters that leave only one outcome, or times 0) and of some overwriting."""

from __future__ import annotations

from op_samples import Sample, bools, program, real

X = real(2, 3, lo=0.2, hi=0.9)


def draw(name: str, call: object, *args: object) -> Sample:
    """A random function whose gradient and node are torch's."""
    return program(f"random {name}", call, *args, node=True, second=False, forward="gamma" not in name)


SAMPLES: list[Sample] = [
    draw("bernoulli", lambda torch, x: torch.bernoulli(x * 0 + 1), X),
    draw("poisson", lambda torch, x: torch.poisson(x * 0), X),
    draw("gamma", lambda torch, x: torch._standard_gamma(x * 1) * 0, X),
    draw("gamma slope", lambda torch, x: torch._standard_gamma_grad(x.detach(), x.detach()) * 0 + x, X),
    draw("normal mean", lambda torch, x: torch.normal(x * 1, 0.0), X),
    draw("normal std", lambda torch, x: torch.normal(1.5, x * 0), X),
    draw("normal mean std", lambda torch, x, y: torch.normal(x * 1, y * 0), X, real(2, 3, start=1)),
    draw("normal_", lambda torch, x: (x * 1).normal_(1.5, 0.0), X),
    draw("uniform_", lambda torch, x: (x * 1).uniform_(1.5, 1.5), X),
    draw("binomial", lambda torch, x: torch.binomial((x * 0 + 3).detach(), torch.ones_like(x)) * x, X),
    draw(
        "histogramdd between edges",
        lambda torch, x: (
            torch.histogramdd(x.detach(), [torch.tensor([0.0, 0.5, 1.0], dtype=x.dtype)] * 3).hist.sum() * x
        ),
        X,
    ),
    draw("bernoulli_", lambda torch, x: (x * 1).bernoulli_(1.0), X),
    draw("bernoulli_ with a tensor", lambda torch, x: (x * 1).bernoulli_(torch.ones(2, 3)), X),
    draw("random_ from to", lambda torch, x: (x * 1).random_(3, 4), X),
    draw("random_ to", lambda torch, x: (x * 1).random_(1), X),
    draw("random_", lambda torch, x: (x * 1).random_() * 0, X),
    draw("cauchy_", lambda torch, x: (x * 1).cauchy_() * 0, X),
    draw("exponential_", lambda torch, x: (x * 1).exponential_() * 0, X),
    draw("geometric_", lambda torch, x: (x * 1).geometric_(0.5) * 0, X),
    draw("log_normal_", lambda torch, x: (x * 1).log_normal_() * 0, X),
    program("fill_ with a tensor", lambda torch, x, y: (x * 1).fill_(y), X, real(), node=True),
    program("fill_ with a number", lambda torch, x: (x * 1).fill_(2.0), X, node=True),
    program("zero_", lambda torch, x: (x * 1).zero_(), X, node=True),
    program("split into sizes", lambda torch, x: torch.split(x, [1, 2], 1), X, node=True),
    program("squeeze of two", lambda torch, x: x.squeeze((0, 2)), real(1, 2, 1, 3), node=True),
    program(
        "pool to 3d with indices",
        lambda torch, x: torch.nn.functional.adaptive_max_pool3d(x, (1, 2, 2), return_indices=True),
        real(1, 2, 3, 4, 4),
        node=True,
    ),
    program("masked in place", lambda torch, x: (x * 1).masked_fill_(torch.from_numpy(bools(2, 3)), 2.0), X, node=True),
]
