"""Makes equal parts of a recording one object: dictionaries share their keys, events of one line their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..bounded import BoundedDict
from ..graphs.columns import Plain
from .event_data import REPEATED_KEYS

# Dictionaries that share their keys: a million events with the same keys store only their values.

_classes: BoundedDict[tuple[str, ...], type] = BoundedDict(1_000)
"""Keys in their order -> the class whose objects have them."""


def sharing_keys(data: dict[str, Any]) -> dict[str, Any]:
    """Return a dictionary equal to ``data``, in the same order, whose keys are shared with others."""
    keys = tuple(data)
    cls = _classes.get(keys)
    if cls is None:
        cls = _classes[keys] = type("Keys", (), {})
    found: dict[str, Any] = vars(cls())
    for key, value in data.items():
        found[key] = value  # noqa: PERF403 - ``update`` would give it keys of its own
    return found


# Makes equal parts of a recording one object: events of one line have most values in common.

_OF_EVENT = ("kind", "op", "source")
_OF_TENSOR = ("dtype", "name", "source", "shape")
_MOST = 50_000
_texts: BoundedDict[tuple[str, ...], list[str]] = BoundedDict(_MOST)


def shared_texts(texts: Sequence[str]) -> list[str]:
    """Return these texts as one shared list, not to be modified."""
    key = tuple(texts)
    found = _texts.get(key)
    if found is None:
        found = _texts[key] = list(texts)
    return found


class SharedParts:
    """Shared parts of the events that one reader has read, not to be modified."""

    def __init__(self) -> None:
        self._known: BoundedDict[str, Any] = BoundedDict(_MOST)
        """Parts by their JSON text, which distinguishes ``1`` from ``1.0`` and ``true``."""

    def share(self, plain: dict[str, Plain]) -> dict[str, Plain]:
        """Replace parts of an event or tensor by equal ones that were read before; an object hook for ``json``."""
        if type(plain.get("kind")) is str:
            self._put(plain, _OF_EVENT)
            data = plain.get("data")
            if type(data) is dict and "nonfinite" not in plain:  # whose NaN and infinities are still to be put back
                self._put(data, REPEATED_KEYS)
                plain["data"] = sharing_keys(data)
        elif type(plain.get("dtype")) is str:
            self._put(plain, _OF_TENSOR)
        return plain

    def _put(self, plain: dict[str, Plain], keys: tuple[str, ...]) -> None:
        """Share the values of these keys."""
        known = self._known
        for key in keys:
            if key in plain:
                text = repr(plain[key])
                part = known.get(text)
                if part is None:
                    known[text] = plain[key]
                else:
                    plain[key] = part
