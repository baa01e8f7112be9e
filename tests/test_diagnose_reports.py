"""Findings as JSON, SARIF, workflow commands and panels; the command that tells them."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bug_programs import record
from side_by_side import Outcome as Ended
from side_by_side import retrograd

from retrograd.inspect.diagnosis import all_checks, diagnose, kinds
from retrograd.inspect.findings import Finding
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.render.reports import Outcome, report_for, reports
from retrograd.inspect.render.reports.panels import caret

HOSTILE = 'w["</script>"] [red]\x1b[2J%0A::error::\n"'
ROOT = Path(__file__).resolve().parent.parent


def leaf_written(file: str = "train.py", text: str = "w -= 1") -> Recording:
    """The recording of a program that ended by a write into a leaf."""
    message = "a leaf Variable that requires grad is being used in an in-place operation."
    source = SourceLine(file, 3, "<module>")
    event = Event("error", source=source, data={"type": "RuntimeError", "message": message})
    return Recording(script=file, events=[event], sources={file: {3: text}})


def outcome(recording: Recording, findings: list[Finding] | None = None) -> Outcome:
    """What the reports are given."""
    meanings = {kind: told.meaning for kind, told in kinds().items()}
    return Outcome(recording, diagnose(recording) if findings is None else findings, 0.5, meanings)


def hostile_outcome() -> Outcome:
    """One finding whose every text is hostile."""
    finding = Finding(
        "leaf-inplace", HOSTILE, HOSTILE, file=f"/tmp/{HOSTILE}.py", line=3, evidence={"value": float("nan")}
    )
    recording = Recording(script=HOSTILE, sources={finding.file: {3: HOSTILE}})
    return outcome(recording, [finding])


def test_every_check_names_its_kinds_once() -> None:
    """No kind belongs to two families, and every kind says what it means."""
    listed = [kind for check in all_checks().values() for kind in check.kinds]

    assert len(listed) == len(set(listed))
    assert all(kind.meaning for kind in kinds().values())


def test_json_contract() -> None:
    """The JSON form has the agreed keys, also for hostile texts and numbers that JSON cannot say."""
    for told in (outcome(leaf_written()), hostile_outcome()):
        plain = json.loads(reports()["json"].write(told), parse_constant=pytest.fail)

        assert plain["schema"] == 1
        assert {"script", "seconds", "findings"} <= set(plain)
        assert {"kind", "severity", "message", "remedy", "file", "line", "op", "nodes"} <= set(plain["findings"][0])
        assert plain["findings"][0]["line"] == 3


def test_sarif_is_shaped_as_the_standard_says() -> None:
    """Required properties of SARIF 2.1.0: version, runs, driver, results with a message and a valid level."""
    for told in (outcome(leaf_written()), hostile_outcome()):
        log = json.loads(reports()["sarif"].write(told))
        (run,) = log["runs"]
        rules = run["tool"]["driver"]["rules"]

        assert log["version"] == "2.1.0"
        for result in run["results"]:
            assert result["level"] in {"error", "warning", "note", "none"}
            assert result["message"]["text"]
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            place = result["locations"][0]["physicalLocation"]
            assert place["region"]["startLine"] == 3
            assert not set(place["artifactLocation"]["uri"]) & set(' "<>\n\x1b')


def test_workflow_commands_stay_on_their_line() -> None:
    """A hostile message makes no second command: line breaks, colons and commas are escaped."""
    text = reports()["github"].write(hostile_outcome())

    assert text.count("\n") == 1
    assert text.startswith("::error file=")
    assert text.split("::")[1].count(",") == 2
    assert text.rstrip("\n").isprintable()


@pytest.mark.parametrize(("name", "uri"), [("\udcff.py", "%FF.py"), ("\ud800.py", "%ED%A0%80.py")])
def test_files_whose_names_are_no_text(name: str, uri: str) -> None:
    """A name of bytes that are no UTF-8 is the URI of these bytes, and in no form an error."""
    told = outcome(leaf_written(name, "w -= 1  # \udcff"))
    written = {form: report.write(told) for form, report in reports().items()}

    (place,) = json.loads(written["sarif"])["runs"][0]["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"].endswith(uri)
    assert json.loads(written["json"])["findings"][0]["file"].endswith(name)


def test_panels_show_the_line_and_carets() -> None:
    """The panel quotes the user's line, points at it, and lets no control character or markup through."""
    text = reports()["text"].write(outcome(leaf_written()))
    hostile = reports()["text"].write(hostile_outcome())

    assert "3 | w -= 1" in text
    assert "^^^^^^" in text
    assert "with torch.no_grad(): w -= 1" in text
    assert "\x1b" not in hostile
    assert "[red]" in hostile


