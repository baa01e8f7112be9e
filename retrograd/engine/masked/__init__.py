"""``torch.masked``: reductions and normalisations of the elements that a mask selects.

They are composed of public operators: masked-out elements are replaced by a value that does not change the result
(`filling`), and then the ordinary function runs.
"""
