"""Programs whose lines end in a comment that names them: which of them did a snapshot record for its nodes?"""

from __future__ import annotations

import linecache

from retrograd.inspect import GraphSnapshot


def marks_of(snapshot: GraphSnapshot) -> dict[str, str]:
    """Operator name -> the text after the last `#` of the source line recorded for it."""
    return {
        op: linecache.getline(source.file, source.line).rpartition("#")[2].strip()
        for op, source in zip(snapshot.op, snapshot.source, strict=True)
        if source is not None
    }
