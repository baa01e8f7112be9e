"""Compares a run with one that works, as sets of facts that do not depend on seeds, sizes or line numbers."""

from .comparison import KIND, MEANING, compared

__all__ = ["KIND", "MEANING", "compared"]
