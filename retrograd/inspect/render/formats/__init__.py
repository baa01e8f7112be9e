"""Renderers, one file per output format: a module with a ``RENDERER`` is found by listing this folder."""
