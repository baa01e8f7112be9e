"""Make the galleries of the documentation by running programs: `python docs/site/gallery.py FOLDER`.

For each kind of finding the shortest program of `tests/bug_programs/` that has it is recorded and diagnosed, each in a
process of its own; each sample of `sample_graphs/` is recorded and drawn.  FOLDER gets Markdown and pictures.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import torch  # noqa: E402, F401  (once, for all programs)
from bug_programs import Pair, pairs, record  # noqa: E402

from retrograd.inspect.diagnosis import all_checks, diagnose, diagnose_together  # noqa: E402
from retrograd.inspect.findings import Finding  # noqa: E402
from retrograd.inspect.fixes import unified_diff  # noqa: E402
from retrograd.inspect.output import with_findings  # noqa: E402
from retrograd.inspect.process.recorder import recording  # noqa: E402
from retrograd.inspect.recording.events import Recording  # noqa: E402
from retrograd.inspect.render import RenderOptions, renderers  # noqa: E402

THEMES = ("light", "dark")
BOXES = {"error": "failure", "warning": "warning", "note": "note"}
"""Severity -> the box that it is shown in."""
JOBS = "Shown by several ranks only, so there is no program here: see [many ranks](../distributed.md).\n"


@dataclass(frozen=True)
class Kind:
    """One kind of finding, as a check declares it."""

    family: str
    name: str
    severity: str
    meaning: str


def all_kinds() -> list[Kind]:
    """Every kind, by family and name."""
    found = [
        Kind(check.family, name, kind.severity, kind.meaning)
        for check in all_checks().values()
        for name, kind in check.kinds.items()
    ]
    return sorted(found, key=lambda kind: (kind.family, kind.name))


def shortest(kind: str) -> Pair | None:
    """The shortest program that has a kind of finding."""
    of_kind = [pair for pair in pairs() if pair.kind == kind]
    return min(of_kind, key=lambda pair: (len(pair.buggy.splitlines()), pair.name), default=None)


def draw(recorded: Recording, options: RenderOptions, stem: Path) -> bool:
    """Write a picture for each theme of the site; return whether there is a graph to draw."""
    if not recorded.graphs:
        return False
    options = with_findings(recorded, options)
    for theme in THEMES:
        picture = renderers()["svg"].render(recorded, replace(options, theme=theme))
        assert isinstance(picture, str)
        stem.with_name(f"{stem.name}-{theme}.svg").write_text(picture.replace(f"{ROOT}/", ""), encoding="utf-8")
    return True


def picture_of(stem: str, words: str) -> str:
    """The Markdown that shows the picture of the reader's theme, and opens it alone."""
    shown = [f"[![{words}]({stem}-{theme}.svg#only-{theme})]({stem}-{theme}.svg)" for theme in THEMES]
    return "\n".join(shown) + "\n"


def code_block(language: str, text: str, marked: int = 0) -> str:
    """A block of code, with one line marked."""
    options = (' linenums="1"' if language == "python" else "") + (f' hl_lines="{marked}"' if marked else "")
    return f"```{language}{options}\n{text.rstrip()}\n```\n"


