"""Every exception of autograd is explained: with the call, the tensor, the line of the cause and a remedy."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from bug_programs import record

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.diagnosis.rules.errors import ROWS

OF_JOBS = ("mark a variable ready only once", "finished reduction", "combination with fork")
"""Rows of exceptions that it takes several processes to raise."""
NOT_RAISED = (
    "derivative for (?:aten::)?(?P",
    "in DataLoader worker process",  # tests/test_worker_errors.py
)
"""Rows of exceptions that PyTorch 2.13 does not raise, or not without a worker."""


class Program(NamedTuple):
    """A program that ends with an exception, and what its first finding must say."""

    name: str
    torch_only: bool
    words: list[str]
    line: int | None
    text: str


def _programs() -> list[Program]:
    """Read the programs: a head ``## name | words``, ``#<`` at the line of the cause."""
    text = (Path(__file__).parent / "error_programs.txt").read_text(encoding="utf-8")
    found = []
    for block in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        head, _, code = block.partition("\n")
        name, _, words = head.partition("|")
        code = f"import torch\n{code}"
        line = next((number for number, line in enumerate(code.splitlines(), 1) if line.endswith("#<")), None)
        name = name.strip()
        only = name.endswith("(torch)")
        found.append(Program(name, only, [word.strip() for word in words.split(",")], line, code.replace("  #<", "")))
    return found


PROGRAMS = _programs()
CASES = [
    pytest.param(one, engine, id=f"{one.name}-{engine}")
    for one in PROGRAMS
    for engine in (["torch"] if one.torch_only else ["retrograd", "torch"])
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("program", "engine"), CASES)
def test_exception_is_explained(program: Program, engine: str, tmp_path: Path) -> None:
    """The first finding stands at the cause and names what the program calls it; what is not autograd's has none."""
    if engine == "torch":
        pytest.importorskip("torch")
    found = diagnose(record(program.text, tmp_path, engine=engine))

    if program.words == ["SILENT"]:
        assert [one.message for one in found] == []
        return
    assert found
    said = f"{found[0].message} {found[0].remedy}"
    assert [word for word in program.words if word not in said and word != "NOTE"] == [], said
    assert program.line in (None, found[0].line), said
    assert found[0].severity == ("note" if program.words == ["NOTE"] else "error")


@pytest.mark.filterwarnings("ignore")
def test_every_row_is_shown() -> None:
    """Each row matches an exception that a program raises without us, but for those that take other circumstances."""
    pytest.importorskip("torch")
    raised = [_message(one.text) for one in PROGRAMS]
    others = (*OF_JOBS, *NOT_RAISED)
    idle = [row.pattern for row in ROWS if not any(re.search(row.pattern, text, re.DOTALL) for text in raised)]

    assert [pattern for pattern in idle if not any(part in pattern for part in others)] == []


def _message(text: str) -> str:
    """Return the message of the exception that a program ends with."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
    except Exception as error:
        return str(error)
    return ""
