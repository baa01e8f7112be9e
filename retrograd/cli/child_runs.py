"""Runs programs in separate processes with equal seeds, once or twice, and records them into files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..errors import UsageError
from ..inspect.program.texts import keep_text, kept_text
from ..inspect.recording.events import Recording
from ..inspect.recording.kept_steps import KEPT
from ..inspect.recording.loading import load_recording
from .launcher import outside_a_job
from .main import main
from .target import Target

# Runs the command with equal seeds in every process, on the program or on a changed copy of it.


def lay_over(texts: str) -> None:
    """Make imports, and the script itself, read the given text for each file that a JSON object names."""
    with open(texts, encoding="utf-8") as stream:
        found: dict[str, str] = json.load(stream)
    for file, text in found.items():
        keep_text(file, text.encode("utf-8", "surrogatepass"))
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds modules whose text is replaced."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module whose text is replaced, None for others."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None and kept_text(os.path.abspath(spec.origin)) is not None:
            spec.loader = _Loader(name, spec.origin)
            return spec
        return None


class _Loader(SourceFileLoader):
    """Loads a module from its replacement text; compiled files are left alone."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the replacement text."""
        path = self.get_filename(fullname)
        return compile(kept_text(os.path.abspath(path)) or "", path, "exec", dont_inherit=True)


SEED = 0


def start(texts: str = "") -> None:
    """Seed ``random``, NumPy's global generator and, once the program imports it, PyTorch; ours has a fixed seed.

    ``texts`` is a JSON file that says how files of the program are to read, in place of what is on disk.
    """
    if texts:
        lay_over(texts)
    random.seed(SEED)
    np.random.seed(SEED)
    sys.meta_path.insert(0, _SeedsTorch())
    main()


class _SeedsTorch:
    """Import hook that seeds ``torch`` when its import has finished."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of ``torch``, None for other modules."""
        spec = PathFinder.find_spec(name, path, target) if name == "torch" else None
        if spec is not None and spec.loader is not None:
            _seed_after(spec.loader)
        return spec


def _seed_after(loader: Any) -> None:
    """Seed at the end of ``exec_module``, which is shadowed on this one loader."""
    run = loader.exec_module

    def exec_module(module: Any) -> None:
        run(module)
        module.manual_seed(SEED)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # a loader with slots: the program seeds for itself
        pass


# Runs a program in a separate process and records it into a file; all such runs use the same seeds.

_FLAGS = {"module": "-m", "code": "-c"}
TYPED = "<string>"
"""The file name that Python gives to code passed with ``-c``."""


def run_recorded(
    target: Target,
    file: str,
    *,
    shown: bool,
    texts: Mapping[str, str] | None = None,
    limit: float | None = None,
    keep: str = str(KEPT),
) -> int | None:
    """Run a program once, recorded at level ``full`` into a file; return its exit code, or None on timeout.

    Its standard input is empty, and its output is dropped unless ``shown``. ``texts`` replaces the text of files
    without changing them on disk. ``limit`` is in seconds; ``keep`` is the option of ``trace``.
    """
    if texts and target.kind == "code":
        target = replace(target, text=texts.get(TYPED, target.text))
    words = [_FLAGS[target.kind]] if target.kind in _FLAGS else []
    options = ["trace", "--level", "full", "--keep", keep, "-f", "json", "-o", file, "-q", *words, target.text, "--"]
    environment = outside_a_job(os.environ)  # each run is a whole recording, also where a launcher started us
    environment.setdefault("PYTHONHASHSEED", "0")
    output = None if shown else subprocess.DEVNULL
    with tempfile.TemporaryDirectory(prefix="retrograd-texts-") as folder:
        laid = os.path.join(folder, "texts.json") if texts else ""
        if laid:
            with open(laid, "w", encoding="utf-8") as stream:
                json.dump(dict(texts or {}), stream)
        program = f"from retrograd.cli.child_runs import start; start({laid!r})"
        process = subprocess.Popen(
            [sys.executable, "-c", program, *options, *target.args],
            env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=limit is not None,
        )  # fmt: skip
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process, whole_group=limit is not None)
    return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[bytes], *, whole_group: bool) -> None:
    """Kill a process that is still running and the processes that it started."""
    if process.poll() is None:
        if whole_group and hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


# Runs one program twice, each time in a fresh process with the same seeds, and returns both recordings.


def recorded_twice(target: Target) -> tuple[list[Recording], int]:
    """Return the recordings of two runs of a program and the exit code of the first.

    Random generators have equal seeds (``seeded``) and strings equal hashes.  The second run's output is dropped, and
    neither has a standard input.
    Raises ``UsageError`` when a run ended without leaving a recording.
    """
    with tempfile.TemporaryDirectory(prefix="retrograd-twice-") as folder:
        files = [os.path.join(folder, f"{name}.json") for name in ("first", "second")]
        codes = [run_recorded(target, file, shown=file == files[0], keep="all") or 0 for file in files]
        for file, code in zip(files, codes, strict=True):
            if not os.path.exists(file):
                raise UsageError(
                    f"A run of {target.label} left no recording (exit code {code}).", "Run it alone first."
                )
        return [load_recording(file) for file in files], codes[0]
