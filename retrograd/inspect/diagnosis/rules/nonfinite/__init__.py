"""Where the first NaN or infinity of a bad loss or gradient arose: in the data, in forward, or in backward."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
