"""Compares derivatives of custom Functions with finite differences, at inputs from a recorded program."""
