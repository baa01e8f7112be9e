"""Functions that draw random numbers, by the names that recordings use."""

from __future__ import annotations

import re

DRAWING = re.compile(
    r"(kaiming_|xavier_|trunc_)?(normal|uniform)_|(rand|randn|randint|randperm|rand_like|randn_like|randint_like|"
    r"normal|uniform|bernoulli|multinomial|poisson|binomial|exponential|geometric|log_normal|cauchy|random|rrelu|"
    r"gumbel_softmax)_?|\w*dropout[123]?d?_?"
)
"""Matches the whole name of each."""

ELSEWHERE = re.compile(
    r"\b(np|numpy)\.random\.(?!default_rng|RandomState|seed)\w+\(|(?<![\w.])random\.(?!seed|Random)\w+\("
)
"""How lines draw from the generators that NumPy and Python share among everybody."""
FROM_ANY = re.compile(
    ELSEWHERE.pattern
    + r"|(?<!torch)\.(choices?|gauss|integers|normal|permut(ation|ed)|rand(int|om|om_sample)?|sample|shuffle"
    r"|standard_normal|uniform)\("
)
"""How lines draw from a generator of their own as well, which may go on from one run to the next on purpose."""
