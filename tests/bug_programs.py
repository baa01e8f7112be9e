"""Programs with one bug each and their healthy twins, kept as one file a pair in ``tests/bug_programs/``.

A file is the healthy program.  A line that ends in ``#! code`` reads ``code`` in the buggy one; the first such line
is the cause, unless another ends in ``#< cause``.  The head says which kind of finding it is to give, which names its
sentence must hold, what a user sees, and ``run twice`` where only the difference between two runs shows it.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import types
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.recording.kept_steps import KEPT

FOLDER = Path(__file__).resolve().parent / "bug_programs"
_HEAD = re.compile(
    r"# kind: (?P<kind>[\w-]+); symptom: .*; names: (?P<names>.*?)(?P<alone>; torch only)?(?P<twice>; run twice)?$"
)


@dataclass(frozen=True)
class Pair:
    """One buggy program and its healthy twin."""

    name: str
    kind: str
    names: tuple[str, ...]
    line: int
    """The line of the cause."""
    torch_only: bool
    twice: bool
    """The bug shows in the difference between two runs."""
    healthy: str
    buggy: str


def read_pair(path: Path) -> Pair:
    """Read one file; both programs have the same line numbers."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    head = _HEAD.match(lines[0])
    assert head, f"{path.name} has no head"
    changed = [number for number, line in enumerate(lines, 1) if "#! " in line]
    marked = [number for number, line in enumerate(lines, 1) if line.rstrip().endswith("#< cause")]
    names = tuple(name.strip() for name in head["names"].split(","))
    line = (marked or changed)[0]
    return Pair(
        path.stem, head["kind"], names, line, bool(head["alone"]), bool(head["twice"]), _healthy(lines), _buggy(lines)
    )


def _healthy(lines: list[str]) -> str:
    return "\n".join(re.sub(r"\s*#[!<] .*", "", line) for line in lines) + "\n"


def _buggy(lines: list[str]) -> str:
    found = []
    for line in lines:
        kept, changed, code = line.partition("#! ")
        indent = kept[: len(kept) - len(kept.lstrip())]
        found.append(re.sub(r"\s*#< .*", "", f"{indent}{code}" if changed else line))
    return "\n".join(found) + "\n"


@cache
def pairs() -> list[Pair]:
    """Every pair, by name."""
    return [read_pair(path) for path in sorted(FOLDER.glob("*.py"))]


def record(text: str, folder: Path, *, engine: str = "torch", keep: int | None = KEPT) -> Recording:
    """Run a program in this process, recorded in full; what it raises is the recording's business."""
    if engine == "retrograd":
        text = text.replace("import torch\n", "import retrograd as torch\n", 1)
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    linecache.checkcache(str(path))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(Exception, SystemExit))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        held = stack.enter_context(recording("program.py", level="full", check=True, keep=keep))
        program = types.ModuleType("__main__")  # lives until the recording ends, as __main__ does
        program.__file__ = str(path)
        exec(compile(text, str(path), "exec"), program.__dict__)
    return held
