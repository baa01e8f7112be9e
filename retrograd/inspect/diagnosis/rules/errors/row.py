"""The exceptions of autograd, a row each: how to recognise it, which tensor and line it is about, message and fix.

Patterns hold for PyTorch and for our engine, whose messages keep PyTorch's key phrases.  Of rows that match the first
counts.  Sentences have slots, which ``Scene`` fills, and the groups of the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One exception."""

    pattern: str
    kind: str
    says: str
    fix: str
    about: str = "first"
    """Which operand it is about: the ``first``, the one of ``whole`` numbers, with ``history``, or ``plain``."""
    line: str = "here"
    """Where the cause is: ``here``, where the tensor was ``made``, the call of the ``node``, the ``hook``, the
    ``forward`` or ``backward`` of a custom Function, the call of the backward ``pass``."""
    within: str = ""
    """A pattern of the library's modules, one of which raised it or called what did, and of transforms around it."""
