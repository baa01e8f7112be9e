"""GraphML, read back by networkx and by an XML parser."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import networkx as nx
from recording_samples import HOSTILE, chain, diamond, hostile, recording

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.render import RenderOptions, renderer_for

GRAPHML = renderer_for("graphml")


def read(*snapshots: Graph, **asked: object) -> nx.MultiDiGraph[str]:
    """Render, and read the first graph back with networkx."""
    text = GRAPHML.render(recording(*snapshots), RenderOptions(**asked))  # type: ignore[arg-type]
    assert isinstance(text, str)
    return nx.parse_graphml(text, force_multigraph=True)


def test_networkx_reads_the_same_graph() -> None:
    """Nodes, parallel edges, columns and measures of the snapshot come back, unknown ones stay away."""
    made = diamond()
    found = read(made)
    ours = made.to_networkx()

    assert sorted(found.nodes) == sorted(ours.nodes)
    assert sorted((s, t, d["input_nr"], d["output_nr"]) for s, t, d in found.edges(data=True)) == sorted(
        (s, t, d["input_nr"], d["output_nr"]) for s, t, d in ours.edges(data=True)
    )
    assert found.nodes["n0"]["op"] == made.op[0]
    assert found.nodes["n0"]["shape"] == "scalar"
    assert found.nodes["n0"]["source"] == "train.py:12"
    assert found.nodes["n1"]["saved_bytes"] == 48
    assert found.nodes["n1"]["grad_norm"] == math.inf
    assert found.nodes["n0"]["root"] == "loss"
    assert "dtype" not in found.nodes["n2"]
    assert "grad_norm" not in found.nodes["n2"]


def test_hostile_names_come_back() -> None:
    """Every word that XML can hold is read back unchanged; the others are shown as escapes."""
    made = hostile()
    made.measures = {name: [0.5] * len(made) for name in ("op", '"><x>', "</script>")}
    found = read(made)
    names = [found.nodes[f"n{node}"]["name"] for node in range(len(made))]

    for name, seen in zip(HOSTILE, names, strict=True):
        legal = "\x00" not in name and "\udc80" not in name
        assert (seen or "") == name if legal else "\\" in seen
    assert found.nodes["n0"]['"><x>'] == 0.5
    assert found.nodes["n0"]["measure op"] == 0.5


def test_every_step_is_a_graph() -> None:
    """All steps stand in one file, each as a graph of its own; a cap and an empty graph are fine."""
    text = GRAPHML.render(recording(diamond(), Graph(), chain(9)), RenderOptions(step="all", max_nodes=4))
    assert isinstance(text, str)
    graphs = ElementTree.fromstring(text).findall("{*}graph")

    assert [len(graph.findall("{*}node")) for graph in graphs] == [3, 0, 4]
    assert [len(graph.findall("{*}edge")) for graph in graphs] == [3, 0, 3]


def test_deep_graphs_and_equal_bytes() -> None:
    """A long chain is written without recursion, twice the same."""
    once, again = (GRAPHML.render(recording(chain(20_000)), RenderOptions()) for _ in range(2))

    assert once == again
    assert once.count("<node ") == 20_000
