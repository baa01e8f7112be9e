"""Backward passes: their nodes, statistics, graphs equal to the one before, breakpoints."""