def told(finding: Finding) -> str:
    """What a finding says, as a box."""
    where = f" at program.py:{finding.line}" if finding.line else ""
    lines = [
        f'!!! {BOXES[finding.severity]} "{finding.severity}: {finding.kind}{where}"',
        "",
        f"    {plain(finding.message)}",
    ]
    if finding.remedy:
        lines += ["", f"    **fix:** {plain(finding.remedy)}"]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Text in which Markdown finds nothing of its own."""
    return "".join(f"\\{char}" if char in r"\`*_{}[]<>#|" else char for char in text).replace("\n", " ")


def change(finding: Finding, program: str) -> str:
    """What the fix changes, as a diff."""
    if finding.fix is None:
        return ""
    diff = unified_diff([finding.fix], lambda _: program.splitlines(), lambda _: "program.py")
    return code_block("diff", diff.partition("@@")[2].partition("\n")[2])


def section(kind: Kind, folder: Path) -> str:
    """The section of one kind: what it means, the program, what is said, the fix, the picture."""
    pair = shortest(kind.name)
    head = f"## {kind.name} {{ #{kind.name} }}\n\n{kind.meaning[0].upper()}{kind.meaning[1:]}.\n"
    if pair is None:
        return f"{head}\n{JOBS}"
    program = pair.buggy.partition("\n")[2]  # without the line for the tests
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        runs = [record(program, Path(place)) for _ in range(2 if pair.twice else 1)]
        found = diagnose_together(runs, ["first run", "second run"]) if pair.twice else diagnose(runs[0])
        first = next(finding for finding in found if finding.kind == kind.name)
        at = next((mark.snapshot for mark in first.marks), None)
        options = RenderOptions(findings=tuple(found), step="last" if at is None else at)
        drawn = draw(runs[0], options, folder / "gallery" / "pictures" / kind.name)
    parts = [head, code_block("python", program, first.line), told(first), change(first, program)]
    if drawn:
        parts.append(picture_of(f"pictures/{kind.name}", f"Backward graph of a program with {kind.name}"))
    return "\n".join(part for part in parts if part)


def run_and_draw(program: str, level: str, stem: Path) -> str:
    """Run a program of the current folder, draw its last graph, and return the program's docstring."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), recording(program, level=level) as held:
        space = runpy.run_path(program, run_name="__main__")
    draw(held, RenderOptions(), stem)
    return str(space["__doc__"])


def sample_section(path: Path, folder: Path) -> str:
    """The section of one sample: what it is, what to look for, the picture."""
    os.chdir(ROOT)
    about = run_and_draw(f"sample_graphs/{path.name}", "graph", folder / "gallery" / "pictures" / path.stem)
    title, _, rest = about.partition("\n")
    command = code_block("sh", f"retrograd trace sample_graphs/{path.name} -o {path.stem}.svg")
    picture = picture_of(f"pictures/{path.stem}", title.strip())
    return f"## {title.strip().rstrip('.')}\n\n{rest.strip()}\n\n{command}\n{picture}"


def draw_tutorial(folder: Path) -> str:
    """Draw the program of the tutorial, which shows the picture itself."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        program = text.partition('title="train.py"\n')[2].partition("```")[0]
        Path("train.py").write_text(program, encoding="utf-8")
        return run_and_draw("train.py", "full", folder / "gallery" / "pictures" / "tutorial")


def _answer(job: tuple[Any, ...]) -> str:
    make, *arguments = job
    return str(make(*arguments))


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of every page; pictures are written meanwhile."""
    kinds = all_kinds()
    samples = sorted((ROOT / "sample_graphs").glob("*.py"))
    jobs = [(section, kind, folder) for kind in kinds] + [(sample_section, path, folder) for path in samples]
    jobs.append((draw_tutorial, folder))
    section(kinds[0], folder)  # what all need is imported here, once, and not in each process
    gc.freeze()
    context = multiprocessing.get_context("fork")
    with context.Pool(min(os.cpu_count() or 1, 4), maxtasksperchild=1) as pool:
        texts = pool.map(_answer, jobs, chunksize=1)
    sections = dict(zip([kind.name for kind in kinds], texts, strict=False))
    families = sorted({kind.family for kind in kinds})
    for family in families:
        own = [sections[kind.name] for kind in kinds if kind.family == family]
        yield f"gallery/{family}.md", f"# {family.replace('-', ' ').capitalize()}\n\n" + "\n".join(own)
    rows = [f"| [{kind.name}]({kind.family}.md#{kind.name}) | {kind.severity} | {kind.meaning} |" for kind in kinds]
    head = "# Findings\n\nEvery kind of finding with a program that has it. They were run for these pages.\n"
    yield "gallery/index.md", f"{head}\n| kind | severity | what it means |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    yield "gallery/samples.md", "# Pictures\n\n" + "\n".join(texts[len(kinds) : -1])


def main(folder: Path) -> None:
    """Write all pages."""
    (folder / "gallery" / "pictures").mkdir(parents=True)
    for name, text in pages(folder):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
