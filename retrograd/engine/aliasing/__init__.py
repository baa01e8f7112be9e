"""Tensors that share memory: views, in-place writes, version counters, and the history that writes rewrite."""
