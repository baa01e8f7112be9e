"""What functions make of ``out=``: which dtypes it may have, and how results get there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class OutDtype(Enum):
    """Which dtypes a call takes as ``out=``; the values are the words of the table of signatures."""

    CASTABLE = ""
    """One to which the result can be cast."""
    EXACT = "exact"
    """That of the result."""
    FREE = "free"
    """Any; what has a ``dtype=`` computes in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """How one function takes ``out=``, where that does not follow from PyTorch's signatures."""

    exact: bool = False
    """It must have the dtype of the result, which the signatures do not tell."""
    rows: bool = False
    """It lies row by row where it gets its size from the result, however that would lie itself."""
    floating: bool = False
    """It must have a real floating dtype, whatever else PyTorch says of that of the result."""
    copied: bool = False
    """PyTorch composes the function of others and copies their result there: row by row, and with its history."""


USUAL = Out()
"""What nearly all functions do."""
