"""Queries of the facts: paths of values compared with paths of gradients, where a constant was cut off, depths."""
