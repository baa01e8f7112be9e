"""A process that has imported the command line and forks for each command, so that the imports are paid for once.

What a fork runs begins as ``python -m retrograd`` begins: with the folder, environment, arguments and streams asked
for, and with no module loaded that a process of its own would not have loaded when the program starts.  The collector
passes over what the server made, or each fork would walk all modules when it ends.
``test_fork_server`` holds the one against the other.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

TIME_LIMIT = 300
AT_START = (
    "retrograd.cli.main",
    "retrograd.cli.commands.trace",
    "retrograd.inspect.sources.engine_.source",
    "retrograd.inspect.sources.torch_.source",
)
"""What ``retrograd trace`` has imported when the program starts."""

SERVER = """
import gc, os, runpy, sys
commands, answers = open(int(sys.argv[1])), open(int(sys.argv[2]), "w", buffering=1)
for name in sys.argv[3:]:
    __import__(name)
gc.freeze()
for line in commands:
    child = os.fork()
    if child == 0:
        break
    print(child, file=answers)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers)
else:
    sys.exit()
commands.close(), answers.close()
arguments, folder, environment, streams = eval(line)
os.chdir(folder)
os.environ.clear(), os.environ.update(environment)
for number, path in enumerate(streams):
    opened = os.open(path, os.O_RDWR | os.O_APPEND)
    os.dup2(opened, number), os.close(opened)
sys.argv[:], sys.path[0] = ["-m", *arguments], os.getcwd()
sys.orig_argv[:] = [sys.executable, "-m", "retrograd", *arguments]
runpy._run_module_as_main("retrograd")
"""


class ForkServer:
    """The process, and how to ask it for a fork."""

    def __init__(self, modules: tuple[str, ...], environment: dict[str, str]) -> None:
        theirs, asked = os.pipe()
        answered, mine = os.pipe()
        words = [sys.executable, "-c", SERVER, str(theirs), str(mine), *modules]
        pipe = subprocess.PIPE  # a command's streams are no terminal
        self._process = subprocess.Popen(
            words, env=environment, pass_fds=(theirs, mine), stdin=pipe, stdout=pipe, stderr=pipe
        )
        os.close(theirs)
        os.close(mine)
        self._commands, self._answers = os.fdopen(asked, "w", buffering=1), os.fdopen(answered)
        atexit.register(self.end)

    def end(self) -> None:
        """End the process."""
        self._commands.close()
        self._process.communicate(timeout=TIME_LIMIT)
        self._answers.close()

    def run(
        self, arguments: list[str], folder: Path, environment: dict[str, str], stdin: bytes
    ) -> tuple[int, bytes, bytes]:
        """Run ``python -m retrograd ARGUMENTS`` and return its exit code and what it wrote."""
        with tempfile.TemporaryDirectory() as place:
            streams = [Path(place, name) for name in ("in", "out", "err")]
            for stream, content in zip(streams, (stdin, b"", b""), strict=True):
                stream.write_bytes(content)
            print((arguments, str(folder), environment, list(map(str, streams))), file=self._commands)
            child = int(self._answers.readline())
            if not select.select([self._answers], [], [], TIME_LIMIT)[0]:
                os.kill(child, signal.SIGKILL)
            code = int(self._answers.readline())
            return code, streams[1].read_bytes(), streams[2].read_bytes()
