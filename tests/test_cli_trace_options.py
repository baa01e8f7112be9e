"""The options of `trace`: which program is meant, where defaults come from, and what is refused before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from retrograd.cli.commands import trace
from retrograd.cli.commands.trace import command
from retrograd.cli.group import cli
from retrograd.cli.target import choose
from retrograd.errors import UsageError
from retrograd.inspect.layout import dot_program

SETTINGS = """
[tool.retrograd]
title = "shared"
layout = "dot"
max-nodes = 5
[tool.retrograd.trace]
title = "for trace"
output = "from_file.svg"
step = 2
quiet = true
[tool.retrograd.other]
nonsense = 1
"""


def parsed(*arguments: str) -> dict[str, Any]:
    """The values that `retrograd trace ARGUMENTS` would work with."""
    with command.make_context("trace", list(arguments), auto_envvar_prefix="RETROGRAD_TRACE") as context:
        return context.params


def test_defaults_without_any_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without settings the last step is drawn by our own layout, with no file."""
    monkeypatch.chdir(tmp_path)
    values = parsed("x.py")

    assert (values["step"], values["layout"], values["title"]) == ("last", "layered", "")
    assert (values["output"], values["fmt"], values["quiet"]) == ((), None, False)


def test_command_line_beats_environment_beats_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Precedence is command line, RETROGRAD_TRACE_*, [tool.retrograd.trace], [tool.retrograd]."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    values = parsed("x.py")
    assert (values["title"], values["layout"], values["step"]) == ("for trace", "dot", 2)
    assert (values["output"], values["quiet"]) == (("from_file.svg",), True)

    monkeypatch.setenv("RETROGRAD_TRACE_TITLE", "environment")
    monkeypatch.setenv("RETROGRAD_TRACE_OUTPUT", "a.svg:b.json")
    monkeypatch.setenv("RETROGRAD_TRACE_STEP", "all")
    values = parsed("x.py")
    assert (values["title"], values["output"], values["step"]) == ("environment", ("a.svg", "b.json"), "all")

    values = parsed("x.py", "--title", "typed", "-o", "c.dot", "--step", "-1")
    assert (values["title"], values["output"], values["step"]) == ("typed", ("c.dot",), -1)


def test_format_is_called_format_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is --format on the command line is `format` in a settings file and RETROGRAD_TRACE_FORMAT outside."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.retrograd.trace]\nformat = 'html'\n")
    assert parsed("x.py")["fmt"] == "html"

    monkeypatch.setenv("RETROGRAD_TRACE_FORMAT", "dot")
    assert parsed("x.py")["fmt"] == "dot"


def test_settings_never_name_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `code` or `module` shared by all commands means nothing: what runs stands on the command line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.retrograd]\ncode = 'raise SystemExit'\nmodule = 'antigravity'\n")
    values = parsed()

    assert (values["module"], values["code"]) == (None, None)


def test_words_after_a_module_are_its_arguments() -> None:
    """-m and -c before the first word name the program, also glued together and behind other options."""
    assert parsed("-q", "-o", "x.svg", "-m", "pkg", "here.py")["words"] == ("here.py",)
    assert parsed("-qcpass", "a", "-o", "x.svg")["words"] == ("a",)
    assert parsed("here.py", "--", "-m", "pkg")["words"] == ("here.py", "-m", "pkg")


