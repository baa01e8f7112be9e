"""Who may import whom: the table of docs/architecture.md, held against the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from side_by_side import environment
from source_tree import MODULES, Module, own_target

# Shaped like PyTorch's modules of these names: nothing but re-exports of the engine.
FACE_NAMES = (
    "_absent", "_elsewhere",
    "catalogue", "autograd", "distributions", "nn", "optim", "signal", "utils", "library", "_custom_op", "_C",
    "_functorch", "func", "functorch", "masked", "ops", "overrides", "profiler", "random", "testing",
    "accelerator", "amp", "backends", "compiler", "cpu", "cuda", "jit", "mps", "mtia", "multiprocessing",
    "serialization", "sparse", "storage", "version", "xpu",
)  # fmt: skip
FACE = tuple(f"retrograd.{name}" for name in FACE_NAMES)

# What describes graphs and runs, and what computes on those descriptions: no engine, no drawing.
DATA = (
    "bounded",
    "references",
    "verbs",
    "graphs",
    "recording",
    "operators",
    "intent",
    "findings",
    "fixes",
    "plugins",
    "garbage",
    "program",
    "progress",
    "fold",
    "lineup",
    "histories",
)
DATA_MODULES = ("retrograd.locks", "retrograd.interpreter", *[f"retrograd.inspect.{name}" for name in DATA])

# Module or package → what of ours it may import. The longest matching name decides; each may import its own package.
# "retrograd" alone means the face (retrograd/__init__.py), not everything below it.
ALLOWED: dict[str, tuple[str, ...]] = {
    "retrograd": ("retrograd.errors", "retrograd.engine", *FACE),
    "retrograd._face": ("retrograd.errors", "retrograd.engine", *FACE),
    "retrograd.__main__": ("retrograd.cli",),
    "retrograd.errors": (),
    "retrograd.pytest_plugin": ("retrograd.inspect",),
    "retrograd.engine": ("retrograd.errors", "retrograd.locks", "retrograd.interpreter"),
    "retrograd.locks": ("retrograd.interpreter",),
    "retrograd.interpreter": (),
    **dict.fromkeys(FACE, ("retrograd.engine", *FACE)),
    "retrograd.inspect": ("retrograd.errors", "retrograd.locks", "retrograd.interpreter"),
    **dict.fromkeys(DATA_MODULES, ("retrograd.errors", *DATA_MODULES)),
    "retrograd.inspect.sources": ("retrograd.errors", *DATA_MODULES),
    "retrograd.inspect.sources.engine_": (
        "retrograd.errors",
        "retrograd.engine",
        "retrograd.inspect.sources",
        *DATA_MODULES,
    ),
    "retrograd.inspect.diagnosis": ("retrograd.errors", *DATA_MODULES),
    "retrograd.inspect.layout": ("retrograd.errors", *DATA_MODULES),
    "retrograd.inspect.render": ("retrograd.errors", "retrograd.inspect.layout", *DATA_MODULES),
    "retrograd.distributed": ("retrograd.errors", "retrograd._absent", "retrograd.engine"),
    "retrograd.cli": ("retrograd.errors", "retrograd.interpreter", "retrograd.inspect", "retrograd", *FACE),
}

# Distribution → where it may be imported. Standard library modules and ours are not listed.
THIRD_PARTY: dict[str, tuple[str, ...]] = {
    "numpy": ("retrograd",),
    "networkx": ("retrograd.inspect",),
    "graphviz": ("retrograd.inspect.render", "retrograd.inspect.layout"),
    "typst": ("retrograd.inspect.render",),
    "rich": ("retrograd.inspect", "retrograd.cli"),
    "click": ("retrograd.cli",),
    "torch": ("retrograd.inspect.sources", "retrograd.distributed.torch_"),
    "mpi4py": ("retrograd.distributed.mpi_",),
    "pytest": ("retrograd.pytest_plugin",),
    "mcp": ("retrograd.cli.agents",),
    **{
        name: (f"retrograd.inspect.training.frameworks.{name}_",)
        for name in ("lightning", "transformers", "accelerate", "ignite")
    },
    **{
        library: (f"retrograd.inspect.training.exports.{name}",)
        for library, name in (("tensorboard", "tensorboard_"), ("wandb", "wandb_"), ("pyarrow", "parquet"))
    },
}

# Third-party modules that cost too much to load for everybody: only inside functions, except where noted.
LATE = {"networkx": (), "graphviz": (), "typst": (), "rich": (), "torch": (), "mpi4py": (), "click": ("retrograd.cli",)}
LATE |= {"tensorboard": (), "wandb": (), "pyarrow": ()}

# Imports of our own modules inside functions, each with its reason.
LAZY_OWN: dict[str, str] = {
    "retrograd": "the face loads the inspector on first use",
    "retrograd.cli.main": "Ctrl-C while modules are loaded ends the process silently",
    "retrograd.cli.commands.mcp": "it needs the package mcp, which is an extra",
    "retrograd.pytest_plugin": "pytest loads it in every run, mostly for nothing",
}


def rule_for(name: str, table: dict[str, tuple[str, ...]]) -> str:
    """The longest key of a table that a module falls under."""
    while name not in table:
        name = name.rpartition(".")[0]
    return name


def inside(name: str, package: str) -> bool:
    """Whether a module is a package or below it; the face is only itself."""
    return name == package or (package != "retrograd" and name.startswith(package + "."))


def breaches(module: Module) -> list[str]:
    """The imports of one module that its row of the table does not allow."""
    rule = rule_for(module.name, ALLOWED)
    found = []
    for item in module.imports:
        target = own_target(item.target)
        if target is None or inside(target, rule):
            continue
        if not any(inside(target, allowed) for allowed in ALLOWED[rule]):
            found.append(f"{module.where}:{item.line} imports {target}")
    return found


def test_imports_point_the_right_way() -> None:
    """Each module imports only what its row of the table allows."""
    assert [breach for module in MODULES.values() for breach in breaches(module)] == []


FLOORS = {
    "engine": (
        """core aliasing nodes switches overriding kernels streams pytree
        observe late warning deprecations frames return_types random scope symbolic control_flow""",
        "table generated calls execution forward_mode",
        "ops rules tensors function meta",
        """surface methods catalogue functional transforms custom_op sparse masked graph checkpoint gradcheck
        profiling devices""",
    ),
    "inspect": (
        "bounded references garbage writing plugins progress intent operators verbs",
        "program",
        "graphs",
        "recording fold histories fixes findings gradient_paths",
        "lineup layout verification differences",
        "sources diagnosis",
        "finite_differences baseline walker breakpoints process",
        "render",
        "output notebook explain hooks_log training",
        "blocks gradient_reason",
    ),
}
"""The rooms of the engine and of the inspector, from the lowest floor to the highest."""
LATE_BOUND = {"engine": (), "inspect": ("verbs",)}
"""Rooms that reach higher ones by design: the methods of data classes that draw and diagnose, loaded on first use."""


@pytest.mark.parametrize("package", FLOORS)
def test_imports_run_down(package: str) -> None:
    """A room of the engine or the inspector imports from its own floor and from lower ones."""
    floor = {room: number for number, rooms in enumerate(FLOORS[package]) for room in rooms.split()}
    rooms = {name: name.split(".")[2] for name in MODULES if name.startswith(f"retrograd.{package}.")}
    upward = [
        f"{module.where}:{item.line} imports {item.target}"
        for name, module in MODULES.items()
        if name in rooms and rooms[name] not in LATE_BOUND[package]
        for item in module.imports
        if (target := own_target(item.target)) in rooms and floor[rooms[name]] < floor[rooms[target]]
    ]

    assert set(floor) == set(rooms.values())
    assert upward == []


def test_engine_never_imports_the_inspector() -> None:
    """The engine works alone: not even a lazy import of inspect or cli stands in it."""
    wrong = [
        f"{module.where}:{item.line}"
        for name, module in MODULES.items()
        if any(inside(name, room) for room in ("retrograd.engine", *FACE))
        for item in module.imports
        if item.target.startswith(("retrograd.inspect", "retrograd.cli"))
    ]
    assert wrong == []


def test_own_modules_are_imported_relatively() -> None:
    """One spelling for imports of our own: relative, never `from retrograd.inspect.graphs.graph import`."""
    absolute = [
        f"{module.where}:{node.lineno}"
        for module in MODULES.values()
        for node in module.statements
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("retrograd.")
    ]
    assert absolute == []


def test_nobody_imports_the_command_line() -> None:
    """Only `python -m retrograd` and the command line itself know the command line."""
    wrong = [
        f"{module.where}:{item.line}"
        for name, module in MODULES.items()
        if not inside(name, "retrograd.cli") and name != "retrograd.__main__"
        for item in module.imports
        if item.target.startswith("retrograd.cli")
    ]
    assert wrong == []


def strongly_connected(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of more than one module that reach each other (Kosaraju's two passes, no recursion)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        stack = [(start, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((successor, False) for successor in graph[node])
    reverse: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            reverse[target].add(name)
    groups, seen = [], set()
    for start in reversed(order):
        group, todo = [], [start]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                group.append(node)
                todo.extend(reverse[node])
        groups.append(sorted(group))
    return [group for group in groups if len(group) > 1]


def loading_graph() -> dict[str, set[str]]:
    """Module → modules of ours that it imports while it loads."""
    return {
        name: {target for item in module.imports if not item.lazy and (target := own_target(item.target))} - {name}
        for name, module in MODULES.items()
    }


def test_no_import_cycles() -> None:
    """No modules import each other while they load, packages' `__init__` included."""
    assert strongly_connected(loading_graph()) == []


