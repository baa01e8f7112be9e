"""What documents show of a terminal is what the commands print, and the gallery of findings is complete."""

from __future__ import annotations

import runpy

import pytest
from bug_programs import pairs
from source_tree import ROOT
from test_diagnose_programs import OF_JOBS

from retrograd.inspect.diagnosis import kinds

MAKER = runpy.run_path(str(ROOT / "docs" / "make_outputs.py"))


def test_the_readme_shows_what_is_printed() -> None:
    """Commands are run in a folder with the page's files; `python docs/make_outputs.py` brings it up to date."""
    pytest.importorskip("torch")
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert "```console" in text
    assert MAKER["page"](text) == text


def test_gallery_has_a_program_of_each_kind() -> None:
    """Kinds that one process can show have a program with a bug, from which the gallery's section is made."""
    assert set(kinds()) - {pair.kind for pair in pairs()} == OF_JOBS
