"""Histories of watched training runs: statistics of every step in bounded memory, their file, and their comparison."""
