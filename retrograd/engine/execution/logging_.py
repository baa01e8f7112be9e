"""Logs one line for each node that a backward pass executes, on our logger or on PyTorch's.

Importing ``logging`` takes time; as long as nobody has imported it, nobody can have requested a log.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..core.narrow import EIGHT_BITS
from ..nodes.edges import node_of
from .introspection import current_node

if TYPE_CHECKING:
    from logging import Logger

_DEBUG = 10


@functools.cache
def _loggers() -> tuple[Logger, ...]:
    """Ours, and that which programs written for PyTorch ask for."""
    import logging

    return logging.getLogger("retrograd.autograd.graph"), logging.getLogger("torch.autograd.graph")


_DTYPE_ABBRS = {
    "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128", "int8": "i8",
    "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "bool": "b8", "bfloat16": "bf16",
    **{f"float8_{digits}": f"f8{digits}" for digits in EIGHT_BITS},
}  # fmt: skip


def iter_graph(roots: Sequence[Any]) -> Iterator[Any]:
    """All nodes, breadth first from the roots in order, each once."""
    seen: set[Any] = set()
    queue: deque[Any] = deque()

    def enqueue(node: Any) -> None:
        if node is not None and node not in seen:
            seen.add(node)
            queue.append(node)

    for root in roots:
        enqueue(root)
    while queue:
        node = queue.popleft()
        yield node
        for following, _ in node.next_functions:
            enqueue(following)


def _format(t: Any) -> str:
    if t is None:
        return "None"
    return f"{_DTYPE_ABBRS[t.dtype.name]}[{', '.join(map(str, t.shape))}]"


def _log_node(grad_outputs: tuple[Any, ...]) -> None:
    shown = ",".join(_format(g) for g in grad_outputs)
    logger = _chosen() or _loggers()[0]
    logger.debug("Executing: %s with grad_outputs: [%s]", current_node(), shown)


def _register_logging_hooks_on_whole_graph(t_outputs: Sequence[Any]) -> Callable[[], None]:
    """Log every node of the graph as it executes; returns a function that removes the hooks again.

    Raises ``AssertionError`` for an output that does not require grad.
    """
    roots = [node_of(t) for t in t_outputs]
    handles = [node.register_prehook(_log_node) for node in iter_graph(roots)]

    def unregister_hooks() -> None:
        for handle in handles:
            handle.remove()

    return unregister_hooks


def is_wanted() -> bool:
    """Whether DEBUG was asked for on one of the loggers or above it; a program's own root level does not count."""
    return "logging" in sys.modules and _chosen() is not None


def _chosen() -> Logger | None:
    """The logger that was asked for DEBUG."""
    return next((logger for logger in _loggers() if _is_at_debug(logger)), None)


def _is_at_debug(logger: Logger | None) -> bool:
    while logger is not None and logger.name != "root":
        if logger.level:
            return logger.level <= _DEBUG
        logger = logger.parent
    return False


def attach_if_wanted(t_outputs: Sequence[Any]) -> Callable[[], None] | None:
    """Attach the logging hooks if the logger's level is DEBUG or lower; what removes them again, or ``None``."""
    if not is_wanted():
        return None
    return _register_logging_hooks_on_whole_graph(t_outputs)
