"""Longer programs of ordinary shape that have no bug: recorded at level full, nothing is found in them."""

from __future__ import annotations

import contextlib
import io
import linecache
from pathlib import Path

import pytest

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.process.recorder import recording

PROGRAMS = sorted(Path(__file__).parent.joinpath("healthy_programs").glob("*.py"))


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_nothing_is_found(path, engine):
    """No finding, no trouble in recording, and the program prints what it prints alone."""
    pytest.importorskip(engine)
    text = path.read_text()
    if engine == "retrograd":
        text = text.replace("import torch\n", "import retrograd as torch\n", 1)
        text = text.replace("from torch.", "from retrograd.")
    name = f"{engine}_{path.name}"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    printed = []
    for watched in (False, True):
        watch = recording(level="full", check=True) if watched else contextlib.nullcontext()
        with contextlib.redirect_stdout(io.StringIO()) as out, watch as recorded:
            exec(compile(text, name, "exec"), {"__name__": "__main__"})
        printed.append(out.getvalue())

    assert printed[0] == printed[1] != ""
    assert [event.data for event in recorded.events if event.kind == "problem"] == []
    assert [(finding.kind, finding.line, finding.message) for finding in diagnose(recorded)] == []
