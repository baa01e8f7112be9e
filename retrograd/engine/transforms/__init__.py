"""``torch.func`` and ``vmap``: derivatives of functions, and functions over batches."""
