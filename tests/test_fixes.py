"""Changes that findings propose: how they are made, put together, written as a diff, and tried."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from bug_programs import Pair, pairs, record
from side_by_side import Outcome, retrograd

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.diagnosis.remedies.program import Program
from retrograd.inspect.findings import Finding
from retrograd.inspect.fixes import Change, Fix, changed, compatible, unified_diff
from retrograd.inspect.verification import Observed, verdict

PROGRAM = """import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32)
for _ in range(3):
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def observed(text: str, folder: Path) -> Observed:
    """One run of a program on PyTorch."""
    recording = record(text, folder)
    return Observed(recording, diagnose(recording))


def with_fix(text: str, fix: Fix) -> str:
    """The program with a fix."""
    lines = changed(text.splitlines(), fix.changes)
    assert lines is not None
    return "\n".join(lines) + "\n"


@pytest.mark.filterwarnings("ignore")
def test_proposed_changes_do_what_they_promise(tmp_path: Path) -> None:
    """What is proposed untried works in every buggy program; of what is proposed only when it was tried, much does."""
    pytest.importorskip("torch")
    verdicts = {pair.name: judged(pair, tmp_path) for pair in pairs() if not pair.twice}
    untried = {name: found for name, both in verdicts.items() if (found := both[0])}

    assert {name: found for name, found in untried.items() if set(found) != {"verified"}} == {}
    assert len(untried) >= 110
    assert sum("verified" in found for _, found in verdicts.values()) >= 85


def judged(pair: Pair, folder: Path) -> tuple[list[str], list[str]]:
    """What runs with each fix of a program's first finding show: those proposed untried, and tentative ones."""
    before = observed(pair.buggy, folder)
    found: tuple[list[str], list[str]] = ([], [])
    for fix in before.findings[0].fixes if before.findings else ():
        if "verified" not in found[fix.tentative]:
            after = observed(with_fix(pair.buggy, fix), folder)
            found[fix.tentative].append(verdict(before.findings[0], fix, before, after))
    return found


def test_change_that_breaks_the_program_makes_it_worse(tmp_path: Path) -> None:
    """A fix with which the program raises, or nothing is trained any more, is not called verified."""
    pytest.importorskip("torch")
    before = observed(PROGRAM, tmp_path)
    line = PROGRAM.splitlines()[6]
    raising = Fix("", (Change(before.findings[0].file, 7, (line,), ("    loss = nothing",)),))
    idle = Fix("", (Change(before.findings[0].file, 7, (line,), (line + ".detach().requires_grad_()",)),))

    found = [
        verdict(before.findings[0], fix, before, observed(with_fix(PROGRAM, fix), tmp_path)) for fix in (raising, idle)
    ]

    assert found == ["makes it worse", "makes it worse"]


def test_change_that_changes_nothing_is_not_verified(tmp_path: Path) -> None:
    """A fix after which the same is found again, on a line that it moved, is not verified."""
    pytest.importorskip("torch")
    before = observed(PROGRAM, tmp_path)
    file = before.findings[0].file
    moved = Fix("", (Change(file, 2, (), ("# a comment", "# and another")),))

    assert verdict(before.findings[0], moved, before, observed(with_fix(PROGRAM, moved), tmp_path)) == "not verified"


def test_worse_and_tentative_changes_are_not_proposed() -> None:
    """A change that was tried in vain gives way to the next; one that needs a trial is not shown without it."""
    change = (Change("a.py", 1, ("x",), ("y",)),)
    worse, guess = Fix("worse", change, verdict="makes it worse"), Fix("guess", change, tentative=True)
    sound, tried = Fix("sound", change), Fix("tried", change, tentative=True, verdict="verified")

    assert Finding("k", "m", fixes=(worse, guess)).fix is None
    assert Finding("k", "m", fixes=(worse, guess, sound)).fix == sound
    assert Finding("k", "m", fixes=(sound, tried)).fix == tried


def test_whether_a_change_was_tried_is_said_beside_it() -> None:
    """JSON has true, false or null for it, words are the verdict's or say how to try it."""
    fixes = [Fix("leave it out", (), verdict=one) for one in ("", "verified", "not verified", "makes it worse")]

    assert [fix.to_plain()["verified"] for fix in fixes] == [None, True, False, False]
    assert [fix.trial for fix in fixes] == ["not tried: run with --verify", *(fix.verdict for fix in fixes[1:])]


def test_changes_of_one_line_are_not_put_together() -> None:
    """Two fixes of one line, or that add lines at one place, cannot both be in a patch; others can."""
    first = Fix("a", (Change("a.py", 3, ("x",), ("y",)),))
    same = Fix("b", (Change("a.py", 2, ("w", "x"), ("z",)),))
    added = Fix("c", (Change("a.py", 5, (), ("new",)),))
    there = Fix("d", (Change("a.py", 5, (), ("other",)),))
    elsewhere = Fix("e", (Change("b.py", 3, ("x",), ("y",)),))

    assert compatible([first, same, added, there, elsewhere, first]) == [first, added, elsewhere]


