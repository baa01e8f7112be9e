"""Calls of a program: the note made of each, and the event made of the note."""
