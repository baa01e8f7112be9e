"""The recorded graph: nodes, leaves' accumulators, edges, saved values and hooks."""
