"""What documents and docstrings tell people to type: commands exist and work, every Python example runs."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from source_tree import MODULES as SOURCES

import retrograd as rg
from retrograd.cli.group import cli
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.render.formats.json_ import encode_recording
from retrograd.inspect.writing import write_output

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_PROGRAMS = ("train.py", "-c", "-m", "folder_or_zip_with_main", "fr_trace.rank*", "--stacks")
"""Words that make a command run a program, ask a job or read what only PyTorch writes: the business of other tests."""


def code_of(page: Path, language: str) -> list[str]:
    """The blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def typed(page: Path) -> Iterator[str]:
    """The lines of a page that a shell is to read, and its inline examples."""
    for block in code_of(page, "sh"):
        yield from block.splitlines()
    yield from re.findall(r"`(retrograd \w+ [^`]+)`", page.read_text(encoding="utf-8"))


def commands() -> list[tuple[str, ...]]:
    """The arguments of `retrograd` in every line that runs it."""
    found = []
    for page in PAGES:
        for line in typed(page):
            words = shlex.split(line, comments=True)
            if "retrograd" in words and "install" not in words:
                words = words[words.index("retrograd") + 1 :]
                found.append(tuple(words[: words.index("|")] if "|" in words else words))
    return sorted(set(found))


def trained(function: Callable[[Any], Any]) -> Recording:
    """Two steps, recorded."""
    w = rg.ones(3, 1, requires_grad=True)
    with rg.debug(level="full") as trace:
        for _ in range(2):
            function(rg.ones(4, 3) @ w).mean().backward()
    return trace.recording


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the recordings that the documents speak of."""
    monkeypatch.chdir(tmp_path)
    before, after = trained(rg.sin), trained(rg.tanh)
    for name, recording in (("run", before), ("before", before), ("after", after)):
        write_output(encode_recording(recording), f"{name}.json")
    for name in ("good", "bad"):  # runs of a training, alike
        w = rg.ones(3, 1, requires_grad=True)
        optimizer = rg.optim.SGD([w], lr=0.1)
        with rg.watch(file=f"{name}.json"):
            rg.tanh(rg.ones(4, 3) @ w).mean().backward()
            optimizer.step()
    for rank in range(2):
        ranked = dataclasses.replace(before, rank=rank, world_size=2)
        write_output(encode_recording(ranked), f"run.rank{rank}.json")
    return tmp_path


LIBRARIES = {"tensorboard": "tensorboard", "wandb": "wandb", "parquet": "pyarrow"}
"""Forms of runs -> what writes them, which is no dependency of ours."""


def test_there_are_commands_of_every_kind() -> None:
    """The documents are found and read: each command of ours is in some example."""
    assert {words[0] for words in commands()} == set(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_command_is_understood_and_works(words: tuple[str, ...], place: Path) -> None:
    """Every option and choice exists; what reads recordings, samples or operators does so and ends well."""
    name, *rest = [file for word in words for file in (sorted(map(str, Path().glob(word))) if "*" in word else [word])]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    command.make_context(name, list(rest), click.Context(cli)).close()

    if name in ("trace", "mcp") or any(word in RUN_PROGRAMS for word in words):
        return
    for word, library in LIBRARIES.items():
        if any(one.endswith(word) for one in rest):
            pytest.importorskip(library)
    done = CliRunner().invoke(cli, [name, *rest])
    assert done.exit_code == (1 if "after.json" in rest else 0), done.output  # diff says that they differ


def surroundings() -> dict[str, Any]:
    """What the examples speak of without making it: a model, its parameters and data."""
    w, b, x = rg.full((3, 1), 0.5, requires_grad=True), rg.zeros(1, requires_grad=True), rg.ones(4, 3)

    def model(rows: Any) -> Any:
        return rg.tanh(rows @ w + b).mean()

    return {"rg": rg, "model": model, "train_step": lambda: model(x).backward(), "x": x, "rows": x, "w": w, "b": b}


EXAMPLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(code_of(page, "python"))
    if "elementwise(" not in block  # rows of the operator table: no program
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example: str, place: Path) -> None:
    """A Python example runs as it stands, given the model and data that it speaks of."""
    exec(compile(example, "example", "exec"), surroundings())


MODULES = [name for name, module in SOURCES.items() if ">>> import" in module.text]


class Finder(doctest.DocTestFinder):
    """Finds examples also in classes that name PyTorch's module, by what their methods see as globals."""

    def _from_module(self, module: Any, object: Any) -> bool:  # noqa: A002 (doctest's name)
        written = vars(object).values() if isinstance(object, type) else ()
        here = any(getattr(method, "__globals__", None) is vars(module) for method in written)
        return here or super()._from_module(module, object)  # type: ignore[misc, no-any-return]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_give_what_they_show(name: str) -> None:
    """Python's own doctest runs the examples of a module and finds the output that stands below them."""
    module, runner = importlib.import_module(name), doctest.DocTestRunner()
    for examples in Finder().find(module, name):
        runner.run(examples)
    found = runner.summarize(verbose=False)
    assert found.attempted
    assert not found.failed
