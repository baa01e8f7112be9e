"""Any number of recordings side by side, step by step: ranks of one job, or runs of one program."""
