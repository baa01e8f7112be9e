"""Derivatives of custom Functions compared with finite differences, at inputs that a recorded program gave them."""
