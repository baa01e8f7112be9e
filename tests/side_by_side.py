"""Runs one program twice, by ``python`` and by ``retrograd trace``, so that tests can hold one against the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fork_server import AT_START, ForkServer

ROOT = Path(__file__).resolve().parent.parent
OURS = re.compile(r"^retrograd: .*\n", re.MULTILINE)
"""What the command line itself says on stderr: whole lines."""
ANEW = ("-m", "retrograd")
"""What starts retrograd in a process of its own."""
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
ENGINE_FRAME = re.compile(r'  File "[^"]*/retrograd/engine/[^"]*", line .*\n(?:    .*\n)*')


@dataclass(frozen=True)
class Outcome:
    """How one process ended and what it wrote."""

    code: int
    out: str
    err: str


def environment(**extra: str) -> dict[str, str]:
    """An environment in which a child process finds this checkout, free of settings that change what it prints."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RETROGRAD_", "PYTHON", "PYTEST_"))}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**kept, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **extra}


def start(command: list[str], cwd: Path, **extra: str) -> subprocess.Popen[bytes]:
    """Start a process with all three streams as pipes."""
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, env=environment(**extra), stdin=pipe, stdout=pipe, stderr=pipe)


def finish(process: subprocess.Popen[bytes], stdin: bytes = b"") -> Outcome:
    """Feed a process its standard input and wait for its end."""
    out, err = process.communicate(stdin, timeout=300)
    return Outcome(process.returncode, _steady(out.decode()), _steady(err.decode()))


def _steady(text: str) -> str:
    """Leave out what differs between two runs: addresses, and the engine's own frames in tracebacks.

    A watched call takes the general way through the engine, and a row's short way is made at its first call, so
    the frames below the user's line may be others.
    """
    return ENGINE_FRAME.sub("", ADDRESS.sub("0x…", text))


@cache
def server(*more: str) -> ForkServer:
    """The process that forks for commands, with these modules loaded beside what a command loads."""
    return ForkServer((*AT_START, *more), environment())


ENGINE = "retrograd._face"
"""The module whose import loads all of the engine."""


def retrograd(
    *arguments: str, cwd: Path, stdin: bytes = b"", engine: bool = False, torch: bool = False, **extra: str
) -> Outcome:
    """Run ``python -m retrograd ARGUMENTS``, in a fork, and return its outcome as it is.

    ``engine``: it is loaded when the program starts, for tests of what comes after that; ``torch``: PyTorch likewise.
    """
    loaded = [ENGINE] * engine + ["torch"] * torch
    forked = server(*loaded).run(list(arguments), cwd, environment(**extra), stdin)
    return Outcome(forked[0], _steady(forked[1].decode()), _steady(forked[2].decode()))


def both(
    *program: str,
    cwd: Path,
    args: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
    stdin: bytes = b"",
    entry: tuple[str, ...] = (),
    engine: bool = False,
) -> tuple[Outcome, Outcome]:
    """Run ``python PROGRAM ARGS`` and ``python -m retrograd trace PROGRAM -- ARGS`` at the same time.

    ``flags`` are python's; ``entry`` starts retrograd in a process of its own: ``ANEW``, or a console script.
    Without them it is a fork, as of ``retrograd`` above.
    The second outcome comes without the lines that retrograd itself says.
    """
    plain = start([sys.executable, *flags, *program, *args], cwd)
    command = ["trace", "-q", *program, "--", *args]
    if flags or entry:
        second = finish(start([sys.executable, *flags, *(entry or ANEW), *command], cwd), stdin)
    else:
        second = retrograd(*command, cwd=cwd, stdin=stdin, engine=engine)
    first = finish(plain, stdin)
    return first, Outcome(second.code, second.out, OURS.sub("", second.err))
