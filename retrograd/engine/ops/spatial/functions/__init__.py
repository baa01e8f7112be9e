"""Layers over positions: convolution, pooling, padding, resampling."""
