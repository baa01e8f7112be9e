"""Rows of losses and distances."""
