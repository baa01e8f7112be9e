"""``log_hooks``: one log line for each node as a backward pass executes it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from ..interpreter import getframe
from .walker import as_roots, one_source

LOGGER = logging.getLogger("retrograd.inspect")
LOGGER.addHandler(logging.NullHandler())


@contextmanager
def log_hooks(
    outputs: Any,
    to: Callable[[str], object] | TextIO | None = None,
    *,
    verbose: bool = False,
    level: int = logging.DEBUG,
) -> Iterator[None]:
    """Log each node behind ``outputs`` as a backward pass executes it, inside a ``with`` block.

    Every node of the graph (of either engine) gets a hook; all hooks are removed when the block ends, also if backward
    raises. A line names the node, its parameter or module, the source line (inside a ``debug()`` block) and the
    incoming gradient: ``n2 MulBackward0 in net (train.py:7) gets f32[3] norm 1.5``. Nothing in it changes from run to
    run, so two logs can be compared. ``verbose`` adds a line with the gradients that the node ``passes on``. Lines go
    to the logger ``retrograd.inspect`` at ``level``, and also to ``to``: a stream, or a function that takes a line,
    such as ``print``.

    ``outputs`` is what ``walk`` takes; an empty list logs nothing. Raises ``NoGraphError`` for an output that does not
    require gradients::

        with rg.log_hooks(loss, to=print):
            loss.backward()
    """
    if isinstance(outputs, (list, tuple)) and not outputs:
        yield
        return
    roots = as_roots(outputs)
    frame = getframe(2)  # of the with statement; contextlib is in between
    attached = one_source(roots).log_hooks(roots, frame, _writer(to, level), verbose=verbose)
    del frame
    del roots, outputs
    with attached:
        yield


def _writer(to: Callable[[str], object] | TextIO | None, level: int) -> Callable[[str], None]:
    """Return the function that writes each line."""
    write: Callable[[str], object] | None = None
    if to is not None:
        write = to if callable(to) else lambda line: to.write(line + "\n")

    def log(line: str) -> None:
        LOGGER.log(level, "%s", line)
        if write is not None:
            write(line)

    return log
