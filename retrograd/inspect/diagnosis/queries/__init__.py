"""Questions to the facts: ways of values against ways of gradients, where a constant was cut off, depths."""
