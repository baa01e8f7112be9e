"""Histories of watched training runs: figures of every step in bounded memory, their file, and two runs compared."""
