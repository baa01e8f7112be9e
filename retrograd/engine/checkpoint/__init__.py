"""Checkpointing: saves memory by computing parts of the forward pass again."""
