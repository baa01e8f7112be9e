"""Statistics of values, read from the memory of tensors."""