def test_carets_point_at_the_operator() -> None:
    """Carets stand below the call of the operator, or below the whole line."""
    line = "y = torch.log(v) + torch.exp(v)"
    start, length = caret(line, "log")

    assert line[start : start + length] == "torch.log(v)"
    assert caret("x += 1", "add_") == (0, 6)
    assert caret("ünï = torch.exp(", "exp") == (0, 16)


def test_suffix_says_the_form() -> None:
    """A suffix chooses the form; text is for all others."""
    names = [report_for(path).name for path in ("a.json", "a.sarif", "b.SARIF.json", "a.txt", "")]

    assert names == ["json", "sarif", "sarif", "text", "text"]


def run(*arguments: str, cwd: Path) -> Ended:
    """Run the command."""
    return retrograd("diagnose", *arguments, cwd=cwd, engine=True)


PROGRAM = """\
import retrograd as torch
import sys
print("out", sys.argv[1:])
w = torch.ones(3, requires_grad=True)
w -= 1
"""


def test_command_tells_of_a_program_that_raises(tmp_path: Path) -> None:
    """stdout and the traceback are the program's own; the finding follows on stderr; the exit code is 1."""
    (tmp_path / "bad.py").write_text(PROGRAM)
    alone = subprocess.run(
        [sys.executable, "bad.py", "--x"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    watched = run("bad.py", "--", "--x", cwd=tmp_path)

    assert watched.code == 1
    assert watched.out == alone.stdout
    # Inside the engine another line runs while somebody watches; the program's own lines and the message are the same.
    assert watched.err.startswith("".join(alone.stderr.splitlines(keepends=True)[:3]))
    assert alone.stderr.splitlines()[-1] in watched.err
    assert "leaf-inplace" in watched.err


@pytest.mark.parametrize("command", ["diagnose", "stats"])
@pytest.mark.parametrize("closed", ["by the shell", "by the program"])
def test_what_cannot_go_to_stderr_does_not_go_to_stdout(command: str, closed: str, tmp_path: Path) -> None:
    """That is the program's alone; the exit code still tells of findings."""
    itself = "sys.stderr.close()" if closed == "by the program" else ""
    lines = ["import sys", "import retrograd as torch", "w = torch.zeros(1, requires_grad=True)"]
    lines += ["w.sqrt().sum().backward()", "print('out')", itself]
    (tmp_path / "bad.py").write_text("\n".join(lines))
    again = f"[sys.executable, '-m', 'retrograd', '{command}', 'bad.py']"
    code = f"import os, sys; os.close(2); os.execv(sys.executable, {again})"
    started = ["-c", code] if closed == "by the shell" else ["-m", "retrograd", command, "bad.py"]
    ended = subprocess.run(
        [sys.executable, *started], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    assert (ended.stdout, ended.stderr) == ("out\n", "")
    assert ended.returncode == (1 if command == "diagnose" else 0)


def test_command_writes_whole_files(tmp_path: Path) -> None:
    """-o writes the contract and nothing on stderr; an unwritable place is refused before the program runs."""
    (tmp_path / "bad.py").write_text(PROGRAM)
    run("bad.py", "-f", "json", "-o", "f.json", cwd=tmp_path)
    found: dict[str, Any] = json.loads((tmp_path / "f.json").read_text())
    refused = run("bad.py", "-o", "missing/f.json", cwd=tmp_path)

    assert [(item["kind"], item["line"]) for item in found["findings"]] == [("leaf-inplace", 5)]
    assert found["script"] == "bad.py"
    assert refused.code == 3
    assert refused.out == ""


def test_exit_codes(tmp_path: Path) -> None:
    """A healthy program keeps its exit code; its own code wins over ours."""
    (tmp_path / "good.py").write_text("import retrograd as torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    good = run("good.py", cwd=tmp_path)

    assert good.code == 0
    assert good.err == "retrograd: no findings\n"
    assert run("leaves.py", cwd=tmp_path).code == 7


def test_a_recording_that_holds_too_little_is_said_to(tmp_path: Path) -> None:
    """Silence about a recording without calls is no health: of structure alone it is an error, with what to run."""
    (tmp_path / "good.py").write_text("import retrograd as torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")
    said = {}
    for level in ("graph", "backward", "full"):
        retrograd("trace", "-q", "--level", level, "-o", f"{level}.json", "good.py", cwd=tmp_path, engine=True)
        said[level] = run(f"{level}.json", "-f", "github", cwd=tmp_path)

    assert [said[level].code for level in said] == [2, 0, 0]
    for level in ("graph", "backward"):
        assert f"level '{level}'" in said[level].err
        assert f"retrograd trace --level full -o {level}.json good.py" in said[level].err
    assert (said["full"].err, said["full"].out, said["backward"].out, said["graph"].out) == ("", "", "", "")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("print(1)", "no backward pass was seen here, and no call on a tensor either"),
        (
            "import retrograd as torch\nprint(torch.ones(2) + 1)",
            "no backward pass was seen here, only 2 calls on tensors",
        ),
    ],
)
def test_a_program_whose_training_nobody_saw_is_not_praised(tmp_path: Path, text: str, seen: str) -> None:
    """Where no backward pass ran the report says what was seen, in every form, and not that there are no findings."""
    (tmp_path / "program.py").write_text(text)
    ended = run("program.py", cwd=tmp_path)
    forms = {form: run("program.py", "-f", form, "-o", "-", cwd=tmp_path) for form in ("json", "github", "sarif")}

    assert (ended.code, ended.err) == (0, f"retrograd: nothing to diagnose: {seen}\n")
    assert json.loads(forms["json"].out[forms["json"].out.index("{") :])["unseen"] == [f"nothing to diagnose: {seen}"]
    assert all(seen in forms[form].out for form in ("github", "sarif"))


def test_table_of_kinds_is_current() -> None:
    """docs/diagnosis.md lists the kinds as the checks tell them."""
    maker = runpy.run_path(str(ROOT / "docs" / "make_diagnosis.py"))
    text = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")

    assert maker["page"](text) == text


def test_recordings_without_tensors_are_no_trouble() -> None:
    """An empty recording, and one of level graph with a run, give no finding and no exception."""
    run = [Event("backward", data={"run": 0}), Event("backward-end", data={"run": 0})]

    assert diagnose(Recording()) == []
    assert diagnose(Recording(events=run)) == []


def test_the_programs_own_optimizer_is_named(tmp_path: Path) -> None:
    """What to write instead of nothing runs when it is pasted, and several gradients are not called one."""
    text = (
        "import torch\nnet = torch.nn.Linear(2, 1)\nmy_sgd = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for _ in range(3):\n    net(torch.ones(4, 2)).pow(2).mean().backward()\n    my_sgd.step()\n"
    )
    found = diagnose(record(text, tmp_path, engine="retrograd"))

    assert [finding.kind for finding in found] == ["missing-zero-grad"]
    assert found[0].remedy == "my_sgd.zero_grad() in every step"
    assert "accumulated into them" in found[0].message


@pytest.mark.parametrize(
    ("values", "said"), [("-2.0, -2.0", "(its input is -2)"), ("-2.0, 1.0", "(its input is between -2 and 1)")]
)
def test_one_value_is_no_range(tmp_path: Path, values: str, said: str) -> None:
    """An input of one value is not said to be between it and itself."""
    text = f"import torch\nx = torch.tensor([{values}], requires_grad=True)\nx.log().sum().backward()\n"

    assert said in diagnose(record(text, tmp_path, engine="retrograd"))[0].message
