"""Our own engine as the inspector sees it; one idea a file.

``source`` is what the inspector talks to.  ``watching`` is one watcher; the other modules are the observers that send
it what they see: ``lines``, ``runs``, ``nodes``, ``calls``, ``leaves``, ``hooks``, ``functions``, ``owners``,
``checkpoints``.
"""

from .source import SOURCE

__all__ = ["SOURCE"]
