"""Which grad mode a line of a file stands in, and what its loops call their things, read once a file."""

from __future__ import annotations

import ast
import linecache
import os
from pathlib import Path
from types import CodeType

import pytest

from retrograd.inspect.program.blocks import block_around, loop_variables

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


def module_and_function(path: Path) -> tuple[CodeType, CodeType]:
    """The code of a file, and of the function in it."""
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    return code, next(one for one in code.co_consts if isinstance(one, CodeType))


def test_innermost_grad_mode_of_each_line(program: Path) -> None:
    """The innermost block counts, a line that enters one is not in it, and a function does not see its module's."""
    module, function = module_and_function(program)
    entered = {line: block_around(module, line) for line in range(1, 7)}
    assert entered == {
        **dict.fromkeys((1, 2)),
        **dict.fromkeys((3, 4, 6), ("no_grad", 2)),
        5: ("enable_grad", 4),
    }
    assert [block_around(function, line) for line in (9, 11, 14)] == [None, ("inference_mode", 10), ("enable_grad", 13)]


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
    code = compile("x = 1", str(path), "exec")
    assert block_around(code, 1) is None
    assert loop_variables(str(path)) == set()
