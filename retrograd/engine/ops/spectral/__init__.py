"""Rows of Fourier transforms."""
