"""The operator table: the definition of a row, and the functions and methods made from rows."""
