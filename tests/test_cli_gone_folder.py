"""Commands and programs whose current folder was removed, or whose standard input is closed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from side_by_side import environment

CALL = """
import os, sys
os.mkdir("gone")
os.chdir("gone")
os.rmdir(os.path.join("..", "gone"))
from retrograd.cli.main import main
sys.argv = ["retrograd", *sys.argv[1:]]
main()
"""
PROGRAM = """
import os, sys, tempfile
import retrograd as rg
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    x = rg.zeros(2, requires_grad=True)
    x.log().sum().backward()
print(sys.path[0])
"""


def command(folder: Path, *words: str, program: str = CALL) -> subprocess.CompletedProcess[str]:
    """A command that ran, in a folder that is gone unless ``program`` says otherwise."""
    start = folder / "start.py"  # of "-c" Python 3.13.0 itself loads no NumPy in such a folder
    start.write_text(program)
    return subprocess.run(
        [sys.executable, str(start), *words], cwd=folder, env=environment(), capture_output=True, text=True
    )


def test_a_program_that_removes_its_folder_is_diagnosed(tmp_path: Path) -> None:
    """The lines of its findings are named by whole paths; it was started in a folder that is gone, too."""
    script, report = tmp_path / "script.py", tmp_path / "found.sarif"
    script.write_text(PROGRAM)
    ran = command(tmp_path, "diagnose", "-o", str(report), str(script))
    assert (ran.returncode, ran.stdout) == (1, f"{tmp_path}\n"), ran.stderr
    found = json.loads(report.read_text())["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert found["artifactLocation"]["uri"] == f"file://{script}"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["trace", "script.py"], 2, "There is no script 'script.py'. The current folder is gone; go to another."),
        (["trace", "-o", "g.svg", "-c", "1"], 3, "Could not write 'g.svg': the current folder is gone."),
        (["diagnose", "-o", "g.json", "-c", "1"], 3, "Could not write 'g.json': the current folder is gone."),
        (["trace", "-m", "nothing.there"], 2, "There is no module 'nothing' on Python's path."),
    ],
)
def test_what_cannot_be_found_is_said_in_a_sentence(tmp_path, words, code, said):
    """Without a traceback."""
    ran = command(tmp_path, *words)
    assert (ran.returncode, ran.stdout) == (code, ""), ran.stderr
    assert ran.stderr.startswith(f"retrograd: error: {said}")
    assert ran.stderr.count("\n") == 1


def test_standard_input_is_closed(tmp_path):
    """There is no program in it, as for ``python``."""
    closed = "import os, sys; os.close(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    alone = command(tmp_path, "-", program=closed)
    watched = command(tmp_path, "-m", "retrograd", "trace", "-", program=closed)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, "", "")
    assert (watched.returncode, watched.stdout) == (0, "")
    assert "never called backward" in watched.stderr
