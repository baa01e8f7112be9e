"""What a walk costs on PyTorch graphs, beside the least loop that writes DOT and the least one through networkx.

    python benchmarks/walk_cost.py                      # all graphs
    python benchmarks/walk_cost.py mlp8 chain10k        # some
    python benchmarks/walk_cost.py --graphs FOLDER      # graphs.py of FOLDER instead of those built here

Every contender runs on a fresh graph, in shuffled turns in one process; medians of CPU time; ratios are what
counts.  Bars: walk at most 1.5 times floor_dot, walk + DOT text at most 1.5 times floor_nx.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from retrograd.inspect import Recording, walk
from retrograd.inspect.render import RenderOptions, renderer_for

GRAPHS = ("mlp8", "resnet50", "transformer12", "wide50k", "chain10k")
BARS = {"walk": ("floor_dot", 1.5), "walk, names searched": ("floor_dot", None), "walk + DOT": ("floor_nx", 1.5)}


# -- graphs ------------------------------------------------------------------------------------------------------


class Bottleneck(nn.Module):
    """A residual block with an in-place ReLU and ``+=``."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(width_in, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        same = stride == 1 and width_in == out
        self.down = (
            None if same else nn.Sequential(nn.Conv2d(width_in, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


def resnet50() -> nn.Module:
    """A narrow ResNet-50."""
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    width_in = 16
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 16 * 2**stage
        for block in range(blocks):
            layers.append(Bottleneck(width_in, width, 2 if stage and not block else 1))
            width_in = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width_in, 10))


class Weight(nn.Module):
    """One parameter and a function of it."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self.weight) * x


def chain(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """``count`` operations in a row."""

    def run(weight: torch.Tensor) -> torch.Tensor:
        for step in range(count - 1):
            weight = weight.sin() if step & 1 else weight * 1.001
        return weight

    return run


def wide(weight: torch.Tensor) -> torch.Tensor:
    """16,666 branches of three operations."""
    return torch.stack([(weight * (1 + branch * 1e-5)).exp().sin() for branch in range(16_666)])


def build(name: str) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """Return a model and what makes a fresh loss."""
    torch.manual_seed(0)
    if name == "mlp8":
        layers = [layer for _ in range(8) for layer in (nn.Linear(64, 64), nn.ReLU())][:-1]
        model, x = nn.Sequential(*layers), torch.randn(32, 64)
    elif name == "resnet50":
        model, x = resnet50(), torch.randn(4, 3, 64, 64)
    elif name == "transformer12":
        layer = nn.TransformerEncoderLayer(64, 4, 128, 0.1, batch_first=True, norm_first=True)
        encoder = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        model, x = nn.Sequential(encoder, nn.LayerNorm(64), nn.Linear(64, 100)), torch.randn(4, 16, 64)
    elif name == "wide50k":
        model, x = Weight(wide), torch.randn(4)
    else:
        model, x = Weight(chain(int(name.removeprefix("chain").replace("k", "000")))), torch.randn(4)
    return model, lambda: model(x).pow(2).mean()


def load(folder: str, name: str) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """Return the same from the ``graphs.py`` of a folder."""
    spec = importlib.util.spec_from_file_location("bench_graphs", Path(folder) / "graphs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_graphs"] = module
    spec.loader.exec_module(module)
    case = module.case(name)
    return case.model, case.make


# -- contenders --------------------------------------------------------------------------------------------------


def nodes_of(loss: torch.Tensor) -> tuple[dict[Any, int], list[Any]]:
    """Every node with its number, breadth first."""
    seen = {loss.grad_fn: 0}
    order = [loss.grad_fn]
    for node in order:
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen[child] = len(order)
                order.append(child)
    return seen, order


def floor_dot(loss: torch.Tensor, model: nn.Module) -> str:
    """The least work that gives DOT: names and shapes of parameters, one edge per operand."""
    names = {id(tensor): name for name, tensor in model.named_parameters()}
    seen, order = nodes_of(loss)
    lines = ["digraph {"]
    for node in order:
        number = seen[node]
        label = node.name()
        if hasattr(node, "variable"):
            leaf = node.variable
            label += f"\\n{names.get(id(leaf), '')} {tuple(leaf.shape)}"
        lines.append(f'n{number} [label="{label}"]')
        for _slot, (child, output) in enumerate(node.next_functions):
            if child is not None:
                lines.append(f"n{number} -> n{seen[child]}" + (f' [label="{output}"]' if output else ""))
    return "\n".join([*lines, "}"])


def floor_nx(loss: torch.Tensor, model: nn.Module) -> str:
    """The same through a ``networkx.MultiDiGraph`` with attributes."""
    import networkx as nx

    names = {id(tensor): name for name, tensor in model.named_parameters()}
    seen, order = nodes_of(loss)
    graph = nx.MultiDiGraph()
    for node in order:
        number = seen[node]
        facts = {"op": node.name()}
        if hasattr(node, "variable"):
            leaf = node.variable
            facts |= {"param": names.get(id(leaf)), "shape": tuple(leaf.shape), "dtype": str(leaf.dtype)}
        graph.add_node(number, **facts)
        for slot, (child, output) in enumerate(node.next_functions):
            if child is not None:
                graph.add_edge(number, seen[child], slot=slot, output_nr=output)
    lines = ["digraph {"]
    for number, facts in graph.nodes(data=True):
        lines.append(f'n{number} [label="{facts["op"]} {facts.get("param") or ""} {facts.get("shape") or ""}"]')
    for start, end, facts in graph.edges(data=True):
        lines.append(f'n{start} -> n{end} [label="{facts["output_nr"]}"]')
    return "\n".join([*lines, "}"])


def walk_and_dot(loss: torch.Tensor, model: nn.Module) -> str | bytes:
    """Our walk, then our DOT text of the whole graph."""
    recording = Recording(graphs=[walk(loss, model, find_names=False)])
    return renderer_for("dot").render(recording, RenderOptions(fold=()))


CONTENDERS: dict[str, Callable[[torch.Tensor, nn.Module], object]] = {
    "floor_dot": floor_dot,
    "floor_nx": floor_nx,
    "walk": lambda loss, model: walk(loss, model, find_names=False),
    "walk, names searched": lambda loss, model: walk(loss),
    "walk + DOT": walk_and_dot,
}


def measure(make: Callable[[], torch.Tensor], model: nn.Module, turns: int) -> dict[str, float]:
    """Return the median CPU milliseconds of each contender."""
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for turn in range(turns + 1):
        for name in random.sample(sorted(CONTENDERS), len(CONTENDERS)):
            loss = make()
            begin = time.process_time()
            CONTENDERS[name](loss, model)
            if turn:  # the first turn warms up
                times[name].append((time.process_time() - begin) * 1e3)
            del loss
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    """Measure, print, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=GRAPHS, metavar="GRAPH", help=f"of {', '.join(GRAPHS)}")
    parser.add_argument("--graphs", metavar="FOLDER", help="folder with a graphs.py that has case(name)")
    parser.add_argument("--turns", type=int, default=0, help="measurements per contender")
    options = parser.parse_args()
    torch.set_num_threads(1)
    random.seed(0)
    missed = 0
    for name in options.names:
        model, make = load(options.graphs, name) if options.graphs else build(name)
        medians = measure(make, model, options.turns or (9 if name.endswith("k") else 31))
        print(f"{name}: " + ", ".join(f"{key} {value:.2f} ms" for key, value in medians.items()))
        for key, (floor, bar) in BARS.items():
            ratio = medians[key] / medians[floor]
            verdict = "" if bar is None else "ok" if ratio <= bar else f"ABOVE {bar}"
            missed += bar is not None and ratio > bar
            print(f"    {key}: {ratio:.2f} x {floor} {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