def test_cycle_finder_finds_cycles() -> None:
    """The search used above reports a cycle where one is."""
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}

    assert strongly_connected(graph) == [["a", "b", "c"]]


def third_party(module: Module) -> list[tuple[str, int, bool]]:
    """Imports from outside the standard library and the package: (distribution, line, lazy)."""
    return [
        (top, item.line, item.lazy)
        for item in module.imports
        if (top := item.target.split(".")[0]) not in sys.stdlib_module_names and top != "retrograd"
    ]


def misplaced(module: Module) -> list[str]:
    """The imports of third-party packages in one module that stand in the wrong room, or load too early."""
    wrong = []
    for top, line, lazy in third_party(module):
        rooms = THIRD_PARTY.get(top, ())
        if not any(module.name == room or module.name.startswith(room + ".") for room in rooms):
            wrong.append(f"{module.where}:{line} imports {top}, which belongs to {rooms or 'no room'}")
        elif top in LATE and not lazy and not any(module.name.startswith(room) for room in LATE[top]):
            wrong.append(f"{module.where}:{line} imports {top} while it loads; put it inside a function")
    return wrong


def test_third_party_packages_stay_in_their_rooms() -> None:
    """A third-party package is imported only where the table says, and a slow one only inside functions."""
    assert [wrong for module in MODULES.values() for wrong in misplaced(module)] == []


