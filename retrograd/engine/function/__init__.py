"""Operators written by the user as a class: ``Function``, its node, its outputs, its forward mode."""
