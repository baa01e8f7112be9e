"""What the help says: each command in one whole sentence, the same options in the same words, formats that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from retrograd.cli.group import cli
from retrograd.inspect.render import renderers
from retrograd.inspect.render.reports import reports
from retrograd.inspect.training.exports import exports

CONTEXT = click.Context(cli)
COMMANDS = cli.list_commands(CONTEXT)


def with_option(name: str) -> list[str]:
    """The commands that have an option."""
    loaded = {command: cli.get_command(CONTEXT, command) for command in COMMANDS}
    return [name_ for name_, command in loaded.items() if command and name in [one.name for one in command.params]]


WRITING, DRAWING = with_option("output"), with_option("title")


def invoke(*arguments: str) -> Result:
    """Run `retrograd ARGUMENTS` in this process, on a terminal of 80 columns."""
    return CliRunner().invoke(cli, [*arguments], terminal_width=80)


def option_help(command: str, option: str) -> str:
    """What the help of a command says of an option, in one line."""
    told = re.search(rf"  -\w, {option} (.*?)\n  -", invoke(command, "--help").output, re.DOTALL)
    assert told is not None
    return re.sub(r"(?<=[a-z])-\s+(?=[a-z])", "-", " ".join(told[1].split()))  # lines may break at hyphens


def test_every_command_is_listed_with_a_whole_sentence() -> None:
    """The list of commands is cut off nowhere."""
    listed = invoke("--help").output.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()

    assert [line.split()[0] for line in listed] == COMMANDS
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []


def test_commands_write_and_draw() -> None:
    """All that is told below of commands that write is told of each command that there is so far."""
    assert {"diagnose", "diff", "ops", "render", "samples", "stats", "trace"} <= set(WRITING)
    assert {"diff", "render", "samples", "trace"} <= set(DRAWING)


@pytest.mark.parametrize("command", WRITING)
def test_outputs_are_explained_in_the_same_words(command: str) -> None:
    """-o and -f mean the same everywhere; the formats named are those that the command takes."""
    output, form = option_help(command, "--output"), option_help(command, "--format")

    assert output.startswith("FILE Write FILE")
    assert "- is standard output" in output
    assert "overriding FILE's suffix" in form
    if command in DRAWING:
        named = form.partition("suffix: ")[2].rstrip(".").split(", ")
        own = {"diff": ["text"], "render": list(exports())}
        assert named == [*own.get(command, []), *renderers()]
    else:
        own = {"diagnose": sorted(reports()), "stats": ["csv", "json", "text"], "watch": ["html", "json"]}
        forms = own.get(command, ["json", "text"])
        assert form.startswith(f"[{'|'.join(forms)}]")


@pytest.mark.parametrize("command", COMMANDS)
def test_lines_break_at_words(command: str) -> None:
    """No word of the help is broken in two at 80 columns, as long lists without spaces are."""
    text = invoke(command, "--help").output

    assert max(map(len, text.splitlines())) <= 80
    assert not [line for line in text.splitlines() if line.strip() in ("tions,repeats,chains,limits.", "tions")]


def test_formats_of_a_sample_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-f alone writes to standard output; it is not passed over in silence."""
    monkeypatch.chdir(tmp_path)
    drawn = invoke("samples", "diamond", "-f", "dot")

    assert drawn.exit_code == 0
    assert drawn.stdout.startswith("digraph")


def test_one_operator_and_none() -> None:
    """One is not called operators, and where there is none the table has no lonely head."""
    one, none = invoke("ops", "logcumsumexp"), invoke("ops", "nosuchthing")

    assert one.stdout.splitlines()[-1] == "1 operator"
    assert (none.exit_code, none.stdout) == (1, "")
    assert "'nosuchthing'" in none.stderr


def test_a_suffix_that_is_no_format() -> None:
    """The sentence speaks of the file's suffix, not of the file as if it were a format."""
    refused = invoke("samples", "diamond", "-o", "picture.svgg")

    assert refused.exit_code == 2
    assert "Unknown output format: the suffix of 'picture.svgg'. Did you mean 'svg'?" in refused.stderr


def test_the_list_of_commands_says_what_they_say() -> None:
    """What the list says of each command, read from its file, is what click makes of the command itself."""
    listed = invoke("--help").output

    for name in COMMANDS:
        command = cli.get_command(CONTEXT, name)
        assert command is not None
        assert command.get_short_help_str(80) in listed


LOADED_BY_THE_LIST = """
import sys
from retrograd.cli.group import cli
cli(["--help"], standalone_mode=False)
print([name for name in sys.modules if name.startswith(("numpy", "rich", "retrograd.cli.commands"))])
"""


def test_the_list_of_commands_loads_none() -> None:
    """Who asks which commands there are does not wait for NumPy, nor for what the commands need."""
    done = subprocess.run([sys.executable, "-c", LOADED_BY_THE_LIST], capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['retrograd.cli.commands']"
