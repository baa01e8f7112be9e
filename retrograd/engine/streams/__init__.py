"""Streams of random numbers, the same as those of PyTorch on a CPU."""
