"""Lets deep PyTorch graphs be freed safely after their nodes were touched from Python.

A node that Python has seen keeps a Python object, and releasing such nodes recurses in C: with the usual 8 MB
stack the process dies of a segmentation fault at a depth of about 40,000 when the user's program drops the
loss.  Two remedies:

- On the main thread of a Unix the stack may grow further as soon as its soft limit is raised, which is done by
  what the graph at hand can need.  The graph dies exactly when the user lets it go.
- The stack of another thread cannot grow.  There, and where the limit cannot be raised enough, some nodes are
  held such that no path of unheld nodes is long; each is let go as soon as nobody else refers to it, root first,
  by a background thread that ends when nothing is held.  Whatever still lives when the interpreter ends is
  left to the operating system.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
from collections.abc import Sequence
from types import ModuleType

from .....locks import reentrant_lock
from ....graphs.graph import Graph
from ...base import Node

try:
    import resource as _resource_module

    _resource: ModuleType | None = _resource_module
except ImportError:  # Windows
    _resource = None

_SAFE_NODES = 20_000
"""Graphs with fewer nodes are freed within the usual stack of the main thread."""
_SAFE_NODES_THREAD = 1_000
"""The same for other threads, whose stacks may be small."""
_BYTES_PER_NODE = 768
"""Stack reserved for one level of the recursion; about 200 bytes were measured."""
_STRIDE = 250
"""Longest path of nodes that are not held."""
_INTERVAL = 0.05
_PATIENCE = 30.0
"""Longest wait at the end of the process, in seconds, for a running release."""


def protect(order: list[Node], snapshot: Graph) -> None:
    """Make sure that this graph, whose nodes were just touched, can be freed by any thread at any time."""
    if _Holding.batches:
        let_go()
    if len(order) <= _SAFE_NODES_THREAD:
        return
    main = threading.current_thread() is threading.main_thread()
    if main and len(order) <= _SAFE_NODES:
        return
    if raise_stack_limit(len(order)) and main and threading.active_count() == 1:
        return
    _hold([order[place] for place in cut_points(snapshot)])


def raise_stack_limit(nodes: int) -> bool:
    """Raise the main thread's stack limit for freeing this many nodes in a row, if possible."""
    if _resource is None or sys.platform == "darwin":  # macOS sets the main thread's stack aside when it starts
        return False
    soft, hard = _resource.getrlimit(_resource.RLIMIT_STACK)
    need = 8 * 2**20 + nodes * _BYTES_PER_NODE
    unlimited = _resource.RLIM_INFINITY
    if soft == unlimited or soft >= need:
        return True
    if hard != unlimited and hard < need:
        return False
    try:
        _resource.setrlimit(_resource.RLIMIT_STACK, (need, hard))
    except (ValueError, OSError):
        return False
    return True


def cut_points(snapshot: Graph, stride: int = _STRIDE) -> list[int]:
    """Choose nodes so that no path avoiding them is longer than the stride; ancestors come before descendants."""
    count = len(snapshot)
    waiting = [0] * count
    leaving: list[list[int]] = [[] for _ in range(count)]
    for start, end in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        waiting[end] += 1
        leaving[start].append(end)
    ready = [place for place in range(count) if not waiting[place]]
    distance = [0] * count
    cuts: list[int] = []
    for place in ready:  # grows while it is read
        reach = distance[place] + 1
        if reach > stride:
            cuts.append(place)
            reach = 0
        for end in leaving[place]:
            distance[end] = max(distance[end], reach)
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    return cuts


# -- holding ---------------------------------------------------------------------------------------------------


class _Holding:
    """Held nodes, one batch per graph, and the thread that releases them."""

    batches: list[list[Node | None]] = []
    lock = reentrant_lock()  # letting go may run a user's finalizer, which may walk a graph
    busy = False
    keeper: threading.Thread | None = None
    end = threading.Event()


def _hold(nodes: list[Node]) -> None:
    """Hold nodes until nothing else refers to them."""
    if not nodes:
        return
    with _Holding.lock:
        _Holding.batches.append(list(nodes))
        if _Holding.keeper is None or not _Holding.keeper.is_alive():
            _Holding.keeper = threading.Thread(target=_keep, name="retrograd-release", daemon=True)
            _Holding.keeper.start()


def held_nodes() -> int:
    """Return how many nodes are being held."""
    return sum(node is not None for batch in _Holding.batches for node in batch)


def let_go() -> None:
    """Release held nodes that nobody else refers to; each frees the part of the graph down to the next one."""
    if not _Holding.batches or not _Holding.lock.acquire(blocking=False):
        return
    try:
        if not _Holding.busy:
            _Holding.busy = True
            for batch in list(_Holding.batches):
                _let_go_of(batch)
            _Holding.batches[:] = [batch for batch in _Holding.batches if any(node is not None for node in batch)]
    finally:
        _Holding.busy = False
        _Holding.lock.release()


def _let_go_of(batch: list[Node | None]) -> None:
    """Release one graph's held nodes, root first."""
    for place in range(len(batch)):  # no enumerate: it would hold a reference of its own
        if batch[place] is not None and _references(batch, place) <= _OWN_REFERENCES:
            batch[place] = None


def _references(batch: Sequence[object], place: int) -> int:
    """Return the number of references to an object, including the list's and this function's own."""
    node = batch[place]
    return sys.getrefcount(node)


_OWN_REFERENCES = _references([object()], 0)
"""References of the list and of the function itself, which depend on the version of Python."""


def _keep() -> None:
    """Release repeatedly, as long as nodes are held."""
    while not _Holding.end.wait(_INTERVAL):
        let_go()
        with _Holding.lock:
            if not _Holding.batches:
                _Holding.keeper = None
                return


def _leave_to_the_system() -> None:
    """At the end of the process, make sure that held nodes are not freed in a deep recursion."""
    _Holding.end.set()
    keeper = _Holding.keeper
    if keeper is not None and keeper.is_alive():  # ended by the interpreter amid a C++ destructor, it would abort
        keeper.join(_PATIENCE)
    let_go()
    for batch in _Holding.batches:
        for node in batch:
            if node is not None:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(node))


atexit.register(_leave_to_the_system)
