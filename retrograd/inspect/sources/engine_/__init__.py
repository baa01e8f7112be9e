"""Adapter for our own engine: how its graphs are walked and its programs are watched.

``source`` is the ``Source`` that the inspector uses; it loads ``graphs``, and with that the engine, only when the
program has loaded the engine itself.  ``watching`` is the state of one watcher.  ``observers`` lists the
observers that report to it: ``lines``, ``runs``, ``nodes``, ``calls``, ``writes``, ``leaves``, ``hooks``,
``functions``, ``owners`` and ``checkpoints``.
"""

from .source import SOURCE

__all__ = ["SOURCE"]
