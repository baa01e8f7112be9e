"""Names of PyTorch that only old or unusual programs use, or that have no effect here."""
