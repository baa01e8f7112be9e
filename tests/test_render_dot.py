"""DOT text: the whole graph, exact labels, and nothing that Graphviz could take for an order."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time

import pytest
from recording_samples import HOSTILE, chain, diamond, graph, hostile, recording

from retrograd.errors import NoGraphError, UsageError
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.labels import node_text

DOT = shutil.which("dot")
needs_dot = pytest.mark.skipif(DOT is None, reason="compares with what Graphviz itself reads")


def text_of(*snapshots: Graph, **asked: object) -> str:
    """The DOT text of some graphs."""
    written = renderer_for("dot").render(recording(*snapshots), RenderOptions(**{"fold": (), **asked}))  # type: ignore[arg-type]
    assert isinstance(written, str)
    return written


def statements(text: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Nodes (id to label) and edges (source, target, label) of DOT text, read by the grammar of quoted strings."""
    quoted = r'"((?:[^"\\]|\\.)*)"|(\w+)'
    nodes, edges = {}, []
    for line in text.splitlines():
        if found := re.fullmatch(rf"\t+((?:s\d+_)?n\d+) \[label=(?:{quoted}).*\]", line):
            nodes[found[1]] = found[2] if found[2] is not None else found[3]
        elif found := re.fullmatch(rf"\t+((?:s\d+_)?n\d+) -> ((?:s\d+_)?n\d+)(?: \[label=(?:{quoted})\])?", line):
            edges.append((found[1], found[2], found[3] or found[4] or ""))
    return nodes, edges


def shown(label: str) -> list[str]:
    """The lines that Graphviz shows for an escaped label."""
    plain = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], label)
    return plain.replace("&amp;", "&").split("\n")


def test_every_node_and_edge_is_there() -> None:
    """Ids are n0, n1, … in walk order; parallel edges stay two; an edge says shape or output number."""
    nodes, edges = statements(text_of(diamond()))

    assert list(nodes) == ["n0", "n1", "n2"]
    assert shown(nodes["n0"]) == ["Op0Backward0", "model/head", "scalar float64", "train.py:12"]
    assert edges == [("n0", "n1", "3"), ("n1", "n2", ""), ("n1", "n2", "output 1")]


def test_hostile_words_are_only_words() -> None:
    """Every hostile name is shown literally, and statements stay one line each."""
    made = hostile()
    nodes, edges = statements(text_of(made))

    assert len(nodes) == len(HOSTILE)
    assert len(edges) == len(HOSTILE) - 1
    for node in range(len(made)):
        expected = [line if len(line) <= 120 else line[:119] + "…" for line in node_text(made, node).lines()]
        assert shown(nodes[f"n{node}"]) == expected


@needs_dot
def test_graphviz_reads_the_same() -> None:
    """Graphviz itself reads the hostile graph with the same nodes, edges and lines of text."""
    made = hostile()
    done = subprocess.run(
        ["dot", "-Tjson"], input=text_of(made), capture_output=True, encoding="utf-8", timeout=300, check=True
    )
    read = json.loads(done.stdout)
    drawn = {
        entry["name"]: [step["text"] for step in entry["_ldraw_"] if step["op"] == "T"] for entry in read["objects"]
    }

    assert len(read["edges"]) == made.edge_count
    for node in range(len(made)):
        expected = [line if len(line) <= 120 else line[:119] + "…" for line in node_text(made, node).lines()]
        assert drawn[f"n{node}"] == expected


def test_no_html_labels() -> None:
    """A label that begins with < and ends with > is quoted, so that Graphviz does not read it as HTML."""
    made = graph([(0, 1)])
    made.op = ["<lambda>", "<b>"]
    made.shape = made.dtype = [None, None]

    assert re.findall(r"label=<", text_of(made)) == []


def test_two_calls_give_the_same_text() -> None:
    """The text depends on nothing but the graph."""
    assert text_of(hostile()) == text_of(hostile())


def test_several_graphs_are_clusters() -> None:
    """With ``--step all`` each graph is a cluster with ids of its own in one valid digraph."""
    text = text_of(diamond(), hostile(), step="all")
    nodes, edges = statements(text)

    assert len(nodes) == 3 + len(HOSTILE)
    assert {source.split("_")[0] for source, _, _ in edges} == {"s0", "s1"}
    assert re.findall(r"subgraph (\w+) {", text) == ["cluster_0", "cluster_1"]


def test_capped() -> None:
    """With ``max_nodes`` the first nodes are drawn and the caption counts the others."""
    text = text_of(chain(50), max_nodes=10)
    nodes, edges = statements(text)

    assert len(nodes) == 10
    assert len(edges) == 9
    assert "40 more nodes are not drawn" in text


def test_coloured_by_a_measure() -> None:
    """A measure colours its nodes from pale to deep, and one that is not finite stands out."""
    made = chain(4)
    made.measures["heat"] = [0.0, 10.0, float("nan"), None]
    low, high, odd, none = re.findall(r"^\tn\d \[label=\"[^\"]*\"(.*)\]$", text_of(made, color_by="heat"), re.M)

    assert "fillcolor" in low
    assert "fillcolor" in high
    assert low != high
    assert "penwidth=3" in odd
    assert none == ""
    with pytest.raises(UsageError, match="nonsense"):
        text_of(made, color_by="nonsense")


def test_kinds_and_roots_are_coloured() -> None:
    """Leaves and the root look different from operators, and from each other."""
    looks = re.findall(r"^\tn\d \[label=\"[^\"]*\"(.*)\]$", text_of(diamond()), re.M)

    assert len(set(looks)) == 3


def test_nothing_to_draw() -> None:
    """A recording without graphs is an error that says so."""
    with pytest.raises(NoGraphError):
        text_of()


def test_speed() -> None:
    """100,000 nodes take seconds at most, far from the cost of a call to graphviz for each node."""
    made = chain(100_000)
    renderer_for("dot")
    start = time.process_time()
    text_of(made)

    assert time.process_time() - start < 6