def test_several_places_of_one_line_are_changed_at_once() -> None:
    """Nodes of one line and of a statement over several lines are replaced together, the rest stays as it is."""
    program = Program("a.py", ["x = f(é, b); y = g(", "    b,", ")", "z = b"])
    names = [one for one in ast.walk(program.tree or ast.Module()) if isinstance(one, ast.Name) and one.id == "b"]

    changes = program.all_replaced(dict.fromkeys(names, "other"))

    assert changed(program.lines, changes) == ["x = f(é, other); y = g(", "    other,", ")", "z = other"]


def test_change_of_other_text_is_refused() -> None:
    """A file that does not read as the change says is left as it is."""
    assert changed(["a", "b"], [Change("f.py", 2, ("c",), ("d",))]) is None
    assert changed(["a", "b"], [Change("f.py", 2, ("b",), ()), Change("f.py", 1, (), ("0",))]) == ["0", "a"]


def test_diff_is_what_git_applies(tmp_path: Path) -> None:
    """``git apply`` makes of the program what the fixes make of it."""
    git = shutil.which("git") or pytest.fail("git is not installed")
    lines = PROGRAM.splitlines()
    fixes = [
        Fix("", (Change("train.py", 7, (lines[6],), ("    loss = 0", "    pass")),)),
        Fix("", (Change("train.py", 2, (), ("first = 1",)), Change("train.py", 10, (lines[9],), ()))),
    ]
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    diff = unified_diff(fixes, lambda _file: lines, str)

    subprocess.run([git, "apply", "-"], input=diff, text=True, check=True, cwd=tmp_path)

    made = changed(lines, [change for fix in fixes for change in fix.changes])
    assert (tmp_path / "train.py").read_text(encoding="utf-8").splitlines() == made


def run(folder: Path, *words: str) -> Outcome:
    """Run ``retrograd diagnose`` in a folder."""
    return retrograd("diagnose", *words, cwd=folder, torch=True)


def test_verified_change_is_reported_and_written_as_a_patch(tmp_path: Path) -> None:
    """A bug in an imported module is mended on a copy: reported as verified, in the patch, the file as it was."""
    pytest.importorskip("torch")
    criterion = "def criterion(a, b):\n    return (a - b).pow(2).mean()\n"
    (tmp_path / "criterion.py").write_text(criterion, encoding="utf-8")
    main = PROGRAM.replace("import torch\n", "import torch\nfrom criterion import criterion\n", 1)
    main = main.replace("(model(x) - y).pow(2).mean()", "criterion(model(x), y)") + "print('ran')\n"
    (tmp_path / "train.py").write_text(main, encoding="utf-8")

    done = run(tmp_path, "--verify", "--patch", "fix.diff", "-f", "json", "-o", "found.json", "train.py")

    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["findings"]
    assert done.out == "ran\n"
    assert "ran again once" in done.err
    assert [(one["kind"], one["edit"]["verdict"], one["edit"]["verified"]) for one in found] == [
        ("broadcast", "verified", True)
    ]
    assert (tmp_path / "criterion.py").read_text(encoding="utf-8") == criterion
    assert "+    return (a.squeeze(-1) - b).pow(2).mean()\n" in (tmp_path / "fix.diff").read_text(encoding="utf-8")
    assert done.code == 1


def test_changes_of_a_program_that_fails_are_tried_and_reported(tmp_path: Path) -> None:
    """The exception that ends the program does not end the report: the change that lets it run is verified."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text("import torch\n\nx = torch.ones(3)\nx.sum().backward()\n", encoding="utf-8")

    done = run(tmp_path, "--verify", "train.py")

    assert "does not require grad" in done.err
    assert "(verified)" in done.err
    assert "x = torch.ones(3).requires_grad_()" in done.err
    assert done.code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--verify", "--twice", "train.py"), "--twice and --verify were given together"),
        (("--verify", "run.json"), "--verify runs a program, but a recording was given"),
        (("--verify", "-"), "can be read only once"),
        (("--patch", "missing/fix.diff", "train.py"), "missing"),
    ],
)
def test_what_cannot_be_tried_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """One sentence, exit code 2 or 3, and the program does not run."""
    (tmp_path / "train.py").write_text("print('ran')\n", encoding="utf-8")

    done = run(tmp_path, *words)

    assert said in done.err
    assert done.code in (2, 3)
    assert "ran" not in done.out


def test_evidence_and_what_was_dropped_are_explained(tmp_path: Path) -> None:
    """``--explain`` shows the shapes that speak for a broadcast."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")

    done = run(tmp_path, "--explain", "train.py")

    assert "evidence:" in done.err
    assert "shapes: [[32, 1], [32]]" in done.err
