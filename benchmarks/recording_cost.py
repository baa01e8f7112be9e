"""What recording costs on our engine: a training step of a 784-256-256-10 net at batch 64, by turns at every level.

``python benchmarks/recording_cost.py`` prints the CPU time of a step at each level over that of a plain step, written
in three ways (bar for ``full`` with operators: 1.5), and the plain step over the same step with the observers' tests
taken out of the engine's source (bar: 1.02), each in interpreters of its own by turns.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LEVELS = ("plain", "graph", "backward", "full")
TURNS, STEPS = 12, 10
SIZES = (784, 256, 256, 10)


def with_operators() -> Callable[[], None]:
    """The step, written with operators and an optimizer, on data made once."""
    import retrograd as rg

    rg.manual_seed(0)
    weights = [(rg.randn(a, b) * 0.05).requires_grad_(True) for a, b in itertools.pairwise(SIZES)]
    biases = [rg.zeros(b).requires_grad_(True) for b in SIZES[1:]]
    x, y = rg.randn(64, 784), rg.randint(0, 10, (64,))
    optimizer = rg.optim.SGD([*weights, *biases], lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        h = x
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = rg.relu(h @ w + b)
        loss = rg.nn.functional.cross_entropy(h @ weights[-1] + biases[-1], y)
        loss.backward()
        optimizer.step()

    return step


def with_modules() -> Callable[[], None]:
    """The same net of modules."""
    import retrograd as rg

    rg.manual_seed(0)
    first, *others = [rg.nn.Linear(a, b) for a, b in itertools.pairwise(SIZES)]
    net = rg.nn.Sequential(first, *itertools.chain.from_iterable((rg.nn.ReLU(), layer) for layer in others))
    x, y = rg.randn(64, 784), rg.randint(0, 10, (64,))
    optimizer, criterion = rg.optim.SGD(net.parameters(), lr=0.01), rg.nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()

    return step


def by_hand() -> Callable[[], None]:
    """The same net whose gradients are cleared, and parameters updated, by the program itself: 18 events more."""
    import retrograd as rg

    rg.manual_seed(0)
    weights = [(rg.randn(a, b) * 0.05).requires_grad_(True) for a, b in itertools.pairwise(SIZES)]
    biases = [rg.zeros(b).requires_grad_(True) for b in SIZES[1:]]
    x, y = rg.randn(64, 784), rg.randint(0, 10, (64,))

    def step() -> None:
        h = x
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            h = rg.relu(rg.addmm(b, h, w))
        loss = rg.nn.functional.cross_entropy(rg.addmm(biases[-1], h, weights[-1]), y)
        for p in (*weights, *biases):
            p.grad = None
        loss.backward()
        with rg.no_grad():
            for p in (*weights, *biases):
                p.sub_(p.grad, alpha=0.01)

    return step


PROGRAMS = (with_operators, with_modules, by_hand)


def timed(step: Callable[[], None], count: int) -> list[float]:
    """CPU seconds of each of so many steps."""
    found = []
    for _ in range(count):
        begin = time.process_time()
        step()
        found.append(time.process_time() - begin)
    return found


def by_level(program: Callable[[], Callable[[], None]]) -> dict[str, float]:
    """Median step at each level, in turns."""
    import retrograd as rg

    step = program()
    times: dict[str, list[float]] = {level: [] for level in LEVELS}
    for _ in range(TURNS):
        for level in LEVELS:
            with contextlib.nullcontext() if level == "plain" else rg.debug(level=level):
                step()
                times[level] += timed(step, STEPS)
    return {level: statistics.median(found) for level, found in times.items()}


class _Without(ast.NodeTransformer):
    """Takes ``if observe.observers:`` and ``if watched:`` with their bodies out of a module."""

    removed = 0

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:  # noqa: N802 - ast's name
        self.generic_visit(node)
        if ast.unparse(node.test) not in ("observe.observers", "watched"):
            return node
        _Without.removed += 1
        return node.orelse or ast.copy_location(ast.Pass(), node)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the engine's modules without the tests."""

    def source_to_code(self, data, path, *, _optimization=-1):  # type: ignore[no-untyped-def]
        """Compile the module, changed if it is the engine's."""
        tree = ast.parse(data)
        if "engine" in str(path) or str(path).endswith(("optim.py", "module.py")):
            tree = ast.fix_missing_locations(_Without().visit(tree))
        return compile(tree, path, "exec")

    def get_code(self, fullname):  # type: ignore[no-untyped-def]
        """Never from a cache."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _finder(folder: str) -> importlib.machinery.FileFinder:
    """What finds modules in folders of retrograd."""
    if "retrograd" not in Path(folder).parts:
        raise ImportError
    return importlib.machinery.FileFinder(folder, (_Loader, [".py"]))


def one_interpreter(kind: str) -> float:
    """Median of plain steps in a fresh interpreter, with or without the tests in the engine's source."""
    command = [sys.executable, __file__, kind]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print the table."""
    if len(sys.argv) > 1:
        if sys.argv[1] == "without":
            sys.path_hooks.insert(0, _finder)
            sys.path_importer_cache.clear()
        step = with_operators()
        timed(step, 20)
        print(statistics.median(timed(step, 150)))
        return
    for program in PROGRAMS:
        medians = by_level(program)
        print(program.__name__.replace("_", " "))
        for level, seconds in medians.items():
            print(f"  {level:10s} {seconds * 1e6:8.0f} µs  {seconds / medians['plain']:.2f}")
    turns = [(one_interpreter("with"), one_interpreter("without")) for _ in range(7)]
    print(f"nothing recorded, over an engine without the tests: {statistics.median(a / b for a, b in turns):.3f}")


if __name__ == "__main__":
    main()
