"""Lines of the program in words: files by name, cells of a notebook as IPython's tracebacks name them."""

from __future__ import annotations

import json
import linecache
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import retrograd as rg
from retrograd.inspect.breakpoints import Step
from retrograd.inspect.findings import Finding
from retrograd.inspect.program.places import SourceLine, full_place, short_place
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.reports import Outcome, reports

FILE = "/tmp/ipykernel_1/3284367517.py"
TEXT = "x = rg.zeros(2, requires_grad=True)\nloss = rg.log(x).sum()\nloss.backward()\nx.add_(1)\n"


class Cells:
    """Stands in for IPython, its shell and its compiler: one cell, which ran as the fourth."""

    def __init__(self) -> None:
        self.number = 4
        self.compile = self

    def get_ipython(self) -> Cells:
        """The shell."""
        return self

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        """Label and name of a cell; None for what is none."""
        return ("Cell", f"In[{self.number}]") if name == FILE else None


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    """The program runs in a notebook, whose compiler has put the text of the cell where tracebacks find it."""
    found = Cells()
    monkeypatch.setitem(sys.modules, "IPython", found)  # type: ignore[arg-type]
    linecache.cache[FILE] = (len(TEXT), None, TEXT.splitlines(keepends=True), FILE)
    yield found
    del linecache.cache[FILE]


def run() -> tuple[Recording, list[Finding], RuntimeError]:
    """What the cell leaves: its recording, findings, and the error that ended it."""
    with pytest.raises(RuntimeError) as raised, rg.debug() as trace:
        exec(compile(TEXT, FILE, "exec"), {"rg": rg})
    return trace.recording, list(trace.findings), raised.value


def test_a_cell_is_named_as_in_tracebacks(cells: Cells) -> None:
    """Sentences, notes on errors, panels and drawings say ``Cell In[4], line 2`` and nowhere the file."""
    recording, findings, error = run()
    options = RenderOptions(findings=tuple(findings))
    panels = reports()["text"].write(Outcome(recording, findings))
    drawings = [renderer_for(name).render(recording, options) for name in ("svg", "dot", "tree", "chrome-trace")]
    shown = [findings[0]._repr_mimebundle_()["text/html"], *error.__notes__, panels, *drawings]

    assert [finding.kind for finding in findings] == ["leaf-inplace", "nan-origin"]
    for text in shown:
        assert "Cell In[4], line " in text
        assert "3284367517" not in text


def test_a_stop_in_backward_names_the_cell(cells: Cells) -> None:
    """The error of a breakpoint does so, too, by the number that the cell has now."""
    step = Step("LogBackward0", SourceLine(FILE, 2, "<module>"), (), ())

    assert step.where == "LogBackward0 (Cell In[4], line 2)"
    cells.number = 7
    assert step.where == "LogBackward0 (Cell In[7], line 2)"


def test_data_keep_the_file(cells: Cells) -> None:
    """What programs read holds the file name as Python has it."""
    recording, findings, _ = run()
    outcome = Outcome(recording, findings)

    assert {finding["file"] for finding in json.loads(reports()["json"].write(outcome))["findings"]} == {FILE}
    assert FILE in json.loads(str(renderer_for("json").render(recording, RenderOptions())))["sources"]


@pytest.mark.parametrize("shell", [None, object(), SimpleNamespace(compile=object())])
def test_without_cells(shell: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that imports IPython, or an older one, and runs as a script has files."""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]

    assert (short_place(FILE, 2), full_place(FILE, 2)) == ("3284367517.py:2", f"{FILE}:2")


def test_files_of_a_notebook_are_files(cells: Cells) -> None:
    """Modules that a cell calls keep their names, those from other systems, too."""
    assert short_place("/home/ada/train.py", 12) == "train.py:12"
    assert short_place("C:\\ada\\train.py", 12) == "train.py:12"
    assert short_place("<stdin>", 1) == "<stdin>:1"
    assert full_place("/home/ada/train.py", 12) == "/home/ada/train.py:12"
