"""``deliberate`` and ``# retrograd: deliberate``: the author's statement that a backward rule or a line is intended."""

from __future__ import annotations

import re
from typing import Any

MARK = "__retrograd_deliberate__"
"""Attribute of a class that was marked."""
COMMENT = re.compile(r"#\s*retrograd:\s*deliberate\b")
"""The comment with the same meaning; on any other line it suppresses the findings of that line."""


def deliberate(function: Any) -> Any:
    """Mark a custom Function whose backward intentionally differs from the derivative, and return it.

    ``diagnose`` then does not compare it with finite differences. Without importing retrograd, the comment ``#
    retrograd: deliberate`` on the line of ``class`` or of ``def backward`` says the same::

        @rg.deliberate
        class Surrogate(torch.autograd.Function): ...
    """
    setattr(function, MARK, True)
    return function
