"""Attributes of tensors: metadata, memory, predicates."""
