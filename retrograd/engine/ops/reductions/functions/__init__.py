"""Reductions and other functions along a dimension."""
