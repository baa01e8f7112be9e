"""Calls of a program: what is noted of each, and the event that is made of the note."""
