"""Custom Functions: ``Function``, its node, its outputs, its forward mode."""
