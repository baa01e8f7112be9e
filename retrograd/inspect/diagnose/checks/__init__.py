"""The checks: a file for each sort of cause.

A module that defines ``CHECK`` (a ``base.Check``) is found by listing this folder; several may be of one family.  One
that defines none (``bad_data``, ``cut_words``, ``frozen_by_name``, ...) is a part of the check that imports it.
"""
