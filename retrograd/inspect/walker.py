"""``walk``: the backward graph behind tensors, nodes or gradient edges of either engine, as a ``Graph``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import NoGraphError, NotATensorError
from ..interpreter import getframe
from .snapshot import Graph
from .sources import source_of
from .sources.base import Source


def walk(obj: Any, params: Any = None, *, label: str = "walk", find_names: bool = True, depth: int = 1) -> Graph:
    """Take a snapshot of the live graph behind ``obj`` breadth first, without unpacking or keeping anything of it.

    ``obj`` is a tensor, a node, a gradient edge, or a list or tuple of these, all of one engine.  ``params``
    names leaves: a module (anything with ``named_parameters``) or a mapping from names to tensors.  With
    ``find_names`` the remaining names are looked up in the variables of the calling frames; ``depth`` is how
    many callers up that search begins.

    Raises ``NotATensorError`` for anything else and ``NoGraphError`` for a tensor without a graph::

        snapshot = rg.walk(loss, model)
        print(len(snapshot), "nodes", sum(filter(None, snapshot.saved_bytes)), "bytes")
    """
    roots = as_roots(obj)
    frame = getframe(depth) if find_names else None
    return one_source(roots).snapshot(roots, frame, label=label, params=_named(params), find_names=find_names)


def as_roots(obj: Any) -> list[Any]:
    """Return one object or a list or tuple of them as a list; a gradient edge, itself a tuple, is one object."""
    if isinstance(obj, (list, tuple)) and source_of(obj) is None:
        if not obj:
            raise NoGraphError("The list of outputs is empty.", "Give at least one tensor that requires gradients.")
        return list(obj)
    return [obj]


def one_source(roots: list[Any]) -> Source:
    """Return the engine that all roots belong to."""
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
    """Return names of leaves as a mapping."""
    if params is None or isinstance(params, Mapping):
        return params
    if callable(getattr(params, "named_parameters", None)):
        return dict(params.named_parameters())
    raise NotATensorError(
        f"params is of type {type(params).__qualname__!r}.", "Give a module or a mapping from names to tensors."
    )
