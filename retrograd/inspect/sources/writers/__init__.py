"""Writes events in one form for both engines: an adapter detects what happened, numbers tensors, and calls these."""
