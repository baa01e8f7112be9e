"""``walk``: returns the backward graph behind tensors, nodes or gradient edges of either engine as a ``Graph``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import NoGraphError, NotATensorError
from ..interpreter import getframe
from .graphs.graph import Graph
from .sources import source_of
from .sources.base import Source


def walk(obj: Any, params: Any = None, *, label: str = "walk", find_names: bool = True, depth: int = 1) -> Graph:
    """Return the graph behind ``obj`` as a ``Graph``: a copy that keeps nothing of the live graph, unpacks nothing.

    ``obj`` is a tensor, a node, a gradient edge, or a list or tuple of these, all of one engine. ``params`` names
    leaves: a module (anything with ``named_parameters``) or a mapping from names to tensors. With ``find_names`` the
    remaining names are looked up in the variables of the calling frames; ``depth`` is the number of frames between this
    call and the first of them.

    Raises ``NotATensorError`` for anything else, and ``NoGraphError`` for a tensor without a graph::

        graph = rg.walk(loss, model)
        print(len(graph), "nodes", sum(filter(None, graph.saved_bytes)), "bytes")
    """
    roots = as_roots(obj)
    frame = getframe(depth) if find_names else None
    return one_source(roots).snapshot(roots, frame, label=label, params=_named(params), find_names=find_names)


def as_roots(obj: Any) -> list[Any]:
    """Return one object, or a list or tuple of them, as a list; a gradient edge, itself a tuple, is one object."""
    if isinstance(obj, (list, tuple)) and source_of(obj) is None:
        if not obj:
            raise NoGraphError("The list of outputs is empty.", "Give at least one tensor that requires gradients.")
        return list(obj)
    return [obj]


def one_source(roots: list[Any]) -> Source:
    """Return the engine to which all roots belong."""
    found: Source | None = None
    for root in roots:
        source = source_of(root)
        if source is None:
            raise NotATensorError(
                f"An object of type {type(root).__qualname__!r} is not a tensor, graph node or gradient edge.",
                "Give a tensor of retrograd or PyTorch, such as the loss, or its grad_fn.",
            )
        if found is not None and source is not found:
            raise NotATensorError(
                f"The outputs belong to two engines, {found.name} and {source.name}.", "Walk them one by one."
            )
        found = source
    assert found is not None
    return found


def _named(params: Any) -> Mapping[str, Any] | None:
    """Return the names of leaves as a mapping from name to tensor."""
    if params is None or isinstance(params, Mapping):
        return params
    if callable(getattr(params, "named_parameters", None)):
        return dict(params.named_parameters())
    raise NotATensorError(
        f"params is of type {type(params).__qualname__!r}.", "Give a module or a mapping from names to tensors."
    )
