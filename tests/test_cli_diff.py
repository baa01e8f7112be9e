"""``retrograd diff``: exit codes, the terminal, and every format it writes, read back by a parser of the format."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner, Result
from rank_samples import nodes_of, ranks
from recording_samples import chain, graph, hostile, recording

import retrograd as rg
from retrograd.cli.group import cli
from retrograd.inspect.output import save


def diff(*arguments: object) -> Result:
    """Run `retrograd diff` in this process."""
    return CliRunner().invoke(cli, ["diff", *map(str, arguments)], prog_name="retrograd")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two recordings of a graph with hostile words; the second has another operator and another shape."""
    before, after = hostile(), hostile()
    after.op[3], after.shape[5] = "New</script>Backward0", (2, 2)
    paths = tmp_path / "before.json", tmp_path / "after.json"
    for path, snapshot in zip(paths, (before, after), strict=True):
        save(recording(snapshot), str(path))
    return paths


def test_exit_codes(pair: tuple[Path, Path]) -> None:
    """0 when alike, 1 when they differ, 0 again if asked, 2 for what makes no sense."""
    before, after = pair

    assert diff(before, before).exit_code == 0
    assert diff(before, after).exit_code == 1
    assert diff(before, after, "--exit-zero").exit_code == 0
    assert diff(before).exit_code == 2
    assert diff(before, after.parent / "none.json").exit_code == 2
    assert diff(before, after, "-o", after.parent / "no" / "x.svg").exit_code == 3
    assert diff(before, after, "--step", 4).exit_code == 2
    assert diff(before, after, "-f", "nonsense").exit_code == 2


def test_terminal(pair: tuple[Path, Path]) -> None:
    """The differences are named with operators, shapes and lines; markup of the program is not obeyed."""
    shown = diff(*pair).stdout

    assert "1 other operator or operand · 1 other shape or dtype" in shown
    assert "shape 4 → 2×2" in shown
    assert "New</script>Backward0" in shown
    assert "\x1b" not in shown
    assert "No difference." in diff(pair[0], pair[0]).stdout


