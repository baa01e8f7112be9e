"""Tensors: array and autograd record, dtype, and conversions."""
