"""The words of findings, and what the lines of a program say: names, operands."""
