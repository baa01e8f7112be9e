"""Checking analytical gradients against finite differences: ``gradcheck`` and ``gradgradcheck``."""
