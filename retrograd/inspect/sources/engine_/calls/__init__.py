"""Calls of a program: predictions of the next call, notes, and the events made of the notes."""
