"""Backward passes: ``backward`` and ``grad``, the full task, the fast sweep, and queries about the running pass."""
