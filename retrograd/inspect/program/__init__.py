"""Reads the user's program: frames on the stack, names of tensors, the blocks around a line, its operands."""