class _Reader(HTMLParser):
    """Collects the tags and the words of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_pictures_and_pages(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """SVG, GraphML, JSON and HTML hold the differences and are well formed."""
    for suffix in ("svg", "graphml", "json", "html"):
        assert diff(*pair, "-o", tmp_path / f"diff.{suffix}").exit_code == 1
    svg = ElementTree.parse(tmp_path / "diff.svg").getroot()
    classes = [one.get("class", "").split() for one in svg.iter() if "node" in one.get("class", "").split()]
    kinds = [node["kind"] for _, node in nx.read_graphml(tmp_path / "diff.graphml").nodes(data=True)]
    plain = json.loads((tmp_path / "diff.json").read_text(), parse_constant=pytest.fail)
    page = _Reader()
    page.feed((tmp_path / "diff.html").read_text())

    assert [names[1] for names in classes].count("operator") == [names[1] for names in classes].count("shape") == 1
    assert kinds.count("operator") == kinds.count("shape") == 1
    assert (plain["schema"], plain["differ"], plain["graphs"]["changed"]) == (1, True, 2)
    assert "script" not in page.tags
    assert page.tags.count("table") >= 2
    assert "after.json" in page.words


def test_edges_of_one_side_have_its_colour(tmp_path: Path) -> None:
    """Where an operator was taken out and a short way put in, both ways are drawn, each in its colour and its way."""
    before, after = graph([(0, 1), (1, 2), (2, 3)]), graph([(0, 1), (1, 3), (1, 2)])
    before.op[:] = after.op[:] = ["SumBackward0", "AddBackward0", "SinBackward0", "ExpBackward0"]
    after.edge_input_nr[1:], after.op[2] = [0, 1], "CosBackward0"
    for name, snapshot in (("a", before), ("b", after)):
        save(recording(snapshot), str(tmp_path / f"{name}.json"))
        diff(tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "d.svg")
    diff(tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "d.dot")
    svg = ElementTree.parse(tmp_path / "d.svg").getroot()
    edges = {
        tuple(one.get("data-edge", "").split()): (one.get("class"), one.find("{*}path").get("marker-end"))  # type: ignore[union-attr]
        for one in svg.iter()
        if "edge" in one.get("class", "").split()
    }
    tips = {one.get("id") for one in svg.iter("{http://www.w3.org/2000/svg}marker")}

    assert edges["0", "1"] == ("edge", "url(#tip)")
    assert edges["1", "3"] == ("edge added", "url(#tip-added)")
    assert {css for css, _ in edges.values()} == {"edge", "edge added", "edge removed"}
    assert {tip.removeprefix("url(#").removesuffix(")") for _, tip in edges.values()} == tips
    dot = (tmp_path / "d.dot").read_text()
    assert dot.count("penwidth=2") == len([css for css, _ in edges.values() if css != "edge"])
    assert "Backward0Backward0" not in dot


def test_an_added_and_a_removed_line_have_ways_of_their_own(tmp_path: Path) -> None:
    """Long lines of both sides into one card run beside each other, not on top of each other."""
    count = 12
    before = graph([*((node, node + 1) for node in range(count)), (0, count)])
    after = graph([*((node, node + 1) for node in range(count)), (1, count)])
    for name, snapshot in (("a", before), ("b", after)):
        save(recording(snapshot), str(tmp_path / f"{name}.json"))
    diff(tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "d.svg")
    places = {}
    for one in ElementTree.parse(tmp_path / "d.svg").iter("{http://www.w3.org/2000/svg}g"):
        if one.get("class") in ("edge added", "edge removed"):
            drawn = one.find("{*}path").get("d", "")  # type: ignore[union-attr]
            places[one.get("class")] = re.findall(r"([\d.]+)[ ,][\d.]+ ?V", drawn)  # where it runs straight down

    assert all(places.values())
    assert not set(places["edge added"]) & set(places["edge removed"])


def test_large_graphs_are_open_where_they_differ(tmp_path: Path) -> None:
    """Of a long graph the picture opens what differs, and nothing else."""
    before, after = chain(5000), chain(5000)
    after.op[2500] = "TanhBackward0"
    for name, snapshot in (("a", before), ("b", after)):
        save(recording(snapshot), str(tmp_path / f"{name}.json"))
    diff(tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "d.svg")
    svg = (tmp_path / "d.svg").read_text()

    assert "≠ Tanh" in svg
    assert 3 <= svg.count('class="node ') < 100


def test_ranks(tmp_path: Path) -> None:
    """Recordings of ranks are lined up: a column each on the page, a process each in the trace, groups in the JSON."""
    group = ranks(4)
    group[2].graphs[1].op[2] = "ReluBackward0"
    paths = [tmp_path / f"run.rank{number}.json" for number in range(4)]
    for path, one in zip(paths, group, strict=True):
        for snapshot in one.graphs:
            snapshot.measures["time_us"] = [1.0] * len(snapshot)
        save(one, str(path))
    shown = diff(*paths)
    plain: dict[str, Any] = json.loads(diff(*paths, "-f", "json").stdout)
    trace = json.loads(diff(*paths, "-f", "chrome-trace").stdout)["traceEvents"]
    page = _Reader()
    page.feed(diff(*paths, "-f", "html").stdout)

    assert (shown.exit_code, plain["ranks"]) == (1, True)
    assert "alike: rank 0, rank 1, rank 3" in shown.stdout
    assert "rank 2 at n2 Relu (train.py:9)" in shown.stdout
    assert plain["divergence"]["groups"] == [[0, 1, 3], [2]]
    assert nodes_of(plain, "there") == ["n2"]
    assert {event["args"]["name"] for event in trace if event["name"] == "process_name"} == {
        f"rank {number}" for number in range(4)
    }
    assert {event["pid"] for event in trace} == {0, 1, 2, 3}
    columns = [f"rank {number}" for number in range(4)]
    assert [word for word in page.words if word in columns][:4] == columns
    assert "rank 0 → rank 2" in page.words


def test_picture_looks_like_others(tmp_path: Path) -> None:
    """Parameters have marks of their own, modules in which only figures differ are closed, -o may be repeated."""
    for name, last, bias in (("a", rg.nn.ReLU(), True), ("b", rg.nn.Sigmoid(), False)):
        rg.manual_seed(0)
        same = rg.nn.Sequential(*(rg.nn.Sequential(rg.nn.Linear(4, 4), rg.nn.Tanh()) for _ in range(20)))
        net = rg.nn.Sequential(same, rg.nn.Sequential(rg.nn.Linear(4, 2, bias=bias), last))
        with rg.debug() as trace:
            net(rg.ones(3, 4)).sum().backward()
        save(trace, str(tmp_path / f"{name}.json"))
    diff(tmp_path / "a.json", tmp_path / "b.json", "-o", tmp_path / "d.svg", "-o", tmp_path / "d.txt")
    svg, text = (tmp_path / "d.svg").read_text(), (tmp_path / "d.txt").read_text()

    assert "≠ Sigmoid" in svg
    assert "− bias 2" in svg
    assert ">≈ Tanh<" not in svg
    assert text.index("≠") < text.index("  - ")
