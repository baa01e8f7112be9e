"""The operator table: what a row is, and the functions and methods made of the rows."""
