"""Our own engine as the inspector sees it; one idea a file.

``source`` is what the inspector talks to, ``watching`` one watcher.  ``observers`` lists what sends it what they see:
``lines``, ``runs``, ``nodes``, ``calls``, ``writes``, ``leaves``, ``hooks``, ``functions``, ``owners`` and
``checkpoints``.
"""

from .source import SOURCE

__all__ = ["SOURCE"]
