"""Random streams equal to those of PyTorch on a CPU."""
