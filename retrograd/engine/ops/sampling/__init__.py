"""Random tensors: draws from distributions."""
