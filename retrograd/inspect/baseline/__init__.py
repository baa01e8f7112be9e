"""Compares a run with one that is known to work, as sets of facts: other seeds, sizes and lines make no difference."""

from .comparison import KIND, MEANING, compared

__all__ = ["KIND", "MEANING", "compared"]
