"""Backward runs: their nodes, statistics, graphs equal to the one before, breakpoints."""
