"""Nested containers as trees: lists of leaves, paths to them, and descriptions that can be written down."""
