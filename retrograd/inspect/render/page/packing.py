"""Columns of the page as plain JSON, or packed: typed arrays behind one JSON header, gzipped, in base64.

A packed array is written in the header as ``{"@": [type, offset, length, way]}``.  ``way`` is ``"d"`` when entries are
differences to the one before, and arrays of several bytes an entry are stored byte plane by byte plane; both make
equal neighbours equal bytes, which is what gzip shortens.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...progress import tick

# Between script tags only these can end or confuse the script; JSON may spell any character as \uXXXX.
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_TYPES = (("u1", np.uint8), ("u2", np.uint16), ("i4", np.int32), ("f8", np.float64))


def script_json(data: Any) -> str:
    """Return JSON that is safe between script tags, whatever the strings in it hold."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


class Plain:
    """Columns as JSON lists: what people can read in a page of a few thousand nodes."""

    def numbers(self, values: Sequence[int] | NDArray[np.int64]) -> Any:
        """Return whole numbers as the page reads them."""
        return np.asarray(values, dtype=np.int64).tolist()

    def floats(self, values: NDArray[np.float64]) -> Any:
        """Return finite numbers rounded to six digits; NaN and infinities as null."""
        return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist()]

    def text(self, data: Any) -> str:
        """Return the whole data block."""
        return script_json(data)


class Packed:
    """Columns as typed arrays."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def numbers(self, values: Sequence[int] | NDArray[np.int64]) -> Any:
        """Pack whole numbers (of 32 bits, or as floats beyond)."""
        column = np.asarray(values, dtype=np.int64)
        if len(column) and (column.max() > 2**31 - 1 or column.min() < -(2**31)):
            return self._put(column.astype(np.float64), "f8", "")
        steps = np.diff(column, prepend=0)
        way = "d" if np.abs(steps).sum() < np.abs(column).sum() else ""
        stored = steps if way else column
        for name, kind in _TYPES[:2]:
            if not len(stored) or (stored.min() >= 0 and stored.max() <= np.iinfo(kind).max):
                return self._put(stored.astype(kind), name, way)
        return self._put(stored.astype(np.int32), "i4", way)

    def floats(self, values: NDArray[np.float64]) -> Any:
        """Pack numbers to seven digits; NaN and infinities stay what they are."""
        return self._put(values.astype(np.float32), "f4", "")

    def _put(self, column: NDArray[Any], name: str, way: str) -> Any:
        """Append one array, byte plane by byte plane."""
        data = column.astype(column.dtype.newbyteorder("<"))
        planes = data.view(np.uint8).reshape(len(data), data.itemsize).T.tobytes()
        entry = {"@": [name, self._size, len(data), way]}
        self._parts.append(planes)
        self._size += len(planes)
        return entry

    def text(self, data: Any) -> str:
        """Return the whole data block, which names the packed bytes."""
        header = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()
        joined = b"".join([len(header).to_bytes(4, "little"), header, *self._parts])
        packed = base64.b64encode(gzip.compress(joined, compresslevel=6, mtime=0)).decode("ascii")
        return script_json({"packed": packed})


Packing = Plain | Packed


def table(packing: Packing, values: Sequence[Hashable], plain: Any) -> dict[str, Any]:
    """Return a column with many repeats as its distinct values (through ``plain``) and every row's number in them."""
    tick()
    distinct = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return {"values": [plain(value) for value in distinct], "rows": packing.numbers([distinct[v] for v in values])}
