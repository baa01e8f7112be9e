"""Calls of operators: the general path, and the fast path generated for each row of the table."""
