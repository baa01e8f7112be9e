"""A Python without a private name that we use: programs run as they would alone, and what is lost is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from side_by_side import environment

PROGRAM = """
import atexit, sys, threading, warnings
import retrograd as torch
w = torch.ones(2, requires_grad=True)
def work():
    (w * 2).sum().backward()
    print("thread", flush=True)
thread = threading.Thread(target=work)
thread.start()
thread.join()
atexit.register(print, "handler")
threading.Timer(0.1, print, ["late"]).start()
warnings.warn("of the program", stacklevel=2)
print(w.grad.tolist(), __name__, flush=True)
sys.exit(3)
"""
AWAY = """
import _lsprof, atexit, concurrent.futures.thread, ctypes, fractions, importlib, numpy, os, runpy, sys, threading
import warnings, click, inspect, typing, dataclasses, difflib, json, ast, dis, secrets, multiprocessing, signal
before = set(sys.modules)
for name in sys.argv[1].split():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1), os.dup2(writing, 2)
        module, _, attribute = name.rpartition(".")
        if module:
            delattr(sys.modules[module], attribute)
        elif name != "nothing":
            sys.modules[name] = None
        sys.argv[:] = ["retrograd", "trace", "-q", "-o", f"{name}.json", "-m", "program"]
        from retrograd.cli.main import main
        main()
    os.close(writing)
    told = open(reading).read()
    print([name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told], flush=True)
"""
NAMES = {
    "nothing": "",
    "sys._getframe": "",
    "sys._current_frames": "the line at which a signal finds a program is unknown",
    "atexit._run_exitfuncs": "what exit handlers do is not recorded",
    "threading._shutdown": "",
    "runpy._run_module_as_main": "",
    "warnings._showwarnmsg": "warnings of the program may name other lines",
    "_lsprof": "",
}
"""Names, and what is said where they are gone."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit code and text of the program, recorded without each of the names; of one process that forks for them."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "program.py").write_text(PROGRAM)
    words = [sys.executable, "-c", AWAY, " ".join(NAMES)]
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)
    found = map(eval, done.stdout.splitlines())
    return {
        name: (code, told.replace(str(folder), "")) for name, code, told in found if (folder / f"{name}.json").exists()
    }


@pytest.mark.parametrize("name", NAMES)
def test_without_a_name(outcomes: dict[str, tuple[int, str]], name: str) -> None:
    """Taken away before we are loaded: the program prints and ends as with it, and only what is lost is said."""
    code, told = outcomes[name]
    said = [line for line in told.splitlines() if line.startswith("retrograd: ")]
    rest = "\n".join(line for line in told.splitlines() if line not in said)
    whole = outcomes["nothing"][1].rstrip()

    assert code == 3
    assert NAMES[name] in "".join(said)
    assert len(said) == bool(NAMES[name])
    if name == "threading._shutdown":  # python itself complains when it ends
        rest = rest[: len(whole)]
    if name != "warnings._showwarnmsg":  # python itself shows none then
        assert rest == whole


def test_what_the_program_prints(outcomes: dict[str, tuple[int, str]], tmp_path: Path) -> None:
    """With all names it prints what it prints under python."""
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [sys.executable, "-m", "program"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300)

    assert sorted((done.stdout + done.stderr).splitlines()) == sorted(outcomes["nothing"][1].splitlines())
