"""The author's word that something is meant: ``deliberate`` for the backward of a Function, a comment for a line."""

from __future__ import annotations

import re
from typing import Any

MARK = "__retrograd_deliberate__"
"""Attribute of a class that was marked."""
COMMENT = re.compile(r"#\s*retrograd:\s*deliberate\b")
"""What a line says in place of that; at any other line, that no finding is to be reported of it."""


def deliberate(function: Any) -> Any:
    """Mark a custom Function whose backward is meant to be something else than the derivative; return it.

    ``diagnose`` does not compare it with finite differences then.  A program that is not to import retrograd says the
    same by a comment, ``# retrograd: deliberate``, at the line of ``class`` or of ``def backward``::

        @rg.deliberate
        class Surrogate(torch.autograd.Function): ...
    """
    setattr(function, MARK, True)
    return function
