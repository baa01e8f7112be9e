"""Numerical kernels: special functions on NumPy arrays, without SciPy."""
