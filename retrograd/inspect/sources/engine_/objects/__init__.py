"""What programs on our engine make besides tensors: modules, optimizers, hooks, Functions, checkpoints, arrays."""
