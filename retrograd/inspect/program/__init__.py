"""Reading the user's program: its frames on the stack, names of its tensors, blocks around a line, operands in it."""