def test_own_modules_are_imported_in_the_open() -> None:
    """Imports of our own modules stand at the head of the file, except the named lazy ones."""
    hidden = [
        f"{module.where}:{item.line}"
        for name, module in MODULES.items()
        if name not in LAZY_OWN
        for item in module.imports
        if item.lazy and own_target(item.target)
    ]

    assert hidden == []


def test_locks_are_those_that_a_forked_child_finds_open() -> None:
    """E-21: one that another thread held would stay shut in a child for ever; `locks` knows all of ours."""
    plain = [
        f"{module.where}:{number}"
        for name, module in MODULES.items()
        if name != "retrograd.locks"
        for number, line in enumerate(module.text.splitlines(), start=1)
        if re.search(r"\bR?Lock\(", line)
    ]

    assert plain == []


LOADED_AFTER_IMPORT = """
import sys
from functools import partial
from pathlib import Path
import retrograd
heavy = ["networkx", "rich", "click", "graphviz", "torch", "retrograd.inspect", "retrograd.cli"]
print([name for name in [*heavy, "numpy", "retrograd.engine"] if name in sys.modules])
retrograd.ones(2)
print([name for name in heavy if name in sys.modules])
"""


ON_TORCH = """
import torch
w = torch.ones(3, requires_grad=True)
(w * 2).sum().backward()
"""


@pytest.mark.parametrize("command", [["diagnose"], ["trace", "-o", "graph.svg"]])
def test_programs_on_pytorch_run_without_the_engine(command: list[str], tmp_path: Path) -> None:
    """No command that runs a program on PyTorch loads a module of our engine, or of its adapter, until its very end."""
    pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(ON_TORCH)
    python = [sys.executable, "-X", "importtime", "-m", "retrograd"]
    done = subprocess.run(
        [*python, *command, "program.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}

    assert done.returncode == 0
    assert {"torch", "retrograd.inspect.process.recorder"} <= loaded
    assert {name for name in loaded if name.startswith("retrograd.engine")} == set()
    assert {name for name in loaded if name.startswith("retrograd.inspect.sources.engine_.")} == {
        "retrograd.inspect.sources.engine_.source"
    }


ENGINE_LATER = """
from retrograd.inspect.process.recorder import recording
with recording(level="full") as outer, recording(level="graph") as inner:
    import retrograd as torch
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
(w * 3).sum().backward()
print(*([event.kind for event in record.events] for record in (outer, inner)), len(torch.engine.observe.observers))
"""


def test_engine_is_watched_from_its_import_on() -> None:
    """Recordings that begin before the program loads our engine miss nothing, and leave nothing behind."""
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    later = run([sys.executable, "-c", ENGINE_LATER]).stdout
    before = run([sys.executable, "-c", "import retrograd; retrograd.ones(1)\n" + ENGINE_LATER]).stdout

    assert later == before
    assert "'operation'" in later
    assert later.endswith(" 0\n")


def test_a_trace_that_is_not_drawn_needs_no_diagnosis() -> None:
    """Before a program runs, and to write its recording as JSON, the rules are not loaded: there are many."""
    loads = "import sys; from retrograd.cli.commands import trace; from retrograd.inspect.render import renderer_for"
    asked = f"{loads}; renderer_for('x.json'); print([name for name in sys.modules if '.diagnosis' in name])"

    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_rooms_are_loaded_on_first_use() -> None:
    """`import retrograd` loads no room at all, and using the engine does not load the inspector."""
    done = subprocess.run([sys.executable, "-c", LOADED_AFTER_IMPORT], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n") == ["[]", "[]", ""]
