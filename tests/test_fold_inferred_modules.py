"""Modules of a graph that nobody watched being built: what the names of parameters tell, beside what was recorded."""

from __future__ import annotations

from typing import Any

import pytest
from folding_samples import snapshot

import retrograd as rg
from retrograd.inspect.fold import fold
from retrograd.inspect.fold.scopes import inferred_paths
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.program.places import SourceLine


def chain(parameters: list[str], skips: tuple[tuple[int, int], ...] = ()) -> Graph:
    """A chain of operators in the order in which they ran, the names of their parameters (or ``""``), and skips."""
    count = len(parameters)
    users = [count - 1 - number for number, name in enumerate(parameters) if name]
    edges = [(node, node + 1) for node in range(count - 1)]
    edges += [(count - 1 - late, count - 1 - early) for early, late in skips]
    edges += [(node, count + leaf) for leaf, node in enumerate(users)]
    graph = snapshot([("Add", "")] * (count + len(users)), edges, leaves=len(users))
    graph.name[count:] = [name for name in parameters if name]
    return graph


def paths(graph: Graph) -> list[str] | None:
    """The inferred path of every operator, in the order in which they ran."""
    found = inferred_paths(fold(graph, ("views", "parameters")))
    return found and found[::-1]


def test_operators_without_parameters_stand_around_those_before_them() -> None:
    """A ReLU beside its convolution, softmax inside attention, a loss outside of everything."""
    names = ["layers.0.conv.weight", "", "layers.1.attn.qkv.weight", "", "layers.1.attn.out.weight", "fc.weight", ""]
    assert paths(chain(names)) == [
        "layers/0/conv", "layers/0", "layers/1/attn/qkv", "layers/1/attn", "layers/1/attn/out", "fc", "",
    ]  # fmt: skip


def test_a_sum_over_a_short_way_stands_in_the_block() -> None:
    """Attention's residual sum is its layer's, not attention's, and so is what follows it."""
    names = ["emb.weight", "layers.0.norm.weight", "layers.0.attn.out.weight", "", "", "layers.1.norm.weight"]
    assert paths(chain(names, skips=((0, 3),))) == [
        "emb", "layers/0/norm", "layers/0/attn/out", "layers/0", "layers/0", "layers/1/norm",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["weight", "layers[0].weight", "a/b.weight", "</script>.w", "a..w", ".w", "a.b\n.w"])
def test_other_names_tell_no_module(name: str) -> None:
    """Only names as modules give them are taken apart."""
    assert paths(chain([name, ""])) is None


def test_what_was_recorded_comes_first() -> None:
    """Where a node has a scope or a line of the program, nothing is inferred."""
    graph = chain(["fc.weight", ""])
    graph.scope[0] = "net"
    assert paths(graph) is None
    graph = chain(["fc.weight", ""])
    graph.source[0] = SourceLine("train.py", 3, "step")
    assert paths(graph) is None


def _transformer(torch: Any) -> tuple[Any, Any]:
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
    return torch.nn.Sequential(torch.nn.Linear(16, 16), encoder), torch.ones(2, 5, 16)


def _residual(torch: Any) -> tuple[Any, Any]:
    from test_fold_torch import residual_net  # needs PyTorch when it is loaded

    return residual_net(), torch.ones(2, 3, 8, 8)


@pytest.mark.parametrize(("network", "beyond"), [(_transformer, {"dropout1"}), (_residual, {"7"})])
def test_modules_are_those_that_ran(network: Any, beyond: set[str]) -> None:
    """Beside the modules that were seen to run: the same, one around it, or one that lends its parameters.

    ``beyond`` are modules without parameters that run after a module's last parameter and are taken for a part of it:
    dropout behind attention, the pool behind the last block.
    """
    torch = pytest.importorskip("torch")
    model, x = network(torch)
    with rg.debug(level="graph") as trace:
        loss = model(x).pow(2).mean()
        loss.backward(retain_graph=True)
    heads = fold(trace.graph, ("views", "parameters")).heads
    ran = [trace.graph.scope[node].split("/")[1:] for node in reversed(heads)]
    inferred = [path.split("/") if path else [] for path in paths(rg.walk(loss, model)) or ()]
    apart = {
        here[-1]
        for path, here in zip(inferred, ran, strict=True)
        if path[: len(here)] != here and here[: len(path)] != path
    }
    assert apart == beyond
    assert len(set(map(tuple, inferred))) > 10
