"""`retrograd samples`: the list, one sample's graph, and where the programs are looked for."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from retrograd.cli import samples
from retrograd.cli.group import cli

ROOT = Path(__file__).resolve().parent.parent
TOY = '''"""A toy: <b>[red]</b> & one product.

What to look for: nothing.
"""
import retrograd as rg

def build():
    x = rg.tensor(2.0, requires_grad=True)
    return x * x

if __name__ == "__main__":
    raise SystemExit("a sample's main part must not run")
'''


def invoke(*arguments: str) -> Result:
    """Run `retrograd samples ARGUMENTS` in this process."""
    return CliRunner().invoke(cli, ["samples", *arguments])


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of samples that holds one toy, in the place where an installed package has them."""
    installed = tmp_path / "_samples"
    installed.mkdir()
    (installed / "toy.py").write_text(TOY)
    (installed / "_hidden.py").write_text("raise RuntimeError")
    checkout = tmp_path / "sample_graphs"
    checkout.mkdir()
    monkeypatch.setattr(samples, "_FOLDERS", (installed, checkout))
    monkeypatch.chdir(tmp_path)
    return installed


def test_list_names_every_program() -> None:
    """The list has one line for each program of sample_graphs, with the first line of its docstring; ten or more."""
    result = invoke()
    lines = [line.split(maxsplit=1) for line in result.output.splitlines() if line.startswith("  ")]
    first_lines = {
        path.stem: re.match(r'"""(.*)', path.read_text()).group(1)  # type: ignore[union-attr]
        for path in (ROOT / "sample_graphs").glob("*.py")
    }

    assert result.exit_code == 0
    assert dict(lines) == first_lines
    assert len(first_lines) >= 10


def test_installed_samples_come_first(toy: Path) -> None:
    """An installed package lists the programs that lie inside it, by words that no markup can spoil."""
    result = invoke()

    assert str(toy) in result.output
    assert "  toy  A toy: <b>[red]</b> & one product.\n" in result.output
    assert "hidden" not in result.output


def test_one_sample_is_built_and_shown(toy: Path) -> None:
    """A name builds that sample and prints its docstring and tree, with the line that made the node."""
    result = invoke("toy")

    assert result.exit_code == 0, result.output
    assert "What to look for: nothing." in result.output
    assert "mul" in result.output
    assert "x n1" in result.output
    assert "toy.py:9" in result.output


def test_one_sample_is_written(toy: Path) -> None:
    """With -o the graph is written in the format of the suffix, and standard output stays empty."""
    result = invoke("toy", "-o", "x.svg", "--title", "<A & B>")

    assert (result.exit_code, result.stdout) == (0, "")
    text = "".join(ElementTree.parse(toy.parent / "x.svg").getroot().itertext())
    assert "<A & B>" in text
    assert "mul" in text


def test_names_that_are_none(toy: Path) -> None:
    """A misspelt name is answered with the nearest one; a bad output is refused before anything is built."""
    assert "Did you mean 'toy'?" in invoke("tyo").output
    assert invoke("tyo").exit_code == 2
    assert invoke("../toy").exit_code == 2
    assert invoke("toy", "-o", "x.nope").exit_code == 2
    assert invoke("toy", "-o", "nowhere/x.svg").exit_code == 3


def test_missing_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any folder of samples one sentence says so."""
    monkeypatch.setattr(samples, "_FOLDERS", (tmp_path / "a", tmp_path / "b"))
    result = invoke()

    assert result.exit_code == 2
    assert "sample programs are missing" in result.output


@pytest.mark.parametrize("name", samples.names())
def test_every_sample_shows_a_graph(name: str) -> None:
    """build() of every sample gives a graph with named leaves and the user's lines; its docstring says what to see."""
    recording = samples.record(name)
    graph = recording.graphs[-1]
    leaves = [graph.name[node] for node, kind in enumerate(graph.kind) if kind == "leaf"]

    assert leaves
    assert None not in leaves
    lines = [line for line in graph.source if line is not None]
    assert {Path(line.file).name for line in lines} == {f"{name}.py"}
    assert all(recording.sources[line.file][line.line].strip() for line in lines)
    assert "What to look for:" in samples.description(name)
