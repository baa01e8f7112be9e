"""Finds lines that draw random numbers from generators other than PyTorch's."""

from __future__ import annotations

import re

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
