"""Model Explorer's JSON: ids that lead somewhere, values that are text, scopes as namespaces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recording_samples import chain, diamond, hostile, recording

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.render import RenderOptions, renderer_for

EXPLORER = renderer_for("x.explorer.json")


def graphs(*snapshots: Graph, **asked: Any) -> list[dict[str, Any]]:
    """Render, parse as strict JSON, and check what the reader asks of graphs and nodes."""
    plain = json.loads(EXPLORER.render(recording(*snapshots), RenderOptions(**asked)), parse_constant=pytest.fail)
    assert plain.keys() == {"label", "graphs"}
    assert isinstance(plain["label"], str)
    assert all(graph.keys() == {"id", "nodes"} and graph["id"] for graph in plain["graphs"])
    assert len({graph["id"] for graph in plain["graphs"]}) == len(plain["graphs"])
    for graph in plain["graphs"]:
        ids = {node["id"] for node in graph["nodes"]}
        assert len(ids) == len(graph["nodes"])
        outputs = {node["id"]: {output["id"] for output in node["outputsMetadata"]} for node in graph["nodes"]}
        for node in graph["nodes"]:
            assert node["label"]
            assert not node["namespace"].startswith("/")
            assert node.keys() == {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"}
            assert "" not in node["namespace"].split("/") or not node["namespace"]
            assert {type(node[key]) for key in ("id", "label", "namespace")} == {str}
            for pairs in (node["attrs"], *(output["attrs"] for output in node["outputsMetadata"])):
                assert all(pair.keys() == {"key", "value"} for pair in pairs)
                assert len({pair["key"] for pair in pairs}) == len(pairs)
            for edge in node["incomingEdges"]:
                assert {type(value) for value in edge.values()} == {str}
                assert edge.keys() == {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"}
                assert edge["sourceNodeId"] in ids
                assert edge["sourceNodeOutputId"] in outputs[edge["sourceNodeId"]]
            pairs = [*node["attrs"], *(pair for output in node["outputsMetadata"] for pair in output["attrs"])]
            assert all(isinstance(pair["key"], str) and isinstance(pair["value"], str) for pair in pairs)
    found: list[dict[str, Any]] = plain["graphs"]
    return found


def test_nodes_edges_and_scopes() -> None:
    """Both edges of x * x are there, scopes are namespaces, and shape and measures can be read."""
    (found,) = graphs(diamond())
    first, second, leaf = found["nodes"]

    assert (first["namespace"], second["namespace"]) == ("model/head", "")
    assert [edge["sourceNodeId"] for edge in leaf["incomingEdges"]] == ["n1", "n1"]
    assert [edge["sourceNodeOutputId"] for edge in leaf["incomingEdges"]] == ["0", "1"]
    assert {"key": "shape", "value": "3"} in second["attrs"]
    assert {"key": "grad_norm", "value": "inf"} in second["attrs"]


def test_hostile_deep_empty_and_several() -> None:
    """Hostile names, a long chain, an empty graph and several steps are all well formed; a cap leaves no loose edge."""
    found = graphs(hostile(), Graph(), chain(50_000), step="all")

    assert [len(graph["nodes"]) for graph in found] == [len(hostile()), 0, 50_000]
    assert len(graphs(chain(50), max_nodes=7)[0]["nodes"]) == 7
