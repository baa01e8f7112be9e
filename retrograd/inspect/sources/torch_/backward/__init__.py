"""Backward passes: hooks on their nodes, graphs equal to the one before, breakpoints, release."""
