"""PyTorch as the inspector sees it; one idea a file.

``source`` is what the inspector talks to, ``watch`` puts in place what tells it of a program and takes it away again.
PyTorch is never imported here: it counts once the program has imported it.
"""

from .source import SOURCE

__all__ = ["SOURCE"]
