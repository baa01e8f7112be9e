"""Sparse tensors: indices and values of the entries that are not zero."""
