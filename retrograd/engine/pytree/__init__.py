"""Nested containers as trees: lists of leaves, paths to them, and specs that can be serialized."""
