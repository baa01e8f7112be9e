"""Parameters that are not the tensors which a program trains: made anew in each pass, or results of others."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
