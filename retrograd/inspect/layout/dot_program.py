"""Graphviz's ``dot`` as a child process with a time limit: DOT text in, its answer in any of its formats out."""

from __future__ import annotations

import shutil
import subprocess

from retrograd.errors import LayoutError

TIME_LIMIT = 20.0
"""Seconds that ``dot`` may take; its time grows with about the cube of the depth of a graph."""


def has_dot() -> bool:
    """Whether there is a ``dot`` to run."""
    return shutil.which("dot") is not None


def run_dot(text: str, fmt: str, *, instead: str, time_limit: float = TIME_LIMIT) -> bytes:
    """Return what ``dot -Tfmt`` makes of DOT text.

    Raises ``LayoutError`` when ``dot`` is missing, fails or takes longer than ``time_limit`` seconds; ``instead`` is
    the sentence that says how to do without it.
    """
    program = shutil.which("dot")
    if program is None:
        raise LayoutError("This needs Graphviz, and there is no 'dot' on PATH.", f"Install Graphviz. Or: {instead}")
    command, data = [program, f"-T{fmt}"], text.encode("utf-8", "backslashreplace")
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=time_limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise LayoutError(
            f"Graphviz dot was stopped: it took longer than {time_limit:g} seconds.",
            f"Draw less with --max-nodes. Or: {instead}",
        ) from error
    except OSError as error:
        raise LayoutError(f"Graphviz dot does not start: {error.strerror}.", instead) from error
    # dot ends with 1 also when it merely gave up on a bend, with a complete drawing on its output.
    if not done.stdout.strip():
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise LayoutError(f"Graphviz dot failed: {said[:200]}.", instead)
    return done.stdout
