"""The checks: one file per family of findings.

A module that defines ``CHECK`` (a ``base.Check``) is found by listing this folder.  The few that define none belong to
the check that imports them.
"""
