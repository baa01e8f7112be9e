"""Tensors that share memory: views, writes in place, versions, and how writes rewrite history."""
