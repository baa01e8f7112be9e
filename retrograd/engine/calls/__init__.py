"""Calling an operator: the general path, and the fast path that is generated from a row."""
