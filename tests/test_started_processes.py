"""Processes that a program starts are not recorded, and the report says how many there were."""

from __future__ import annotations

from pathlib import Path

import pytest
from side_by_side import both, retrograd

TRAINS = "import retrograd as torch\nw = torch.ones(2, requires_grad=True)\nw.sum().backward()\n"
PROGRAMS = {
    "a function in processes": """
import multiprocessing
def work(number):
    print(number, flush=True)
if __name__ == "__main__":
    for number in range(2):
        process = multiprocessing.get_context("fork").Process(target=work, args=(number,))
        process.start()
        process.join()
""",
    "a class of its own": """
import multiprocessing
class Worker(multiprocessing.get_context("fork").Process):
    def run(self):
        print("works", flush=True)
workers = [Worker(), Worker()]
for worker in workers:
    worker.start()
    worker.join()
""",
    "the system's own calls": """
import os, sys
child = os.fork()
if child == 0:
    print("works", flush=True)
    os._exit(0)
os.waitpid(child, 0)
os.system(f"{sys.executable} -c 'print(2)'")
os.system("exit 0")
""",
    "commands": """
import subprocess, sys
subprocess.run([sys.executable, "-c", "print(1)"])
subprocess.check_output([sys.executable, "-S", "-c", "pass"])
subprocess.run("exit 0", shell=True)
try:
    subprocess.run(["no such command"])
except FileNotFoundError as error:
    print(error.filename)
""",
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_their_number_is_said(tmp_path: Path, name: str) -> None:
    """Two processes of Python were started; what else ran, or could not, does not count, and the output is python's."""
    (tmp_path / "program.py").write_text(
        PROGRAMS[name] + "if __name__ == '__main__':\n    " + "; ".join(TRAINS.splitlines())
    )
    plain, watched = both("program.py", cwd=tmp_path)
    said = retrograd("diagnose", "program.py", cwd=tmp_path)

    assert (watched.code, watched.out, plain.err) == (plain.code, plain.out, "")
    assert said.err == (
        "retrograd: 2 processes that the program started were not recorded\nretrograd: nothing was found in the rest\n"
    )


def test_none_is_no_word(tmp_path: Path) -> None:
    """A program that starts no process hears nothing of it."""
    (tmp_path / "program.py").write_text("import subprocess, multiprocessing\n" + TRAINS)

    assert retrograd("diagnose", "program.py", cwd=tmp_path).err == "retrograd: no findings\n"
