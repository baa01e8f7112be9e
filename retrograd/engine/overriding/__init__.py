"""Subclasses and modes that decide themselves what functions and operators do with tensors."""
