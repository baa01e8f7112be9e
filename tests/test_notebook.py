"""Graphs, traces and findings in a notebook: a real kernel runs it, and the outputs are what a reader would see."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from recording_samples import chain, hostile
from source_tree import ROOT

import retrograd as rg
from retrograd.inspect.blocks import debug
from retrograd.inspect.findings import Finding
from retrograd.inspect.graphs.graph import Graph

CELLS = (
    "import retrograd as rg\nx = rg.ones(3, requires_grad=True)\nloss = (x * x).sum()\nrg.inspect.walk(loss)",
    "with rg.debug() as trace:\n    loss.backward()\ntrace",
    "rg.debug()",
    (
        "from retrograd.inspect.findings import Finding\n"
        "Finding('dead', 'x < y & <script>', remedy='write <b>', file='a.py', line=3)"
    ),
    "with rg.debug() as trace:\n    rg.log(0 * x).sum().backward()\ntrace.findings[0]",
    "trace.findings",
    "rg.why(x, trace)",
    "trace.stats()",
    "trace.page(height=400)",
)


class Frame(HTMLParser):
    """Collects the documents of frames, as a browser unescapes them."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.pages.append(dict(attrs)["srcdoc"] or "")


@pytest.mark.filterwarnings("default")
def test_a_real_notebook_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell's result arrives in the notebook as drawing and text; no cell fails."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [cell.outputs[-1].data for cell in notebook.cells]

    for data in shown[:2]:
        drawing = ElementTree.fromstring(data["image/svg+xml"])
        assert drawing.tag.endswith("svg")
        assert any("node" in element.get("class", "").split() for element in drawing.iter())
        assert "Sum" in data["text/plain"]
    assert "0 backward graphs" in shown[2]["text/plain"]
    assert "image/svg+xml" not in shown[2]
    assert "dead" in shown[3]["text/plain"]
    assert "&lt;script&gt;" in shown[3]["text/html"]
    assert "log(0 * x) at Cell In[5], line 2 makes" in shown[4]["text/plain"]
    assert shown[5]["text/html"].count("border-left") == len(shown[5]["text/plain"].split("\n\n"))
    assert shown[6]["text/plain"].startswith("The gradient of x is not finite")
    assert "Gradients by parameter" in shown[7]["text/plain"]
    assert "Finding(" not in shown[5]["text/plain"] + shown[6]["text/plain"]
    framed = Frame()
    framed.feed(shown[8]["text/html"])
    assert framed.pages[0].startswith("<!DOCTYPE html>")
    assert framed.pages[0].rstrip().endswith("</html>")


def test_a_trace_shows_what_a_diagnosis_finds() -> None:
    """The drawing and the tree of a trace mark the node that a finding is about."""
    with debug() as trace:
        rg.log(rg.zeros(2, requires_grad=True)).sum().backward()
    bundle = trace._repr_mimebundle_()

    assert "the first bad value is born here" in bundle["image/svg+xml"]
    assert "the first bad value is born here" in bundle["text/plain"]


def test_displays_never_raise() -> None:
    """Hostile, deep, empty and damaged graphs are shown as far as they can be, without an exception."""
    broken = chain(5)
    broken.edge_target = [99] * 4
    for graph in (hostile(), chain(3000), Graph(), broken):
        bundle = graph._repr_mimebundle_()
        assert bundle["text/plain"]
        if "image/svg+xml" in bundle:
            ElementTree.fromstring(bundle["image/svg+xml"])
    trace = debug()
    trace.recording.graphs.append(broken)
    assert trace._repr_mimebundle_()["text/plain"]


def test_findings_are_escaped() -> None:
    """A finding's words are words in HTML."""

    class Tags(HTMLParser):
        found: set[str] = set()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.found.add(tag)

    reader = Tags()
    finding = Finding("<i>", "</div><script>", remedy='"><img>', file="<u>.py", line=1)
    reader.feed(finding._repr_mimebundle_()["text/html"])

    assert reader.found == {"div", "b", "code", "br", "pre"}
