"""Trading memory for recomputation."""
