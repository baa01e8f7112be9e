"""The Graphviz layout: what it needs, what it gives, and how it fails."""

from __future__ import annotations

import json
import shutil
import stat
import time
from pathlib import Path

import pytest
from recording_samples import chain, diamond, graph

from retrograd.errors import LayoutError
from retrograd.inspect.fold import View, everything, fold, view
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.layout import Size, graphviz_
from retrograd.inspect.layout.nested import NestedLayout
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.render import RenderOptions, renderer_for

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def fake_dot(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called ``dot`` on PATH, in front of everything."""
    program = folder / "dot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def sizes(made: Graph) -> list[Size]:
    """Cards of different sizes."""
    return [Size(60.0 + 10 * (node % 5), 30.0 + 5 * (node % 3)) for node in range(len(made))]


def whole(made: Graph) -> View:
    """Every node as a box of its own, in the order of the graph."""
    folded = fold(made, ())
    seen = view(folded, everything(folded).opened)
    assert folded.heads == list(range(len(made)))
    return seen


def check(made: Graph, found: NestedLayout) -> None:
    """Every box has its size and room of its own; every edge runs from its source down to its target."""
    for box, size in zip(found.boxes, sizes(made), strict=True):
        assert (box.width, box.height) == size
        assert -1 <= box.x <= box.x + box.width <= found.width + 1
        assert -1 <= box.y <= box.y + box.height <= found.height + 1
    for points, (source, target, _, _) in zip(found.edges, made.edges(), strict=True):
        upper, lower = found.boxes[source], found.boxes[target]
        assert len(points) % 3 == 1
        assert points[0][1] == pytest.approx(upper.y + upper.height, abs=2)
        assert points[-1][1] == pytest.approx(lower.y, abs=2)
        assert upper.x - 1 <= points[0][0] <= upper.x + upper.width + 1
        assert lower.x - 1 <= points[-1][0] <= lower.x + lower.width + 1


@needs_dot
@pytest.mark.parametrize(
    "made",
    [diamond(), chain(30), graph([(0, 1), (0, 3), (1, 2), (2, 3), (0, 4)]), chain(1)],
    ids=["x*x", "chain", "skip", "one"],
)
def test_boxes_and_edges(made: Graph) -> None:
    """Cards keep their sizes, edges begin at the bottom of their source and end at the top of their target."""
    check(made, graphviz_.layout(whole(made), sizes(made)))


@needs_dot
def test_parallel_edges_are_apart() -> None:
    """The two edges of ``x * x`` do not hide each other."""
    found = graphviz_.layout(whole(diamond()), sizes(diamond()))

    assert found.edges[1] != found.edges[2]


def test_nothing_to_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty graph needs no Graphviz."""
    monkeypatch.setenv("PATH", "")

    assert graphviz_.layout(whole(Graph()), []).boxes == []


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``dot`` the error says what to install and what works without."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LayoutError, match="no 'dot' on PATH.*--layout layered"):
        graphviz_.layout(whole(diamond()), sizes(diamond()))


def test_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``dot`` that does not end is stopped at the time limit."""
    fake_dot(tmp_path, monkeypatch, "exec sleep 60")
    start = time.monotonic()
    with pytest.raises(LayoutError, match=r"longer than 0\.3 seconds.*--max-nodes"):
        graphviz_.layout(whole(diamond()), sizes(diamond()), time_limit=0.3)

    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'out of memory' >&2; exit 1", "out of memory"),
        ("exit 7", "exit code 7"),
        ("echo hello", "no layout"),
        ("echo '{}'", "no layout"),
        ('echo \'{"bb": "0,0,9,9", "objects": [{"name": "n0", "pos": "1,2"}]}\'', "no layout"),
    ],
)
def test_failures(script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``dot`` that fails or answers nonsense is a layout error, not a traceback."""
    fake_dot(tmp_path, monkeypatch, f"cat > /dev/null; {script}")
    with pytest.raises(LayoutError, match=said):
        graphviz_.layout(whole(diamond()), sizes(diamond()))


def test_pygraphviz_serves_where_there_is_no_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Graphviz runs in a child process, which a fault in it ends alone; a dot on PATH comes first."""
    objects = [{"name": f"n{node}", "pos": f"50,{90 * node}"} for node in range(3)]
    edges = [{"id": str(edge), "pos": "1,2 3,4 5,6 7,8"} for edge in range(diamond().edge_count)]
    answer = json.dumps({"bb": "0,0,100,400", "objects": objects, "edges": edges})
    module = tmp_path / "site" / "pygraphviz.py"
    module.parent.mkdir()
    module.write_text(
        f"import os\nclass AGraph:\n    def __init__(self, string): assert 'n1 -> n2' in string\n"
        f"    def draw(self, format, prog): return {answer!r}.encode() if prog == 'dot' else os.abort()\n"
    )
    monkeypatch.syspath_prepend(str(module.parent))
    monkeypatch.setenv("PYTHONPATH", str(module.parent))
    monkeypatch.setenv("PATH", "")

    assert [box.x for box in graphviz_.layout(whole(diamond()), sizes(diamond())).boxes]
    module.write_text("import os\nos.abort()\n")
    with pytest.raises(LayoutError, match="Graphviz dot failed"):
        graphviz_.layout(whole(diamond()), sizes(diamond()))
    fake_dot(tmp_path, monkeypatch, "echo 'first' >&2; exit 1")
    with pytest.raises(LayoutError, match="first"):
        graphviz_.layout(whole(diamond()), sizes(diamond()))


def test_no_word_of_the_program_reaches_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphviz gets numbers only, so no name can be an order to it."""
    made = diamond()
    made.op = ["secret"] * 3
    fake_dot(tmp_path, monkeypatch, f"cat > '{tmp_path}/seen'")
    with pytest.raises(LayoutError):
        graphviz_.layout(whole(made), sizes(made))

    seen = (tmp_path / "seen").read_text()
    assert "n1 -> n2" in seen
    assert "secret" not in seen
    assert "train" not in seen


def test_a_dot_that_fails_does_not_cost_the_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Graphviz is there but gives nothing, the drawing is laid out by us and says so; without it, an error."""
    recorded = Recording(graphs=[diamond()])
    fake_dot(tmp_path, monkeypatch, "cat > /dev/null; echo 'out of memory' >&2; exit 1")
    text = str(renderer_for("svg").render(recorded, RenderOptions(layout="dot")))

    assert "laid out by retrograd: Graphviz dot failed: out of memory" in text
    assert text.count('id="n') == 3
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LayoutError, match="no 'dot' on PATH"):
        renderer_for("svg").render(recorded, RenderOptions(layout="dot"))
