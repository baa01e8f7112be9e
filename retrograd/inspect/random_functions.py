"""Functions that draw random numbers, by the names that recordings use."""

from __future__ import annotations

import re

DRAWING = re.compile(
    r"(kaiming_|xavier_|trunc_)?(normal|uniform)_|(rand|randn|randint|randperm|rand_like|randn_like|randint_like|"
    r"normal|uniform|bernoulli|multinomial|poisson|binomial|exponential|geometric|log_normal|cauchy|random|rrelu|"
    r"gumbel_softmax)_?|\w*dropout[123]?d?_?"
)
"""Matches the whole name of each."""
