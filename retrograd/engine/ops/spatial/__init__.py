"""Rows of windows over images: convolution, pooling, padding, resampling."""
