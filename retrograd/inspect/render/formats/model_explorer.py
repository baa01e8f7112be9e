"""JSON for Google's Model Explorer, whose collapsible layers are our scopes.

A file holds one collection: ``{"label", "graphs": [{"id", "nodes": [...]}]}``. All values are strings. Edges are listed
at the node that they enter, as the format requires, and point the way gradients flow. An output of a node in that
format is a gradient that our node passes on: it has the number of the operator's input and the shape of the gradient.
"""

from __future__ import annotations

import json
from typing import Any

from ...graphs.graph import Graph
from ...progress import followed
from ...recording.events import Recording
from ..base import RenderOptions, capped, chosen_snapshots
from ..labels import bytes_text, clean, headline, node_id, node_text, shape_text


class ModelExplorerRenderer:
    """Writes the chosen graphs as one collection."""

    name = "model-explorer"
    suffixes = (".explorer.json",)
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the chosen snapshots as a graph collection."""
        snapshots = [capped(snapshot, options.max_nodes)[0] for snapshot in chosen_snapshots(recording, options)]
        graphs = [_graph(snapshot, number) for number, snapshot in enumerate(snapshots)]
        label = clean(options.title or recording.script) or "backward"
        return json.dumps({"label": label, "graphs": graphs}, ensure_ascii=False, allow_nan=False) + "\n"


RENDERER = ModelExplorerRenderer()


def _graph(snapshot: Graph, number: int) -> dict[str, Any]:
    """Return one graph; its id is its headline with a number, since ids must differ."""
    incoming: list[list[dict[str, str]]] = [[] for _ in range(len(snapshot))]
    for source, target, input_nr, output_nr in snapshot.edges():
        edge = {
            "sourceNodeId": node_id(source),
            "sourceNodeOutputId": str(input_nr),
            "targetNodeInputId": str(output_nr),
        }
        incoming[target].append(edge)
    sent: list[dict[str, int]] = [{} for _ in incoming]
    for source, target, input_nr, _ in snapshot.edges():
        sent[source][str(input_nr)] = target
    nodes = [_node(snapshot, node, edges, sent[node]) for node, edges in followed(enumerate(incoming))]
    return {"id": f"{number}: {headline(snapshot)}", "nodes": nodes}


def _node(snapshot: Graph, node: int, incoming: list[dict[str, str]], sent: dict[str, int]) -> dict[str, Any]:
    """Return one node with the edges that enter it and, by output, the nodes to which it sends gradients."""
    words = node_text(snapshot, node)
    facts = {
        "operator": words.op,
        **_tensor(snapshot, node),
        "name": words.name,
        "kind": clean(snapshot.kind[node]),
        "source": words.source,
        "saved": bytes_text(snapshot.saved_bytes[node]),
        "seq": "" if snapshot.seq[node] is None else str(snapshot.seq[node]),
    }
    measured = {clean(name): column[node] for name, column in snapshot.measures.items()}
    facts.update({name: f"{value:.6g}" for name, value in measured.items() if value is not None})
    return {
        "id": node_id(node),
        "label": words.title or "?",
        "namespace": "/".join(part for part in words.scope.split("/") if part),
        "attrs": _pairs(facts),
        "incomingEdges": incoming,
        "outputsMetadata": [{"id": number, "attrs": _pairs(_tensor(snapshot, sent[number]))} for number in sent],
    }


def _tensor(snapshot: Graph, node: int) -> dict[str, str]:
    """Return shape and dtype of a node's result, which are also those of its gradient."""
    return {"shape": shape_text(snapshot.shape[node]), "dtype": clean(snapshot.dtype[node] or "")}


def _pairs(facts: dict[str, str]) -> list[dict[str, str]]:
    """Return the known facts as the viewer's list of keys and values."""
    return [{"key": key, "value": value} for key, value in facts.items() if value]
