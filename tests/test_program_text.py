"""Programs that no file holds, from standard input or the command line: findings show their lines all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from side_by_side import both, retrograd

PROGRAM = """import retrograd as rg
scale = rg.tensor(2.0, requires_grad=True)
w = rg.tensor([1.0, 2.0], requires_grad=True)
fixed = scale.detach().exp()
loss = (w * fixed).sum()
loss.backward()
print(scale.grad)
"""


@pytest.mark.parametrize("start", ["-", "-c"])
def test_the_line_and_its_remedy_are_known(start: str, tmp_path: Path) -> None:
    """The remedy of a ``detach()`` is the line without it, and the panel shows line and caret as for a file."""
    given = {"stdin": PROGRAM.encode()} if start == "-" else {}
    words = ["-"] if start == "-" else ["-c", PROGRAM]

    written = retrograd("diagnose", "-f", "json", "-o", "found.json", *words, cwd=tmp_path, engine=True, **given)
    shown = retrograd("diagnose", *words, cwd=tmp_path, engine=True, **given)

    assert written.code == shown.code == 1
    (finding,) = json.loads((tmp_path / "found.json").read_text())["findings"]
    assert (finding["kind"], finding["line"], finding["remedy"]) == ("broken-chain", 4, "fixed = scale.exp()")
    assert "4 | fixed = scale.detach().exp()" in shown.err
    assert "^^^^" in shown.err


@pytest.mark.parametrize("source", [b"# coding: nonsense\nprint(1)\n", b"print('\xff')\n", b"x = (\n", b""])
def test_text_that_cannot_be_read_ends_as_in_python(source: bytes, tmp_path: Path) -> None:
    """A source of a wrong encoding, or none, gives the kind of error and the exit code that python gives."""
    expected, got = both("-", cwd=tmp_path, stdin=source)

    assert got.code == expected.code
    assert got.err.rpartition("Error")[0].split()[-1:] == expected.err.rpartition("Error")[0].split()[-1:]
