"""Each kind of bug is found at its line in programs of our own, and their healthy twins have no finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import Pair, pairs, record

from retrograd.inspect.diagnose import diagnose, kinds
from retrograd.inspect.findings import Finding
from retrograd.inspect.render.json_ import decode_recording, encode_recording

PAIRS = pairs()


def engines(pair: Pair) -> list[str]:
    """The engines that a pair runs on."""
    return ["torch"] if pair.torch_only else ["retrograd", "torch"]


RUNS = [pytest.param(pair, engine, id=f"{pair.name}-{engine}") for pair in PAIRS for engine in engines(pair)]


def findings(text: str, engine: str, folder: Path) -> list[Finding]:
    """Diagnose a program from its saved recording, as one does elsewhere later."""
    if engine == "torch":
        pytest.importorskip("torch")
    return diagnose(decode_recording(encode_recording(record(text, folder, engine=engine))))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("pair", "engine"), RUNS)
def test_bug_is_explained(pair: Pair, engine: str, tmp_path: Path) -> None:
    """The first finding has the right kind and line, and names what the program calls it."""
    found = findings(pair.buggy, engine, tmp_path)

    assert found, pair.kind
    assert (found[0].kind, found[0].line) == (pair.kind, pair.line), found[0].message
    assert all(name in found[0].message + found[0].remedy for name in pair.names), found[0].message


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("pair", "engine"), RUNS)
def test_healthy_twin_has_no_finding(pair: Pair, engine: str, tmp_path: Path) -> None:
    """The same program without the bug has no finding at all."""
    assert [finding.message for finding in findings(pair.healthy, engine, tmp_path)] == []


def test_programs_are_of_known_kinds() -> None:
    """No file of programs is about a kind that no check finds."""
    assert {pair.kind for pair in PAIRS} <= set(kinds())
