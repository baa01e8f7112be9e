"""Rows of layers: activations, attention, embedding, normalization."""
