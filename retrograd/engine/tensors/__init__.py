"""Tensors as programs see them: the class, its relatives, conversion, copying, printing."""
