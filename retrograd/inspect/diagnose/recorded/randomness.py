"""Calls that draw random numbers."""

from __future__ import annotations

import re

from ...events import Event

_RANDOM = re.compile(
    r"(kaiming_|xavier_|trunc_)?(normal|uniform)_|(rand|randn|randint|randperm|rand_like|randn_like|randint_like|"
    r"normal|uniform|bernoulli|multinomial|poisson|binomial|exponential|geometric|log_normal|cauchy|random|rrelu|"
    r"gumbel_softmax)_?|\w*dropout[123]?d?_?"
)
"""Operators that draw from a generator."""


def draws_numbers(event: Event) -> bool:
    """Whether a call draws random numbers that its result shows: of dropout, only where it is on."""
    arguments = event.data.get("arguments") or {}
    off = arguments.get("training") is False
    if "dropout" in event.op:
        off = off or arguments.get("2") is False or arguments.get("p", arguments.get("1")) == 0
    return bool(_RANDOM.fullmatch(event.op)) and not off
