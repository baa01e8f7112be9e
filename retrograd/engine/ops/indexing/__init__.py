"""Rows that pick, place and sort elements."""
