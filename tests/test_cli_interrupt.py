"""Ctrl-C while a command reads or makes results: it dies of the signal, and says so in one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

READING = """
import os, signal
from retrograd.cli.main import main
from retrograd.inspect.recording import loading
loading._read = lambda path: os.kill(os.getpid(), signal.SIGINT)
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
@pytest.mark.parametrize("command", ["diagnose", "diff", "render", "stats"])
def test_interrupt_while_a_recording_is_read(command: str) -> None:
    """An exit code of 1 would be a finding, or a difference, and a loop of a shell would go on."""
    words = [sys.executable, "-c", READING, command, "run.json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)

    said = "retrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", said)


REPORTING = """
import os, signal
from retrograd.cli import recorded
from retrograd.cli.main import main
class Interrupted(recorded.RecordedRun):
    def __init__(self, target, report, options):
        super().__init__(target, lambda *made: os.kill(os.getpid(), signal.SIGINT), options)
recorded.RecordedRun = Interrupted
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
def test_interrupt_while_results_are_made(tmp_path: Path) -> None:
    """The program's own output is there; the command dies as it would while the program runs."""
    (tmp_path / "train.py").write_text("print(1)\n")
    words = [sys.executable, "-c", REPORTING, "trace", "train.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)

    said = "retrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "1\n", said)


BETWEEN = """
from retrograd.cli import recorded
from retrograd.cli.main import main
def interrupted(*_): raise KeyboardInterrupt
recorded.Run.{method} = interrupted
main()
"""
RECOMPUTING = """
import os, signal
import retrograd as rg
class Twice(rg.autograd.Function):
    calls = 0
    @staticmethod
    def forward(ctx, x):
        Twice.calls += 1
        if Twice.calls > 1:
            os.kill(os.getpid(), signal.SIGINT)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
Twice.apply(rg.ones(2, requires_grad=True)).sum().backward()
print(Twice.calls)
"""


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
@pytest.mark.parametrize("method", ["begin", "end"])
def test_interrupt_around_the_program(tmp_path: Path, method: str) -> None:
    """Before the program and after it, Ctrl-C ends the command as it does while results are made."""
    (tmp_path / "train.py").write_text("")
    words = [sys.executable, "-c", BETWEEN.format(method=method), "trace", "train.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)

    said = "retrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", said)


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
def test_interrupt_while_custom_functions_are_called_again(tmp_path: Path) -> None:
    """The recomputation of ``--check`` runs the program's code after its end; Ctrl-C there is one to the command."""
    (tmp_path / "train.py").write_text(RECOMPUTING)
    words = [sys.executable, "-m", "retrograd", "trace", "--level", "full", "train.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)

    said = "retrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "1\n", said)


AGAIN = """
import os, signal
from retrograd.cli import messages, recorded
from retrograd.cli.main import main
say = messages.say
def interrupted(*_): raise KeyboardInterrupt
def interrupted_again(text):
    say(text)
    os.kill(os.getpid(), signal.SIGINT)
recorded.Run.begin, messages.say = interrupted, interrupted_again
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
def test_a_second_interrupt_shows_no_traceback(tmp_path: Path) -> None:
    """Ctrl-C pressed again, while the first one is being answered, ends the process at once."""
    (tmp_path / "train.py").write_text("")
    words = [sys.executable, "-c", AGAIN, "trace", "train.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)

    said = "retrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stderr) == (-signal.SIGINT, said)


PARSING = """
import os, signal
import click
from retrograd.cli.main import main
parse = click.Command.parse_args
def interrupted(self, ctx, args):
    os.kill(os.getpid(), signal.SIGINT)
    return parse(self, ctx, args)
click.Command.parse_args = interrupted
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
def test_interrupt_while_the_command_line_is_read() -> None:
    """Click would print ``Aborted!`` and give exit code 1; of what it does, a line's end after ``^C`` is left."""
    words = [sys.executable, "-c", PARSING, "samples"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)

    said = "\nretrograd: interrupted; what was not yet written is lost.\n"
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", said)


@pytest.mark.skipif(os.name != "posix", reason="processes die of signals only there")
def test_interrupt_while_modules_are_loaded(tmp_path: Path) -> None:
    """Ctrl-C right after Enter shows no traceback of our imports."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    words = [sys.executable, "-m", "retrograd", "samples"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path})

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
