"""Findings in pull requests, before commits and in editors: the files that other tools read are run as they would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from source_tree import ROOT

BROADCAST = """\
import sys
import retrograd as torch

steps = int(sys.argv[1])
prediction = torch.rand(8, 1, requires_grad=True)
target = torch.rand(8)
for _ in range(steps):
    loss = (prediction - target).pow(2).mean()
    loss.backward()
    prediction.grad = None
sys.exit(int(sys.argv[2]))
"""


def steps_of_the_action() -> list[str]:
    """The shell scripts of `action.yml`, in order."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    return [textwrap.dedent(found) for found in re.findall(r"\n      run: \|\n((?: {8}.*\n|\n)+)", text)]


def run_action(folder: Path, program: str, severity: str) -> tuple[int, str, str]:
    """Run the last step with bash as GitHub does; return its exit code, what it printed, and its outputs."""
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "PROGRAM": program,
        "SEVERITY": severity,
        "SARIF": "found.sarif",
        "GITHUB_OUTPUT": str(folder / "outputs"),
        "RUNNER_TEMP": str(folder),
    }
    script = folder / "step.sh"
    script.write_text(steps_of_the_action()[-1], encoding="utf-8")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    outputs = folder / "outputs"
    return done.returncode, done.stdout, outputs.read_text() if outputs.exists() else done.stderr


@pytest.mark.parametrize(("severity", "ends_with", "code"), [("warning", 0, 1), ("error", 5, 5)], ids=str)
def test_action_annotates_and_decides(tmp_path: Path, severity: str, ends_with: int, code: int) -> None:
    """The line is annotated, SARIF is written, and the step ends as severity and program say."""
    (tmp_path / "my train.py").write_text(BROADCAST)
    ended, printed, outputs = run_action(tmp_path, f"'my train.py' 1 {ends_with}", severity)
    log = json.loads((tmp_path / "found.sarif").read_text())

    assert "::warning file=my train.py,line=8,title=retrograd%3A broadcast::" in printed
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["broadcast"]
    assert outputs == "sarif=found.sarif\n"
    assert ended == code


def test_action_says_when_nothing_ran(tmp_path: Path) -> None:
    """A script that is not there fails the step and annotates that."""
    code, printed, _ = run_action(tmp_path, "gone.py", "error")

    assert code == 2
    assert "::error title=retrograd::nothing was recorded" in printed


def test_problem_matcher_reads_what_is_printed(tmp_path: Path) -> None:
    """The expression in docs/review.md takes file, line, column, severity, sentence and kind out of `-f lines`."""
    (tmp_path / "train.py").write_text(BROADCAST)
    command = [sys.executable, "-m", "retrograd", "diagnose", "-f", "lines", "-o", "-", "train.py", "1", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    text = (ROOT / "docs" / "review.md").read_text(encoding="utf-8")
    tasks = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    pattern = tasks["tasks"][0]["problemMatcher"]["pattern"]
    found = re.search(pattern["regexp"], done.stdout, re.MULTILINE)

    assert found is not None
    assert [found[pattern[name]] for name in ("file", "line", "column", "severity", "code")] == [
        "train.py", "8", "5", "warning", "broadcast"
    ]  # fmt: skip


def test_hooks_run_commands_that_exist(tmp_path: Path) -> None:
    """What `.pre-commit-hooks.yaml` starts refuses a program with a finding, and lets a right one pass."""
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    words = re.findall(r"entry: retrograd (.*)", hooks)[0].split()
    (tmp_path / "train.py").write_text(
        BROADCAST.replace("prediction.grad = None", "prediction.data -= prediction.grad")
    )
    command = [sys.executable, "-m", "retrograd", *words, "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    codes = [subprocess.run([*command, steps, "0"], cwd=tmp_path, env=environment).returncode for steps in ("1", "4")]

    assert codes == [0, 1]
