"""Profilers: the time of operators, nodes of backward and named parts of a program."""
