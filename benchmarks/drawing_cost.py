"""What a drawing costs: folded beside torchviz with Graphviz, and unfolded as graphs grow to 100,000 nodes.

    python benchmarks/drawing_cost.py                # all parts
    python benchmarks/drawing_cost.py transformer    # one of: transformer, growth, large

``transformer``: a 12-layer encoder (928 nodes): fold + layout + SVG beside torchviz's text + ``dot -Tsvg``, in turns,
medians of CPU time of both processes; bar: a third.  Needs PyTorch, torchviz and Graphviz; says which is missing.
``growth``: the layout alone, every node drawn, at 1,000, 10,000 and 100,000 nodes; bar: 2.2 times per doubling.
``large``: 100,000 nodes to SVG in a process of their own, folded and not; bars: 10 s of CPU and 1 GB.
"""

from __future__ import annotations

import argparse
import itertools
import math
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import retrograd as rg
from retrograd.inspect import Recording
from retrograd.inspect.fold import everything, fold, view
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.layout import Size, nested
from retrograd.inspect.render import RenderOptions, renderer_for

ROUNDS = 5
SIZES = (1_000, 10_000, 100_000)


def made(ops: list[str], edges: list[tuple[int, int]]) -> Graph:
    """A snapshot of operators and edges, in the order of backward."""
    count, used, numbers = len(ops), [0] * len(ops), []
    for source, _ in edges:
        numbers.append(used[source])
        used[source] += 1
    return Graph(
        op=[f"{op}Backward0" for op in ops],
        kind=["op" if sent else "leaf" for sent in used],
        name=[None] * count,
        scope=[""] * count,
        shape=[(4,)] * count,
        dtype=["float32"] * count,
        source=[None] * count,
        saved_bytes=[None] * count,
        seq=[count - node for node in range(count)],
        edge_source=[source for source, _ in edges],
        edge_target=[target for _, target in edges],
        edge_input_nr=numbers,
        edge_output_nr=[0] * len(edges),
        roots=[0],
        root_names=["loss"],
    )


def chain(count: int) -> Graph:
    """One operator after the other."""
    return made(
        ["Mul" if node % 3 else "Sin" for node in range(count)], [(node, node + 1) for node in range(count - 1)]
    )


def wide(count: int) -> Graph:
    """Branches of three operators, stacked, of one weight."""
    last = 1 + 3 * (count // 3)
    edges = [(0, first) for first in range(1, last, 3)]
    for first in range(1, last, 3):
        edges += [(first, first + 1), (first + 1, first + 2), (first + 2, last)]
    return made(["Stack", *["Sin", "Exp", "Mul"] * (count // 3), "w"], sorted(edges))


def residual(count: int) -> Graph:
    """Residual blocks of eleven nodes, four of them parameters."""
    ops, edges = [], []
    for first in range(0, count - 11, 11):
        ops += ["Add", "Mm", "Relu", "Mm", "NativeLayerNorm", "T", "T", "w", "w", "w", "w"]
        inside = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 11), (0, 11), (1, 5), (3, 6), (5, 7), (6, 8), (4, 9), (4, 10)]
        edges += [(first + source, first + target) for source, target in inside]
    return made([*ops, "Embedding"], sorted(edges))


SHAPES: dict[str, Callable[[int], Graph]] = {"chain": chain, "wide": wide, "residual": residual}


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of some work, those of its child processes included."""
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    work()
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True))


def svg(graph: Graph, **asked: object) -> str:
    """The drawing of a graph."""
    options = RenderOptions(**asked)  # type: ignore[arg-type]
    return str(renderer_for("svg").render(Recording(graphs=[graph]), options))


def transformer() -> None:
    """Print what the encoder costs in both ways."""
    try:
        from torchviz import make_dot
        from walk_cost import build
    except ImportError as missing:
        print(f"transformer: not measured, {missing}")
        return
    if shutil.which("dot") is None:
        print("transformer: not measured, there is no Graphviz")
        return
    model, make = build("transformer12")
    with rg.debug() as trace:
        loss = make()
        loss.backward(retain_graph=True)
    graph, parameters = trace.graph, dict(model.named_parameters())

    def theirs() -> None:
        text = make_dot(loss, parameters).source
        subprocess.run(["dot", "-Tsvg"], input=text.encode(), stdout=subprocess.DEVNULL, check=True)

    ways = {"torchviz + dot": theirs, "folded": lambda: svg(graph), "every node": lambda: svg(graph, fold=())}
    svg(graph)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            times[name].append(cpu(way))
    base = statistics.median(times["torchviz + dot"])
    for name, found in times.items():
        median = statistics.median(found)
        print(
            f"transformer ({len(graph)} nodes) {name:15} {median * 1000:8.1f} ms CPU, {median / base:.3f} of the first"
        )


def growth() -> None:
    """Print how the time of the layout grows."""
    for name, shape in SHAPES.items():
        times = []
        for count in SIZES:
            folded = fold(shape(count), ())
            seen = view(folded, everything(folded).opened)
            cards = [Size(110.0, 47.0)] * len(seen.boxes)
            rounds = 5 if count < SIZES[-1] else 2
            times.append(min(cpu(lambda seen=seen, cards=cards: nested.layout(seen, cards)) for _ in range(rounds)))
        steps = [(late / early) ** (1 / math.log2(10)) for early, late in itertools.pairwise(times)]
        shown = ", ".join(f"{count:,}: {seconds:.3f} s" for count, seconds in zip(SIZES, times, strict=True))
        print(f"layout of every node, {name:8} {shown}; per doubling {', '.join(f'{step:.2f}' for step in steps)}")


def large() -> None:
    """Print what 100,000 nodes cost, each in a process of its own."""
    for name in SHAPES:
        for folded in ("folded", "every-node"):
            subprocess.run([sys.executable, __file__, "one", name, folded], check=True)


def one(name: str, how: str) -> None:
    """Draw one large graph and say what it cost this process."""
    graph = SHAPES[name](SIZES[-1])
    asked = {"fold": (), "max_nodes": 10**7} if how == "every-node" else {}
    began = time.process_time()
    text = svg(graph, **asked)
    seconds, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{len(graph):,} nodes, {name:8} {how:10} {seconds:6.2f} s CPU, {peak:.2f} GB, {len(text) / 1e6:.2f} MB",
        flush=True,
    )


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["transformer", "growth", "large"])
    parts = parser.parse_args().parts
    if parts[0] == "one":
        one(parts[1], parts[2])
        return
    for part in parts:
        {"transformer": transformer, "growth": growth, "large": large}[part]()


if __name__ == "__main__":
    main()
