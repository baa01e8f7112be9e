"""``Graph.to_networkx``: the same graph with the same attribute names, made once."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import pytest
from recording_samples import chain, diamond, graph, hostile

from retrograd.inspect.graphs.graph import EDGE_COLUMNS, NODE_COLUMNS, Graph
from retrograd.inspect.program.places import SourceLine


def test_attributes_are_the_columns() -> None:
    """Each node carries its row of every column and measure, under the column's name."""
    made = diamond()
    made_graph = made.to_networkx()

    assert list(made_graph) == ["n0", "n1", "n2"]
    for node, attributes in enumerate(made_graph.nodes.values()):
        assert attributes == {
            **{column: getattr(made, column)[node] for column in NODE_COLUMNS},
            **{name: values[node] for name, values in made.measures.items()},
        }
    assert made_graph.nodes["n0"]["source"] == SourceLine("train.py", 12, "main")


def test_the_graph_knows_its_roots() -> None:
    """Engine, label and roots are attributes of the graph."""
    assert diamond().to_networkx().graph == {
        "engine": "retrograd",
        "label": "backward 0",
        "roots": ["n0"],
        "root_names": ["loss"],
    }


def test_parallel_edges_are_real() -> None:
    """``x * x`` gives two edges whose keys are the input numbers."""
    edges = list(diamond().to_networkx().edges(keys=True, data=True))

    assert edges == [
        ("n0", "n1", 0, {"input_nr": 0, "output_nr": 0}),
        ("n1", "n2", 0, {"input_nr": 0, "output_nr": 0}),
        ("n1", "n2", 1, {"input_nr": 1, "output_nr": 1}),
    ]


def test_no_edge_is_lost_when_input_numbers_repeat() -> None:
    """Edges that share nodes and input number, as folding makes them, all stay, with keys of their own."""
    made = graph([(0, 1), (0, 1), (0, 1)])
    made.edge_input_nr = [0, 0, 0]
    made_graph = made.to_networkx()

    assert made_graph.number_of_edges() == made.edge_count
    assert [data["input_nr"] for *_, data in made_graph.edges(data=True)] == [0, 0, 0]


def test_made_once_and_protected() -> None:
    """The graph is cached, so it cannot be changed by accident; a copy can."""
    made = chain(5)
    made_graph = made.to_networkx()

    assert made.to_networkx() is made_graph
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        made_graph.remove_node("n0")
    free = made_graph.copy()
    free.remove_node("n0")
    assert len(made.to_networkx()) == 5


def test_a_measure_hides_no_column() -> None:
    """A measure called like a column does not replace it."""
    made = chain(2)
    made.measures = {"op": [1.0, 2.0]}

    assert made.to_networkx().nodes["n0"]["op"] == "SinBackward0"


def test_columns_do_not_see_the_cache() -> None:
    """A snapshot with its graph made is equal to one without, and is copied and pickled like it."""
    made, other = diamond(), diamond()
    made.to_networkx()

    assert made == other
    assert copy.deepcopy(made) == other
    assert pickle.loads(pickle.dumps(made)) == other


def test_column_names_cover_the_class() -> None:
    """The lists of column names leave no column out."""
    fields = set(Graph.__dataclass_fields__)
    rest = {"engine", "label", "roots", "root_names", "first_seq", "measures", "_networkx", "_measured", "_lasting"}
    rest |= {"classes", "cuts"}

    assert fields == {*NODE_COLUMNS, *EDGE_COLUMNS} | rest


def test_networkx_can_work_with_it() -> None:
    """Algorithms and the writers of networkx accept the graph."""
    made_graph = chain(2000).to_networkx()

    assert nx.is_directed_acyclic_graph(made_graph)
    assert nx.dag_longest_path_length(nx.DiGraph(made_graph)) == 1999
    assert nx.node_link_data(hostile().to_networkx(), edges="edges")["multigraph"] is True


def test_a_long_chain() -> None:
    """100,000 nodes are no problem, nor is none."""
    made = chain(100_000)

    assert made.to_networkx().number_of_edges() == 99_999
    assert Graph().to_networkx().number_of_nodes() == 0
