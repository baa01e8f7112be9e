"""Functions of ``torch.masked``: reductions and normalisations that look at a part of the elements only.

They are composed of public operators: what is masked out is replaced by a value that does not change the result
(`filling`), and then the ordinary function runs.
"""