def test_environment_never_names_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """RETROGRAD_TRACE_MODULE and RETROGRAD_TRACE_CODE mean nothing: what runs stands on the command line."""
    monkeypatch.setenv("RETROGRAD_TRACE_MODULE", "antigravity")
    monkeypatch.setenv("RETROGRAD_TRACE_CODE", "raise SystemExit")
    monkeypatch.setenv("RETROGRAD_TRACE_WORDS", "x.py")
    values = parsed()

    assert (values["module"], values["code"], values["words"]) == (None, None, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.retrograd", "not valid TOML"),
        ("[tool]\nretrograd = 3", "must be a table"),
        ("[tool.retrograd]\ntrace = 3", "must be a table"),
        ("[tool.retrograd.trace]\ntilte = 'x'", "unknown key 'tilte'"),
        ("[tool.retrograd]\ntitle = ['x']", "must be one value"),
        (
            "[tool.retrograd.trace]\nmodule = 'antigravity'",
            "unknown key 'module'. Keys: all-figures, check, children, color-by, digest, eager, expand",
        ),
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str) -> None:
    """A broken or misspelt table is a usage error that names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)

    with pytest.raises(UsageError, match=words):
        parsed("x.py")


def test_a_shared_setting_of_no_command_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt key for all commands is not passed over in silence; one that another command has is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.retrograd]\nlayot = 'dot'\n")
    refused = CliRunner().invoke(cli, ["stats", "x.json"])
    (tmp_path / "pyproject.toml").write_text("[tool.retrograd]\nlayout = 'dot'\nall-figures = true\n")
    passed = CliRunner().invoke(cli, ["stats", "x.json"])

    assert refused.exit_code == 2
    assert "unknown key 'layot'. Did you mean 'layout'?" in refused.stderr
    assert "Cannot read the recording 'x.json'" in passed.stderr


@pytest.mark.parametrize(
    ("words", "module", "code", "kind", "argv"),
    [
        (("x.py", "a"), None, None, "script", ["x.py", "a"]),
        (("-", "a"), None, None, "stdin", ["-", "a"]),
        (("a", "-o"), "pkg.mod", None, "module", ["-m", "a", "-o"]),
        ((), None, "pass", "code", ["-c"]),
        ((), None, "", "code", ["-c"]),
    ],
)
def test_which_program(
    words: tuple[str, ...], module: str | None, code: str | None, kind: str, argv: list[str]
) -> None:
    """The first word is the script unless -m or -c names the program; the rest is its argv."""
    target = choose(words, module=module, code=code)

    assert (target.kind, target.argv) == (kind, argv)


def test_two_programs_are_one_too_many() -> None:
    """-m together with -c is refused."""
    with pytest.raises(UsageError, match="-m and -c"):
        choose((), module="a", code="b")


REFUSED = {
    "no script": ((), 2, "No script was given"),
    "missing script": (("missing.py",), 2, "There is no script 'missing.py'"),
    "forgotten suffix": (("here",), 2, "Did you mean 'here.py'?"),
    "a module's name": (("json.tool",), 2, "-m json.tool"),
    "folder without main": (("empty",), 2, "has no __main__.py"),
    "dangling link": (("dangling.py",), 2, "There is no script 'dangling.py'"),
    "missing module": (("-m", "no_such_module.part"), 2, "There is no module 'no_such_module'"),
    "unknown option": (("here.py", "--epochs", "3"), 2, "SCRIPT -- --epochs"),
    "unknown short option": (("here.py", "-x"), 2, "go after '--'"),
    "a module after a script": (("here.py", "-m", "json"), 2, "'here.py' stands before -m or -c"),
    "code after a script": (("here.py", "-q", "-cpass", "--", "x"), 2, "here.py -- -m"),
    "unknown format": (("here.py", "-o", "x.docx"), 2, "'x.docx'"),
    "no suffix": (("here.py", "-o", "graph"), 2, "Unknown output format 'graph'"),
    "unknown format name": (("here.py", "-o", "-", "-f", "svgg"), 2, "Did you mean 'svg'?"),
    "format of nothing": (("here.py", "-f", "svg"), 2, "there is no -o"),
    "one format, two files": (("here.py", "-f", "svg", "-o", "a", "-o", "b"), 2, "more than once"),
    "no such folder": (("here.py", "-o", "nowhere/x.svg"), 3, "Could not write"),
    "a folder as file": (("here.py", "-o", "empty", "-f", "svg"), 3, "Could not write"),
    "a folder as file, no suffix": (("here.py", "-o", "empty"), 3, "Is a directory"),
    "the script as output": (("here.py", "-o", "here.py", "-f", "svg"), 2, "is the program itself"),
    "the script by another name": (("here.py", "-o", "same.svg"), 2, "is the program itself"),
    "a step that is none": (("here.py", "--step", "first"), 2, "'first' is not"),
    "times at a level without them": (("here.py", "-o", "x.trace.json"), 2, "--level backward"),
    "colours at a level without them": (("here.py", "--color-by", "grad-norm"), 2, "no measure 'grad-norm'"),
    "colours that are none": (("here.py", "--color-by", "tmie"), 2, "time, grad-norm"),
    "a notebook": (("notes.ipynb",), 2, "is a notebook"),
    "a layout that is none": (("here.py", "--layout", "round"), 2, "round"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script and things that are none."""
    root = tmp_path_factory.mktemp("refused")
    (root / "here.py").write_text("")
    (root / "notes.ipynb").write_text("{}")
    (root / "empty").mkdir()
    (root / "dangling.py").symlink_to("nowhere.py")
    (root / "same.svg").symlink_to("here.py")
    return root


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_the_program_runs(place: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be known to fail is one sentence on stderr and an exit code, and the program has not run."""
    arguments, code, words = REFUSED[name]
    monkeypatch.chdir(place)
    monkeypatch.setattr(trace, "RecordedRun", lambda target, *_: pytest.fail(f"{target.label} was run"))
    outcome = CliRunner().invoke(cli, ["trace", *arguments])

    assert outcome.exit_code == code, outcome.output
    assert outcome.stdout == ""
    assert words in " ".join(outcome.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        (["x.png", "--layout", "dot"], "Or write an .svg"),
        (["x.pdf", "--layout", "dot"], "Or write an .svg"),
        (["x.svg", "--layout", "dot"], "Or use --layout"),
    ],
)
def test_no_graphviz_is_said_before_the_program_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], instead: str
) -> None:
    """A long run is not lost for want of Graphviz."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(dot_program, "_command", lambda fmt: [])
    monkeypatch.setattr(trace, "RecordedRun", lambda target, *_: pytest.fail(f"{target.label} was run"))
    outcome = CliRunner().invoke(cli, ["trace", "here.py", "-o", *arguments])

    assert outcome.exit_code == 3, outcome.output
    assert "there is no 'dot' on PATH" in outcome.stderr
    assert instead in outcome.stderr


def test_a_layout_of_settings_is_no_matter_for_a_recording(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What draws nothing needs no Graphviz, whatever layout the settings name."""
    ran = []
    monkeypatch.chdir(place)
    monkeypatch.setattr(dot_program, "_command", lambda fmt: [])
    monkeypatch.setattr(trace, "RecordedRun", lambda target, *_: ran.append(target.label))
    outcome = CliRunner().invoke(cli, ["trace", "here.py", "-o", "run.json", "--layout", "dot"])

    assert (outcome.exit_code, ran) == (0, ["here.py"])


def test_a_misspelt_command_gets_a_suggestion() -> None:
    """A command that is none is refused, with the one that was probably meant if there is one."""
    wrong, other = (CliRunner().invoke(cli, [word, "x.py"]) for word in ("daignose", "xyzzy"))

    assert "Did you mean 'diagnose'?" in wrong.output
    assert (wrong.exit_code, other.exit_code) == (2, 2)
    assert "Did you mean" not in other.output
