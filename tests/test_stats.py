"""Statistics of graphs: what they count, how they are shown, and that they can be read back."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from recording_samples import HOSTILE, chain, diamond, graph, hostile, recording
from rich.console import Console
from side_by_side import retrograd

from retrograd.cli.group import cli
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.output import save
from retrograd.inspect.recording.stats import statistics
from retrograd.inspect.render import RenderOptions
from retrograd.inspect.render.stats_tables import bar, chosen_statistics, stats_parts, stats_text


def measured() -> Graph:
    """A loss over three parameters, with times and gradients, one of them not finite."""
    made = graph([(0, 1), (0, 2), (1, 3), (2, 4)], leaves=(2, 3, 4))
    made.saved_bytes = [0, 4000, None, None, None]
    made.measures = {
        "time_us": [10.0, 30.0, None, 60.0, 0.0],
        "grad_norm": [None, 9.0, 2.0, 8.0, math.nan],
        "zero_share": [None, None, 0.25, 0.0, 1.0],
        "nan_count": [None, None, 0, 0, 3],
    }
    return made


def command(*arguments: object) -> Result:
    """Run `retrograd stats` in this process."""
    return CliRunner().invoke(cli, ["stats", *map(str, arguments)], prog_name="retrograd")


def test_orders_nodes_and_parameters() -> None:
    """Slowest and largest come first; gradients that are not finite come before the largest norm."""
    found = statistics(measured())

    assert [(row.node, row.value) for row in found.slowest] == [("n3", 60.0), ("n1", 30.0), ("n0", 10.0)]
    assert math.isclose(sum(row.share for row in found.slowest), 1.0)
    assert [(row.node, row.value) for row in found.largest] == [("n1", 4000)]
    assert [row.name for row in found.gradients] == ["w4", "w3", "w2"]
    assert (found.time_us, found.saved_bytes, found.leaves) == (100.0, 4000, 3)
    assert found.missing == []


def test_nodes_are_called_as_the_program_calls_them() -> None:
    """The tables say what was called, not the name of its backward node, which the JSON has as well."""
    made = measured()
    made.op, made.call = ["NllLossBackward0", "AddmmBackward0", *made.op[2:]], ["cross_entropy", "Linear", "", "", ""]
    made.seq = [2, 1, None, None, None]
    (one,) = found = chosen_statistics(recording(made), RenderOptions())
    text = stats_text(found)

    assert "Linear" in text
    assert "cross_entropy" in text
    assert "Addmm" not in text
    assert one.to_plain()["largest"][0]["op"] == "AddmmBackward0"


def test_rows_are_limited_and_the_rest_is_counted() -> None:
    """A long graph gives short tables that agree with a full sort."""
    made = chain(5000)
    made.measures = {"time_us": [float((7919 * node) % 5003) for node in range(5000)]}
    found = statistics(made, rows=3)

    assert [row.value for row in found.slowest] == sorted(made.measures["time_us"], reverse=True)[:3]
    assert len(statistics(made, rows=None).slowest) > 4990


def test_says_which_level_records_what_is_missing() -> None:
    """A recording without measures says how to get them, in one sentence."""
    (sentence,) = statistics(chain(3)).missing

    assert sentence.startswith("Times of nodes and gradients were not recorded")
    assert "--level backward" in sentence
    assert statistics(Graph()).nodes == 0


def test_says_which_figures_were_not_taken() -> None:
    """Of a run in which only norms were taken it says so, and how to get the rest."""
    made = measured()
    for name in ("grad_min", "grad_max", "grad_mean", "zero_share"):
        made.measures[name] = [None] * len(made)
    (sentence,) = statistics(made).missing

    assert "were not recorded in this pass" in sentence
    assert "--all-figures" in sentence


def test_json_is_strict_and_complete(tmp_path: Path) -> None:
    """The JSON has a schema number, no NaN, and names what is not finite."""
    save(recording(measured()), str(path := tmp_path / "run.json"))
    done = command(path, "-f", "json")
    plain = json.loads(done.stdout, parse_constant=lambda word: pytest_fail(word))
    (one,) = plain["graphs"]

    assert (done.exit_code, done.stderr, plain["schema"]) == (0, "", 1)
    assert one["gradients"][0]["grad_norm"] is None
    assert one["gradients"][0]["nonfinite"] == {"grad_norm": "nan"}
    assert one["slowest"][0]["value"] == 60.0


def pytest_fail(word: str) -> None:
    """Refuse constants that are no JSON."""
    raise AssertionError(word)


def test_tables_show_names_as_they_are(tmp_path: Path) -> None:
    """Markup in names is not obeyed, control characters do not reach the terminal, no word is lost."""
    made = hostile()
    made.kind = ["leaf"] * len(made)
    made.measures = {"time_us": [1.0] * len(made), "grad_norm": [1.0] * len(made)}
    save(recording(made), str(path := tmp_path / "run.json"))
    done = command(path, "--rows", 100)

    assert done.exit_code == 0
    assert "[red]bold[/red]" in done.stdout
    assert ":smile:" in done.stdout
    assert "\x1b" not in done.stdout
    assert len(HOSTILE) == len(made)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_narrow_terminals_leave_columns_out_rather_than_cut_them(width: int) -> None:
    """However narrow the terminal, names and norms are whole; columns without an entry are not shown at all."""
    graph = measured()
    graph.name[2], graph.name[3] = "w", "encoder.layers.0." + "long" * 20
    graph.measures.update({name: [None, 0.0, -0.0123, 0.0456, 1.0] for name in ("grad_min", "grad_max", "grad_mean")})
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for part in stats_parts([statistics(graph)]):
        console.print(part)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    lines = shown[shown.index("Gradients by parameter") :].splitlines()

    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)
    assert {"nan", "8", "2"} <= set(" ".join(lines).split())
    assert "Inf" not in lines[2]
    assert ("mean" in lines[2]) == (width == 200)


def test_bars() -> None:
    """A bar is as long as its value, to an eighth of a character."""
    assert (bar(1.0, 1.0, 4), bar(0.5, 1.0, 4), bar(0.03125, 1.0, 4), bar(0.0, 1.0, 4)) == ("████", "██", "▏", "")
    assert (bar(None, 1.0), bar(math.nan, 1.0, 3), bar(5.0, 0.0)) == ("", "!!!", "")


def test_runs_a_script(tmp_path: Path) -> None:
    """A script runs as itself: its stdout and exit code are its own, the tables go to stderr or into the file."""
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, retrograd as rg\nx = rg.ones(3, requires_grad=True)\n(x * x).sum().backward()\n"
        "print('mine', sys.argv[1:])\nsys.exit(5)\n"
    )
    shown = retrograd("stats", "train.py", "--", "--rows", "7", cwd=tmp_path, engine=True, COLUMNS="150")
    written = retrograd("stats", "train.py", "-o", "s.json", cwd=tmp_path, engine=True)

    assert (shown.code, shown.out) == (5, "mine ['--rows', '7']\n")
    assert "Largest saved values" in shown.err
    assert "train.py:3" in shown.err
    assert (written.code, written.err) == (5, "")
    assert json.loads((tmp_path / "s.json").read_text())["graphs"][0]["operators"]["MulBackward0"] == 1


def test_usage_errors(tmp_path: Path) -> None:
    """What cannot be done is said in one sentence, before anything runs."""
    (script := tmp_path / "none.py").write_text("print(1)\n")
    save(recording(diamond()), str(path := tmp_path / "run.json"))

    assert command(path, "more").exit_code == 2
    assert "There is no step 9" in command(path, "--step", 9).stderr
    assert "there is no -o" in command(script, "-f", "json").stderr
    assert command(script, "-o", script).exit_code == 2
    assert command(path, "-o", tmp_path / "no" / "x.txt").exit_code == 3
    assert "No such file" in command(tmp_path / "gone.json").stderr


def test_times_are_medians_of_passes(tmp_path: Path) -> None:
    """A node that was slow in one pass of five is no slowest node; tables, picture and page say what times are."""
    made = recording(*(chain(4) for _ in range(5)))
    for number, snapshot in enumerate(made.graphs):
        snapshot.measures["time_us"] = [10.0, 500.0 if number == 4 else 1.0, 20.0 + number, None]
    found = made.stats()
    made.save(str(tmp_path / "a.svg"), color_by="time")
    made.save(str(tmp_path / "a.html"))

    assert [(row.node, row.value, row.spread) for row in found.slowest] == [
        ("n2", 22.0, (21.0, 23.0)), ("n0", 10.0, (10.0, 10.0)), ("n1", 1.0, (1.0, 1.0)),
    ]  # fmt: skip
    assert "median of 5 passes" in str(found)
    assert "times are medians of 5 passes" in (tmp_path / "a.svg").read_text()
    assert "times are medians of 5 passes" in (tmp_path / "a.html").read_text()
    assert recording(chain(4), chain(4)).stats().passes == 1
