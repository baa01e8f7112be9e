"""Compares any number of recordings step by step: ranks of one job, or runs of one program."""
