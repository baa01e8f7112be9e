"""The recorded graph: nodes, accumulators of leaves, edges, saved tensors and hooks."""
