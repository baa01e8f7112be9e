"""Adapter for PyTorch: how its graphs are walked and its programs are watched.

``source`` is the ``Source`` that the inspector uses, ``watch`` installs and removes the patches through which calls are
seen.  PyTorch is never imported here; it is used once the program has imported it.
"""

from .source import SOURCE

__all__ = ["SOURCE"]
