"""What the lines of a program say: names, operands, conditions."""
