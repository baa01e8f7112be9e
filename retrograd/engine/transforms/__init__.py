"""Functions of functions: mapped over a batch, or differentiated."""
