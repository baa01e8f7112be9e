"""Patches and hooks that are installed while PyTorch is watched."""
