"""Processes that a program starts, each recorded into a file of its own."""
