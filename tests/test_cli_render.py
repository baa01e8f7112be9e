"""``retrograd render`` and the command group: formats, steps, exit codes, one-line errors, and what is imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
import side_by_side
from click.testing import CliRunner, Result
from recording_samples import chain, diamond, hostile, recording
from side_by_side import Outcome

from retrograd.cli.group import cli
from retrograd.errors import LayoutError, OutputError
from retrograd.inspect.output import save
from retrograd.inspect.recording.loading import load_recording
from retrograd.inspect.render import renderers


@pytest.fixture
def run_json(tmp_path: Path) -> Path:
    """A saved recording of two graphs, the last of them hostile; its nodes have times."""
    path = tmp_path / "run.json"
    last = hostile()
    last.measures = {"time_us": [1.0] * len(last)}
    save(recording(diamond(), last), str(path))
    return path


def retrograd(*arguments: object, **asked: object) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="retrograd", **asked)  # type: ignore[arg-type]


def process(*arguments: object, stdin: bytes = b"") -> Outcome:
    """Run the command as a process."""
    return side_by_side.retrograd(*map(str, arguments), cwd=Path(), stdin=stdin)


BY_TYPST = ("png", "pdf")
NO_TYPST = pytest.mark.skipif(find_spec("typst") is None, reason="typst is not installed")


def test_several_outputs(run_json: Path, tmp_path: Path) -> None:
    """Each file that is named is written; one format for several is refused before any is."""
    outputs = [tmp_path / name for name in ("a.svg", "b.dot", "c.html")]
    named = [argument for path in outputs for argument in ("-o", path)]
    refused = retrograd("render", run_json, *named, "-f", "svg")

    assert (refused.exit_code, [path.exists() for path in outputs]) == (2, [False] * 3)
    assert retrograd("render", run_json, *named).exit_code == 0
    assert all(path.stat().st_size for path in outputs)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=NO_TYPST if name in BY_TYPST else ()) for name in sorted(renderers())]
)
def test_every_format(name: str, run_json: Path, tmp_path: Path) -> None:
    """Every renderer there is writes the recording by its suffix, and by its name to standard output."""
    suffix = renderers()[name].suffixes[0]
    written = tmp_path / f"out{suffix}"
    by_suffix = retrograd("render", run_json, "-o", written)
    by_name = retrograd("render", run_json, "-f", name)

    assert (by_suffix.exit_code, by_suffix.stderr, by_suffix.stdout) == (0, "", "")
    assert (by_name.exit_code, by_name.stderr) == (0, "")
    assert by_name.stdout_bytes == written.read_bytes()


def test_without_output_it_prints_the_tree(run_json: Path) -> None:
    """The shortest command shows the last graph on standard output."""
    done = retrograd("render", run_json)

    assert done.exit_code == 0
    assert f"{len(hostile())} nodes" in done.stdout
    assert "[red]bold[/red]" in done.stdout


def test_steps(run_json: Path) -> None:
    """``--step`` takes last, all, a number, and a number from the end."""
    drawn = {step: retrograd("render", run_json, "--step", step).stdout for step in ("last", "all", "0", "1", "-2")}

    assert "Op0Backward0" in drawn["0"]
    assert drawn["0"] == drawn["-2"]
    assert drawn["1"] == drawn["last"]
    assert drawn["all"] == drawn["0"] + drawn["1"]


def test_options_reach_the_renderer(run_json: Path) -> None:
    """Cap, title and measure of the command line are in the result."""
    done = retrograd("render", run_json, "-f", "dot", "--max-nodes", 2, "--title", "Mine", "--color-by", "saved_bytes")

    assert done.stdout.count("[label=") == 2 + 1
    assert "Mine · " in done.stdout
    assert "colour: saved_bytes" in done.stdout


def test_options_from_the_environment(run_json: Path) -> None:
    """``RETROGRAD_RENDER_…`` sets an option, the command line wins over it, and RETROGRAD_VERSION means nothing."""
    env = {"RETROGRAD_RENDER_FMT": "dot", "RETROGRAD_RENDER_FORMAT": "dot", "RETROGRAD_VERSION": "1"}

    assert retrograd("render", run_json, env=env).stdout.startswith("digraph")
    assert retrograd("render", run_json, "-f", "mermaid", env=env).stdout.startswith("flowchart")


def test_from_standard_input(run_json: Path) -> None:
    """``-`` reads the recording from standard input."""
    done = process("render", "-", "-o", "-", "-f", "dot", stdin=run_json.read_bytes())

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("digraph")


def bad_calls(tmp_path: Path) -> dict[str, tuple[list[object], int, str]]:
    """Name to arguments, exit code and a piece of the message."""
    run = tmp_path / "run.json"
    (tmp_path / "other.json").write_text('{"schema": 99}')
    (tmp_path / "cut.json").write_bytes(run.read_bytes()[:3000])
    (tmp_path / "text.json").write_text("hello")
    save(recording(), str(tmp_path / "none.json"))
    return {
        "no argument": ([], 2, "Missing argument"),
        "unknown option": ([run, "--nope"], 2, "No such option"),
        "missing": ([tmp_path / "nope.json"], 2, "No such file"),
        "folder": ([tmp_path], 2, "Name the recording file inside that folder"),
        "schema": ([tmp_path / "other.json"], 2, "has schema 99, this retrograd reads 1"),
        "cut": ([tmp_path / "cut.json"], 2, "is cut off"),
        "no json": ([tmp_path / "text.json"], 2, "is not valid JSON"),
        "no graph": ([tmp_path / "none.json"], 2, "holds no backward graph"),
        "suffix": ([run, "-o", tmp_path / "x.sgv"], 2, "Did you mean"),
        "no suffix": ([run, "-o", tmp_path / "x"], 2, "Available"),
        "format": ([run, "-f", "sgv"], 2, "Available"),
        "no folder": ([run, "-o", tmp_path / "nope" / "x.dot"], 3, "Make the folder"),
        "output is folder": ([run, "-o", tmp_path], 3, "Name a file in that folder"),
        "step": ([run, "--step", 7], 2, "from 0 to 1"),
        "step word": ([run, "--step", "first"], 2, "'last', 'all'"),
        "layout": ([run, "--layout", "neat"], 2, "is not one of"),
        "measure": ([run, "--color-by", "speed"], 2, "'speed'"),
        "cap": ([run, "--max-nodes", 0], 2, "range"),
    }


@pytest.mark.parametrize(
    "name",
    ["no argument", "unknown option", "missing", "folder", "schema", "cut", "no json", "no graph", "suffix"]
    + ["no suffix", "format", "no folder", "output is folder", "step", "step word", "layout", "measure", "cap"],
)
def test_bad_calls(name: str, run_json: Path, tmp_path: Path) -> None:
    """Every mistake ends with its exit code, one sentence on stderr, nothing on stdout and no file."""
    arguments, code, said = bad_calls(tmp_path)[name]
    before = sorted(tmp_path.rglob("*"))
    done = retrograd("render", *arguments)

    assert done.exit_code == code
    assert said in done.stderr
    assert done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before
    if not done.stderr.startswith("Usage:"):
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("retrograd: error: ")


def test_errors_are_said_before_a_long_file_is_read(tmp_path: Path) -> None:
    """A wrong format or place is found although the recording does not even exist."""
    assert "Available" in retrograd("render", tmp_path / "nope.json", "-o", tmp_path / "x.sgv").stderr
    assert "Make the folder" in retrograd("render", tmp_path / "nope.json", "-o", tmp_path / "nope" / "x.svg").stderr


@pytest.mark.parametrize(
    "words",
    ["render {} -o {}", "stats {} -o {}", "diagnose {} -o {}", "diff {} {} -o {}", "diagnose --twice {} -f json -o {}"],
)
def test_what_is_read_is_not_overwritten(words: str, run_json: Path) -> None:
    """A result that would replace the recording, or the program, which made it: refused, and the file stays."""
    read = run_json
    if "--twice" in words:
        read = run_json.with_suffix(".py")
        read.write_text("print(1)")
    link = read.with_name("same" + read.suffix)
    link.symlink_to(read)
    before = read.read_bytes()
    for output in (read, link):
        done = retrograd(*words.format(*[read] * (words.count("{}") - 1), output).split())
        assert done.exit_code == 2, done.output
        assert "itself. Name another file after -o." in done.stderr
        assert read.read_bytes() == before


def test_hostile_file_names_stay_on_their_line(tmp_path: Path) -> None:
    """A file name with line breaks and escape sequences cannot forge a message."""
    done = retrograd("render", tmp_path / "a\nretrograd: error: \x1b[31mforged")

    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_layout_dot_without_graphviz(run_json: Path, tmp_path: Path) -> None:
    """``--layout dot`` without Graphviz is an error with the way out, and no file is left."""
    if "svg" not in renderers():
        pytest.skip("no svg renderer yet")
    path = tmp_path / "x.svg"
    done = retrograd("render", run_json, "-o", path, "--layout", "dot", env={"PATH": str(tmp_path)})

    assert done.exit_code == LayoutError.exit_code
    assert "--layout layered" in done.stderr
    assert not path.exists()


def test_as_a_process(run_json: Path, tmp_path: Path) -> None:
    """The real process writes the file, keeps quiet, and ends with the right codes."""
    good = process("render", run_json, "-o", tmp_path / "x.dot")
    bad = process("render", tmp_path / "nope.json")

    assert (good.code, good.out, good.err) == (0, "", "")
    assert (tmp_path / "x.dot").read_text(encoding="utf-8").startswith("digraph")
    assert (bad.code, bad.out) == (2, "")
    assert bad.err.count("\n") == 1


def test_a_reader_that_leaves(run_json: Path) -> None:
    """``retrograd render … | head`` ends quietly."""
    path = run_json.with_name("long.json")
    save(recording(chain(20_000)), str(path))
    shell = f"'{sys.executable}' -m retrograd render '{path}' -f dot | head -n 1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, timeout=300, check=False)

    assert (done.stdout, done.stderr) == ("digraph {\n", "")


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="this system has no SIGPIPE")
@pytest.mark.parametrize("command", ["diff", "diagnose"])
def test_a_reader_that_leaves_is_no_difference_and_no_finding(run_json: Path, command: str) -> None:
    """Where nobody reads what was found, the command dies of SIGPIPE as others do: exit code 1 says something else."""
    full = load_recording(str(run_json))
    full.level = "full"
    save(full, str(run_json))
    words = {"diff": [str(run_json), str(run_json)], "diagnose": [str(run_json), "-o", "-", "-f", "json"]}[command]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        whole = [sys.executable, "-m", "retrograd", command, *words]
        done = subprocess.run(whole, stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=300, check=False)

    said = [line for line in done.stderr.splitlines() if "was recorded at level" not in line]
    assert (done.returncode, said) == (-signal.SIGPIPE, [])


def test_a_full_standard_output(run_json: Path) -> None:
    """A standard output that takes nothing is exit code 3 and one sentence."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    for arguments in (["render", str(run_json)], ["samples"], ["samples", "diamond"], ["-h"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            command = [sys.executable, "-m", "retrograd", *arguments]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        assert "No space left" in done.stderr
        assert done.stderr.count("\n") == 1
        assert done.returncode == 3


