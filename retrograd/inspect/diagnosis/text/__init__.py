"""The words of findings, and the texts of the program's lines: names, operands."""
