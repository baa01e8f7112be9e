"""Calls of a program: what is expected of the next one, what is noted, and the event that is made of the note."""
