"""Functions of this family: random tensors: draws from distributions."""