def test_no_standard_output(run_json: Path) -> None:
    """Where standard output was closed before the start, text goes nowhere, as that of ``print``: no traceback."""
    for arguments, code in (
        (f"render '{run_json}'", 0),
        (f"stats '{run_json}'", 0),
        ("samples", OutputError.exit_code),
    ):
        shell = f"'{sys.executable}' -m retrograd {arguments} >&-"
        done = subprocess.run(shell, shell=True, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


PROBE = """
import ast, sys
from retrograd.cli.main import main
for line in sys.stdin:
    before = set(sys.modules)
    sys.argv = ["retrograd", *ast.literal_eval(line)]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    print("loaded", *sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
HEAVY = {"networkx", "rich", "graphviz", "torch", "ssl"}


def test_nothing_heavy_is_loaded_for_nothing(run_json: Path, tmp_path: Path) -> None:
    """``--version`` loads nothing heavy; a recording is drawn without torch; graphviz and rich come with their formats.

    The commands follow each other in one process: each adds what it needs to what those before it loaded.
    """
    files = [str(tmp_path / name) for name in ("x.mmd", "x.dot", "x.txt")]
    commands = [["--version"], *(["render", str(run_json), "-o", file] for file in files)]
    done = subprocess.run(
        [sys.executable, "-c", PROBE], input="\n".join(map(repr, commands)), capture_output=True, text=True, check=True
    )
    loaded = [HEAVY.intersection(line.split()) for line in done.stdout.splitlines() if line.startswith("loaded")]

    assert loaded == [set(), set(), {"graphviz"}, {"rich"}]


def test_commands_are_found_by_listing_the_folder() -> None:
    """Every module of ``cli/commands`` is a command, with a line of help."""
    import retrograd.cli.commands as folder

    files = {path.stem for path in Path(folder.__path__[0]).glob("[a-z]*.py")}
    names = cli.list_commands(click.Context(cli))

    assert {name.replace("-", "_") for name in names} == {name.rstrip("_") for name in files}
    assert "render" in names
    for name in names:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.get_short_help_str()


def test_group() -> None:
    """``-h`` and ``--version`` work, an unknown command is a usage error, nothing at all shows the help."""
    assert "render" in retrograd("-h").stdout
    assert retrograd("-h").stdout == retrograd("--help").stdout
    assert retrograd("--version").stdout.startswith("retrograd ")
    assert retrograd("nope").exit_code == 2
    assert retrograd().exit_code == 2
    assert "-o" in retrograd("render", "-h").stdout


def test_json_again(run_json: Path, tmp_path: Path) -> None:
    """Rendering to JSON gives an equal recording with all its graphs."""
    retrograd("render", run_json, "-o", tmp_path / "again.json")

    assert load_recording(str(tmp_path / "again.json")) == load_recording(str(run_json))
