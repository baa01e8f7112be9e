"""Mermaid text: the graph within the limits of Mermaid's viewers, and names that are only names."""

from __future__ import annotations

import re

import pytest
from recording_samples import HOSTILE, chain, diamond, graph, hostile, recording

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.labels import node_text

NODE = re.compile(r'  ((?:s\d+_)?n\d+)(\["|\(\[")(.*?)("\]|"\]\))(:::\w+)?')
EDGE = re.compile(r'  ((?:s\d+_)?n\d+) -->(?:\|"(.*)"\|)? ((?:s\d+_)?n\d+)')


def text_of(*snapshots: Graph, **asked: object) -> str:
    """The Mermaid text of some graphs."""
    written = renderer_for("mermaid").render(recording(*snapshots), RenderOptions(**{"fold": (), **asked}))  # type: ignore[arg-type]
    assert isinstance(written, str)
    return written


def nodes_in(text: str) -> dict[str, str]:
    """Id to label of every node."""
    return {found[1]: found[3] for line in text.splitlines() if (found := NODE.fullmatch(line))}


def edges_in(text: str) -> list[tuple[str, str, str]]:
    """Source, target and label of every edge."""
    return [(found[1], found[3], found[2] or "") for line in text.splitlines() if (found := EDGE.fullmatch(line))]


def shown(label: str) -> list[str]:
    """The lines that Mermaid shows: character codes decoded after the label was split."""
    return [re.sub(r"#(\d+);", lambda found: chr(int(found[1])), line) for line in label.split("<br/>")]


def test_every_node_and_edge_is_there() -> None:
    """Nodes with their lines, edges with shape or output number, parallel ones twice; leaves look different."""
    text = text_of(diamond())

    assert shown(nodes_in(text)["n0"]) == ["Op0Backward0", "model/head", "scalar float64", "train.py:12"]
    assert edges_in(text) == [("n0", "n1", "3"), ("n1", "n2", ""), ("n1", "n2", "output 1")]
    assert '(["AccumulateGrad' in text
    assert text.startswith("flowchart TD\n")


def test_hostile_words_are_only_words() -> None:
    """Nothing but letters, digits and harmless signs of a name reaches the text; decoded it is the name again."""
    made = hostile()
    text = text_of(made)
    labels = nodes_in(text)

    assert len(labels) == len(HOSTILE)
    for node, label in enumerate(labels.values()):
        assert re.fullmatch(r"(?:<br/>|#\d+;|[\w .,/()×·…-])*", label)
        expected = [line if len(line) <= 80 else line[:79] + "…" for line in node_text(made, node).lines()]
        assert shown(label) == expected
    assert "%%{" not in text
    assert "</script" not in text


@pytest.mark.parametrize("made", [chain(10_000), graph([(0, node) for node in range(1, 3000)])], ids=["deep", "wide"])
def test_capped_at_what_viewers_draw(made: Graph) -> None:
    """A large graph is cut to 500 edges and 50,000 characters with a note that counts the rest."""
    text = text_of(made)
    drawn = len(nodes_in(text))

    assert 300 < len(edges_in(text)) <= 500
    assert len(text) <= 50_000
    assert f'["… {len(made) - drawn:,} more nodes not drawn"]' in text


def test_long_names_are_capped_by_length() -> None:
    """Long labels leave room for fewer nodes."""
    made = chain(2000)
    made.scope = ["s" * 70] * 2000

    assert 30_000 < len(text_of(made)) <= 50_000


def test_dense_graphs_are_capped_by_edges() -> None:
    """Many parallel edges count one by one."""
    text = text_of(graph([(0, 1)] + [(1, 2)] * 600 + [(2, 3)]))

    assert len(edges_in(text)) == 1
    assert "2 more nodes not drawn" in text


def test_several_graphs_share_the_limit() -> None:
    """With ``--step all`` each graph is a subgraph with ids of its own, and all together stay within the limit."""
    text = text_of(diamond(), hostile(), step="all")
    assert {name.split("_")[0] for name in nodes_in(text)} == {"s0", "s1"}
    assert text.count("subgraph ") == text.count("\n  end\n") == 2

    text = text_of(*[chain(100)] * 600, step="all")
    assert len(edges_in(text)) <= 500
    assert len(text) <= 50_000
    assert "more graphs not drawn" in text


def test_asked_for_fewer() -> None:
    """``max_nodes`` caps further."""
    text = text_of(chain(50), max_nodes=10)

    assert len(nodes_in(text)) == 10
    assert "40 more nodes not drawn" in text


def test_coloured_by_a_measure() -> None:
    """A measure gives the nodes the classes of its scale, and only classes in use are defined."""
    made = chain(4)
    made.measures["heat"] = [0.0, 10.0, float("nan"), None]
    text = text_of(made, color_by="heat")

    assert re.findall(r":::(\w+)$", text, re.M) == ["heat0", "heat5", "odd"]
    assert sorted(re.findall(r"classDef (\w+) ", text)) == ["heat0", "heat5", "odd"]
