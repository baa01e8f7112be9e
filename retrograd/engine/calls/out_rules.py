"""How functions treat ``out=``: which dtypes it may have, and how results are written to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class OutDtype(Enum):
    """The dtypes that ``out=`` may have; the values are words of the table of signatures."""

    CASTABLE = ""
    """One to which the result can be cast."""
    EXACT = "exact"
    """The dtype of the result."""
    FREE = "free"
    """Any; functions with ``dtype=`` compute in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """How one function treats ``out=``, if that does not follow from PyTorch's signatures."""

    exact: bool = False
    """It must have the dtype of the result, although the signatures do not say so."""
    rows: bool = False
    """It lies row by row where it gets its size from the result, however that would lie itself."""
    floating: bool = False
    """It must have a real floating dtype, whatever else PyTorch says about the result's dtype."""
    copied: bool = False
    """PyTorch composes the function of others and copies their result into it: row by row, and with its history."""


USUAL = Out()
"""The treatment by nearly all functions."""
