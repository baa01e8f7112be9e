"""Finds lines that draw random numbers from generators other than PyTorch's."""

from __future__ import annotations

import re

ELSEWHERE = re.compile(
    r"\b(np|numpy)\.random\.(?!default_rng|RandomState|seed)\w+\(|(?<![\w.])random\.(?!seed|Random)\w+\("
)
"""Matches draws from the global generators of NumPy and Python."""
FROM_ANY = re.compile(
    ELSEWHERE.pattern
    + r"|(?<!torch)\.(choices?|gauss|integers|normal|permut(ation|ed)|rand(int|om|om_sample)?|sample|shuffle"
    r"|standard_normal|uniform)\("
)
"""Also matches draws from a separate generator, which may intentionally continue from one run to the next."""
