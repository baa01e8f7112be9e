"""Whatever is wrong with a file that is read or written: one sentence that says what to do, the exit code, no more."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from side_by_side import retrograd

from retrograd.inspect.recording.events import SCHEMA

PROGRAM = """
import retrograd as torch
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    (w * 2).sum().backward()
"""
READING = [("render",), ("stats",), ("diagnose",), ("diff", "good.json"), ("render", "-o", "out.svg")]
BAD: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "newer": (lambda plain: plain.update(schema=SCHEMA + 1), "update this one"),
    "no schema": (lambda plain: plain.update(schema="x"), "Record it again"),
    "unknown level": (lambda plain: plain.update(level="deep"), "no level 'deep'"),
    "no events": (lambda plain: plain.pop("events"), "'events' is missing"),
    "findings": (lambda plain: [plain.pop(key) for key in ("events", "snapshots")], "no recording of retrograd"),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a recording."""
    folder = tmp_path_factory.mktemp("good")
    (folder / "program.py").write_text(PROGRAM)
    retrograd("trace", "--level", "full", "-o", "good.json", "program.py", cwd=folder, engine=True)
    return (folder / "good.json").read_text()


def refused(folder: Path, *words: str) -> list[str]:
    """What each command that reads says of ``bad.json``; nothing was written, and nothing printed."""
    said = []
    for command in READING:
        done = retrograd(
            *command[: 1 if "-o" in command else None], "bad.json", *command[1:] * ("-o" in command), cwd=folder
        )
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert all(word in done.err for word in ("retrograd: error: ", *words))
        said.append(done.err)
    assert not (folder / "out.svg").exists()
    return said


@pytest.mark.parametrize("what", sorted(BAD))
def test_recordings_that_cannot_be_read(tmp_path: Path, good: str, what: str) -> None:
    """Every command that reads recordings refuses one of another schema or level, and what is none."""
    (tmp_path / "good.json").write_text(good)
    plain = json.loads(good)
    change, words = BAD[what]
    change(plain)
    (tmp_path / "bad.json").write_text(json.dumps(plain))

    assert len(set(refused(tmp_path, words))) == 1


def test_a_cut_file(tmp_path: Path, good: str) -> None:
    """A file that ends too early is said to be cut off."""
    (tmp_path / "good.json").write_text(good)
    (tmp_path / "bad.json").write_text(good[: len(good) // 2])

    refused(tmp_path, "is cut off after", "Record it again")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        ("trace", "-q", "-f", "json", "--flush-every", "1"),
        ("trace", "-q", "-f", "svg", "--children"),
        ("diagnose", "-f", "json"),
        ("stats", "-f", "json"),
        ("watch", "-q"),
    ],
    ids=lambda command: command[0],
)
def test_no_space_left(tmp_path: Path, command: tuple[str, ...]) -> None:
    """The program ran and printed; that its results found no room is said once, however often they were written."""
    (tmp_path / "program.py").write_text(f"{PROGRAM}print(1)\n")
    done = retrograd(*command, "-o", "/dev/full", "program.py", cwd=tmp_path, engine=True)

    assert (done.code, done.out) == (3, "1\n")
    assert done.err == (
        "retrograd: error: Could not write '/dev/full': No space left on device. "
        "Free some space, or write to another disk.\n"
    )
