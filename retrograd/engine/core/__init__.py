"""The foundations: the base class of tensors, dtypes, shapes, layouts, and the registry of operators."""
