"""Programs of two ranks: what goes wrong between them is told at its line, and right ones have no finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rank_jobs import run_jobs

from retrograd.inspect.diagnosis import diagnose_together
from retrograd.inspect.findings import Finding
from retrograd.inspect.recording.loading import load_recording

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")

PROGRAMS = sorted((Path(__file__).parent / "rank_programs").glob("*.py"))
BUGGY = [path for path in PROGRAMS if not path.stem.startswith("right")]
HANGS = {"barrier_on_one": 12.0}
"""Programs that never end, and the seconds after which they are killed: what they left while they stood still tells."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """What is found in each program."""
    folder = tmp_path_factory.mktemp("jobs")
    files = run_jobs({path: HANGS.get(path.stem) for path in PROGRAMS}, folder)
    assert {name: len(paths) for name, paths in files.items()} == {path.stem: 2 for path in PROGRAMS}
    loaded = {name: [load_recording(str(path)) for path in paths] for name, paths in files.items()}
    return {name: diagnose_together(two, ["rank 0", "rank 1"]) for name, two in loaded.items()}


@pytest.mark.parametrize("path", BUGGY, ids=lambda path: path.stem)
def test_cause_is_told_at_its_line(path: Path, found: dict[str, list[Finding]]) -> None:
    """The first finding has the kind, the line and the words that the program's first line asks for."""
    lines = path.read_text().splitlines()
    asked = re.fullmatch(r'"""kind: ([\w-]+); says: (.*)"""', lines[0])
    assert asked is not None
    first = next(iter(found[path.stem]), None)
    assert first is not None

    cause = next(number for number, line in enumerate(lines, 1) if line.endswith("# cause"))
    assert (first.kind, first.line) == (asked[1], cause), first.message
    assert [words for words in asked[2].split(", ") if words not in first.message] == [], first.message


@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS if path not in BUGGY])
def test_right_programs_have_no_finding(name: str, found: dict[str, list[Finding]]) -> None:
    """Not even a note."""
    assert [(one.kind, one.message) for one in found[name]] == []
