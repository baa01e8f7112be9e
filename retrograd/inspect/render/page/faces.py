"""The cards of the page: how large they must be for the text that the page writes on them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from retrograd.inspect.layout import Size
from retrograd.inspect.layout.text_size import text_width
from retrograd.inspect.render import labels
from retrograd.inspect.snapshot import GraphSnapshot

from .groups import Groups

_TITLE, _LINE = 13.0, 11.0
_PAD = 22.0
_NARROW, _WIDE = 70.0, 250.0
_TALL, _LOW = 46.0, 28.0
_GROUP_TALL = 54.0


def node_sizes(snapshot: GraphSnapshot) -> list[Size]:
    """Return the size of every node's card: a title, and a line for name, shape and dtype where there is one."""
    known: dict[tuple[str, str], Size] = {}
    sizes = []
    for words in _words(snapshot):
        size = known.get(words)
        if size is None:
            size = known[words] = _card(*words)
        sizes.append(size)
    return sizes


def _words(snapshot: GraphSnapshot) -> Iterator[tuple[str, str]]:
    """Yield title and line of every card."""
    columns = (snapshot.op, snapshot.kind, snapshot.name, snapshot.shape, snapshot.dtype)
    root_names = dict(zip(snapshot.roots, snapshot.root_names, strict=False))
    for node, (op, kind, name, shape, dtype) in enumerate(zip(*columns, strict=True)):
        tensor = labels.tensor_text(shape, dtype)
        if kind == "leaf" and name:
            yield name, tensor
        else:
            said = root_names.get(node) or name or ""
            yield labels.short_op(op), f"{said}: {tensor}" if said else tensor


def _card(title: str, line: str) -> Size:
    """Return the size of a card with these texts; the page shortens what is wider."""
    wide = max(text_width(title[:200], _TITLE, bold=True), text_width(line[:200], _LINE)) + _PAD
    return Size(math.ceil(min(max(wide, _NARROW), _WIDE)), _TALL if line else _LOW)


def group_sizes(groups: Groups) -> list[Size]:
    """Return the size of every box while it is closed."""
    widths = (text_width(name[:200], _TITLE, bold=True) + 60 for name in groups.names)
    return [Size(math.ceil(min(max(width, 170.0), _WIDE)), _GROUP_TALL) for width in widths]
