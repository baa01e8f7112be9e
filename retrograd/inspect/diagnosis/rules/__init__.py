"""The rules: a file for each family of causes, or a folder with the check and its parts.

A module or package that offers ``CHECK`` (a ``base.Check``) is found by listing this folder; several may be of one
family.
"""
