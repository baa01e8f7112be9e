"""``deliberate``: the author's word that the backward of a custom Function is not meant to be the derivative."""

from __future__ import annotations

from typing import Any

MARK = "__retrograd_deliberate__"
"""Attribute of a class that was marked."""


def deliberate(function: Any) -> Any:
    """Mark a custom Function whose backward is meant to be something else than the derivative; return it.

    ``diagnose`` does not compare it with finite differences then.  A program that is not to import retrograd says the
    same by a comment, ``# retrograd: deliberate``, at the line of ``class`` or of ``def backward``::

        @rg.deliberate
        class Surrogate(torch.autograd.Function): ...
    """
    setattr(function, MARK, True)
    return function
