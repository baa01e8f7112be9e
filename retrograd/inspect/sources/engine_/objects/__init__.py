"""What programs make besides tensors: modules, optimizers, hooks, custom Functions, checkpoints, shared arrays."""
