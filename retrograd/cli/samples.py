"""The sample programs: their files, their descriptions, and the graph that each builds."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import linecache
import sys
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

from ..errors import UsageError
from ..inspect.graphs.graph import Graph
from ..inspect.process.recorder import recording
from ..inspect.recording.events import Recording
from ..inspect.walker import walk

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "_samples", _PACKAGE.parent / "sample_graphs")
"""In an installed package, and in a checkout."""


def folder() -> Path:
    """Return the folder with the sample programs."""
    for place in _FOLDERS:
        if place.is_dir():
            return place
    raise UsageError(f"The sample programs are missing: there is no folder {_FOLDERS[0]}.", "Install retrograd again.")


def names() -> list[str]:
    """Return the names of all samples, sorted."""
    return sorted(path.stem for path in folder().glob("*.py") if not path.name.startswith("_"))


def description(name: str) -> str:
    """Return a sample's docstring, without running it."""
    return ast.get_docstring(ast.parse(path_of(name).read_text(encoding="utf-8"))) or ""


def path_of(name: str) -> Path:
    """Return the file of a sample; raises ``UsageError`` for a name that is none."""
    stem = name.removesuffix(".py")
    if stem not in names():
        near = difflib.get_close_matches(stem, names(), n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else "See the list: retrograd samples."
        raise UsageError(f"There is no sample {name!r}.", hint)
    return folder() / f"{stem}.py"


def record(name: str) -> Recording:
    """Build a sample and return a recording that holds the graph of what its ``build()`` returned."""
    with recording(script=path_of(name).name) as recorded:
        snapshot = _picture(_imported(name).build, label=name.removesuffix(".py"))
    recorded.graphs.append(snapshot)
    for line in filter(None, snapshot.source):
        text = linecache.getline(line.file, line.line).rstrip("\r\n")
        recorded.sources.setdefault(line.file, {})[line.line] = text
    return recorded


def _imported(name: str) -> ModuleType:
    """Import a sample by its path, under a unique module name."""
    path = path_of(name)
    module_name = f"retrograd_sample_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"The sample {str(path)!r} cannot be imported.", "Install retrograd again.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module


def _picture(build: FunctionType, label: str) -> Graph:
    """Call ``build`` and walk the graph at its return, while the variables that name its tensors still exist."""
    snapshots: list[Graph] = []

    def watch(frame: FrameType, event: str, result: Any) -> None:
        if event == "return" and frame.f_code is build.__code__ and result is not None:
            snapshots.append(walk(result, label=label, depth=2))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        root = build()
    finally:
        sys.setprofile(before)
    return snapshots[-1] if snapshots else walk(root, label=label)
