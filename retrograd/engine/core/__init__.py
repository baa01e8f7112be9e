"""What all rooms stand on: the base class of tensors, dtypes, shapes, layouts, and the registry of operators."""
