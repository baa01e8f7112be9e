"""Observes objects other than tensors: modules, optimizers, hooks, custom Functions, checkpoints, shared arrays."""
