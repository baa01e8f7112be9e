"""What the loops of a file call their things, read once a file."""

from __future__ import annotations

import ast
import linecache
import os
from pathlib import Path

import pytest

from retrograd.inspect.program.syntax import loop_variables

PROGRAM = """\
import torch
with torch.no_grad():
    a = 1
    with torch.set_grad_enabled(True):
        b = 2
    c = 3
def f():
    for i, (j, *k) in []:
        try:
            with open("x"), inference_mode():
                d = [one for one in []]
        except OSError:
            with torch.inference_mode(False):
                e = 5
        match i:
            case 1:
                for l.m[n] in []: pass
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program above as a file."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_variables_of_loops(program: Path) -> None:
    """What loops assign to, however deep they stand; a comprehension keeps its variable to itself."""
    assert loop_variables(str(program)) == {"i", "j", "k", "l", "n"}


def test_read_once_until_it_changes(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is parsed once for each question, and again after it was written anew."""
    parsed = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *more: parsed.append(len(text)) or parse(text, *more))
    for _ in range(3):
        assert "i" in loop_variables(str(program))
    assert len(parsed) == 1

    program.write_text("for other in []: pass\n", encoding="utf-8")
    os.utime(program, (1, 1))
    linecache.checkcache(str(program))
    assert loop_variables(str(program)) == {"other"}


@pytest.mark.parametrize("text", [None, "for in with no_grad(:\n", "with no_grad(): " + "(" * 3000, "no_grad \0"])
def test_files_that_cannot_be_read(text: str | None, tmp_path: Path) -> None:
    """No source, no syntax, too deep a nest: there is nothing to say."""
    path = tmp_path / "broken.py"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert loop_variables(str(path)) == set()
