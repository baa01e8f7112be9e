"""The HTML page in a real browser, from file://: opening boxes, search, filters, way, steps, keys, silence."""

from __future__ import annotations

import base64
import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, browser
from crossings import crossings
from folding_samples import snapshot, stack_of_layers
from recording_samples import HOSTILE, chain, graph, hostile

from retrograd.inspect.findings import Finding, Mark
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.page import account
from retrograd.inspect.render.scale import scale
from retrograd.inspect.render.theme import DARK, LIGHT


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of this file."""
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def write(folder: Path, *snapshots: Graph, events: list[Event] | None = None, **options: object) -> Path:
    """The page of a recording of these graphs, as a file."""
    sources = {"loop.py": {6: "def step(x):", 7: "    return x.sin() * 2  # <b>", 8: ""}}
    recording = Recording(script="loop.py", graphs=list(snapshots), sources=sources, events=events or [])
    text = renderer_for("html").render(recording, RenderOptions(**options))  # type: ignore[arg-type]
    assert isinstance(text, str)
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    return file


def network(seed: float = 1.0) -> Graph:
    """Three blocks of six operators with two parameters each below a loss, and measures with holes in them."""
    blocks, size = 3, 8
    edges, scopes, leaves = [(0, 1)], [""], []
    for block in range(blocks):
        first = 1 + block * size
        scopes += [f"net/block{block}"] * size
        edges += [(first + at, first + at + 1) for at in range(5)]
        edges += [(first, first + 6), (first + 2, first + 7)]
        leaves += [first + 6, first + 7]
        if block + 1 < blocks:
            edges += [(first + 5, first + size), (first + 1, first + size)]
    made = graph(edges, leaves=tuple(leaves))
    made.scope = scopes
    made.source = [SourceLine("loop.py", 7, "step")] * len(made)
    made.saved_bytes = [10 * node if node % 3 == 0 else None for node in range(len(made))]
    norms: list[float | None] = [seed * node for node in range(len(made))]
    norms[3], norms[4], norms[leaves[0]] = math.nan, 0.0, None
    made.measures = {"grad_norm": norms, "time_us": [float(node) for node in range(len(made))]}
    return made


def quiet(page: Browser) -> None:
    """Nothing was written to the console, and nothing but the file itself was asked for."""
    assert page.logs("browser") == []
    assert [address for address in page.requests() if not address.startswith("file:")] == []


def data(page: Browser, name: str) -> str:
    """What the page says of itself in an attribute of the drawing's element."""
    return str(page.run(f"document.getElementById('stage').dataset.{name} || ''"))


def text(page: Browser, name: str) -> str:
    """The text of an element."""
    return str(page.run(f"document.getElementById('{name}').textContent"))


COPY = """(() => {
  const canvas = document.getElementById("canvas"), copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const bytes = context.getImageData(0, 0, copy.width, copy.height).data, words = new Uint32Array(bytes.buffer);
  return [[...bytes.slice(0, 3)], words.reduce((sum, word) => sum + (word !== words[0]), 0)];
})()"""


def pixels(page: Browser) -> int:
    """How many pixels of the drawing are not of the background's colour."""
    page.run("retrograd.paint()")
    return int(page.run(COPY)[1])


def paper(page: Browser) -> list[int]:
    """The background's colour."""
    page.run("retrograd.paint()")
    return list(page.run(COPY)[0])


def test_boxes_open_and_close(chromium: Browser, tmp_path: Path) -> None:
    """Keys and a double click open boxes, what they hold is drawn, and closing gives the first picture back."""
    chromium.open(write(tmp_path, network()))
    chromium.press("C")
    closed, before = data(chromium, "cards"), pixels(chromium)
    chromium.press("O")
    opened, after = data(chromium, "cards"), pixels(chromium)
    chromium.press("C")

    assert (closed, opened) == ("2", "19")
    assert after > 1.2 * before > 0
    assert pixels(chromium) == before
    x, y = chromium.run("retrograd.place('b1')")
    chromium.click(x + chromium.run("document.getElementById('stage').getBoundingClientRect().left"), y + 60, 2)
    chromium.wait("document.getElementById('stage').dataset.cards === '4'", 10)
    assert data(chromium, "chosen") == "b1"
    quiet(chromium)


def test_open_cards_do_not_overlap(chromium: Browser, tmp_path: Path) -> None:
    """With all boxes open every card lies in its box and none on another, in the drawing as the page places it."""
    chromium.open(write(tmp_path, network()))
    chromium.press("O")

    assert cards_apart(chromium) == 19 + 4


def cards_apart(page: Browser) -> int:
    """Every card lies in its box and none on another; how many there are."""
    cards = page.run("retrograd.cards()")
    inside: dict[str, list[tuple[str, list[float]]]] = {}
    for name, around, *spot in cards:
        inside.setdefault(around, []).append((name, spot))
    for name, _, *place in cards:
        for other, spot in inside.get(name, []):
            assert place[0] <= spot[0] <= spot[2] <= place[2], (name, other)
            assert place[1] <= spot[1] <= spot[3] <= place[3], (name, other)
    for beside in inside.values():
        for (name, spot), (other, place) in itertools.combinations(beside, 2):
            apart = spot[2] <= place[0] or place[2] <= spot[0] or spot[3] <= place[1] or place[3] <= spot[1]
            assert apart, (name, other)
    return len(cards)


def test_search_with_regular_expressions(chromium: Browser, tmp_path: Path) -> None:
    """A pattern counts its nodes, Enter walks through them and opens their boxes, a broken one is taken as text."""
    chromium.open(write(tmp_path, network()))
    chromium.press("C", "/")
    chromium.type("#search", "^w(7|8)$")
    counted = text(chromium, "found")
    chromium.press("Enter")
    first = data(chromium, "chosen")
    chromium.press("Enter")

    assert (counted, first, data(chromium, "chosen")) == ("2", "n7", "n8")
    assert text(chromium, "found") == "2 of 2"
    assert int(data(chromium, "cards")) > 4
    chromium.press("Escape", "/")
    chromium.type("#search", "w(")
    assert text(chromium, "found") == "0 as plain text"
    quiet(chromium)


def test_details_tell_everything(chromium: Browser, tmp_path: Path) -> None:
    """The chosen node's operator, tensor, bytes, statistics, source lines and neighbours; markup in them stays text."""
    chromium.open(write(tmp_path, network()), "#s0-n3")
    said = text(chromium, "details")

    for part in ("Op3Backward0", "2×3", "float32", "30 B", "NaN", "return x.sin() * 2  # <b>", "loop.py:7 in step"):
        assert part in said
    assert "input 0: Op4" in said
    assert "input 0 of Op2" in said
    assert chromium.run("document.querySelectorAll('#details b, img').length") == 0
    chromium.press("j", "k", "k")
    assert data(chromium, "chosen") == "n2"
    quiet(chromium)


def test_filters_by_key(chromium: Browser, tmp_path: Path) -> None:
    """Number keys show parameters without gradient, NaN, zero, slowest, largest; a missing measure is said."""
    chromium.open(write(tmp_path, network()))
    said = []
    for key in "12345":
        chromium.press(key)
        said.append(text(chromium, "say"))

    assert said == [
        "parameters without gradient: 1 node",
        "NaN or infinity: 1 node",
        "gradient all zero: 2 nodes",
        "slowest 20: 20 nodes",
        "largest saved 20: 8 nodes",
    ]
    chromium.open(write(tmp_path, chain(5)))
    chromium.press("2")
    assert "not recorded" in text(chromium, "say")
    quiet(chromium)


def test_way_from_the_loss(chromium: Browser, tmp_path: Path) -> None:
    """p shows the shortest path from the loss to a parameter, box by box, and p again hides it."""
    chromium.open(write(tmp_path, network()), "#s0-n15")
    chromium.press("p")

    assert data(chromium, "way") == "5"
    assert "Path from the loss: 5" in text(chromium, "details")
    chromium.press("p")
    assert data(chromium, "way") == ""
    quiet(chromium)


def test_steps_along_a_slider(chromium: Browser, tmp_path: Path) -> None:
    """Steps of one graph keep what is chosen and open and change the figures; another graph starts afresh."""
    chromium.open(write(tmp_path, network(), network(7.0), chain(6), step="all"), "#s0-n9")
    before = text(chromium, "details")
    chromium.press("]")
    after = text(chromium, "details")

    assert ("gradient norm9" in before, "gradient norm63" in after) == (True, True)
    assert data(chromium, "chosen") == "n9"
    chromium.press("]", "]")
    assert (data(chromium, "step"), data(chromium, "cards"), data(chromium, "chosen")) == ("2", "6", "")
    chromium.press("[")
    assert data(chromium, "step") == "1"
    quiet(chromium)


def test_outline_by_keyboard(chromium: Browser, tmp_path: Path) -> None:
    """The tree of modules opens and closes with arrow keys, as the drawing does; ? shows the keys."""
    chromium.open(write(tmp_path, network()))
    chromium.press("C", "g", "ArrowRight", "ArrowRight", "ArrowRight")

    assert data(chromium, "open") == "2"
    assert chromium.run("document.activeElement.dataset.box") == "2"
    chromium.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert data(chromium, "open") == "0"
    chromium.press("?")
    assert "along the gradient" in text(chromium, "help")
    assert chromium.run("document.getElementById('help').open") is True
    quiet(chromium)


def test_colours_themes_and_findings(chromium: Browser, tmp_path: Path) -> None:
    """A measure brings its legend, the theme its paper, an error of the run its own card."""
    error = Event("error", source=SourceLine("loop.py", 7, "step"), data={"type": "ValueError", "message": "<i>no</i>"})
    chromium.open(write(tmp_path, network(), events=[error], color_by="grad_norm", theme="dark"))

    assert "gradient norm" in text(chromium, "legend")
    assert "NaN or infinity" in text(chromium, "legend")
    assert "ValueError: <i>no</i>" in text(chromium, "outline")
    assert paper(chromium) == [0x14, 0x18, 0x1E]
    chromium.press("t", "t")
    assert paper(chromium) == [255, 255, 255]
    quiet(chromium)
    chromium.open(write(tmp_path, network(), color_by="saved_bytes"))
    assert re.fullmatch(r"saved bytes(≥ [\d.]{1,4} B){6}not measured", text(chromium, "legend"))


@pytest.mark.parametrize("highest", [0.5, 999.7, 4.2e6, 1.2e10])
def test_times_read_as_in_the_drawings(chromium: Browser, tmp_path: Path, highest: float) -> None:
    """The page's legend has the words of the one that is drawn, whatever the unit."""
    made = network()
    made.measures["time_us"] = [highest * node / len(made) for node in range(1, len(made) + 1)]
    chromium.open(write(tmp_path, made, color_by="time"))
    colours = scale(made, "time")

    bounds = "".join(f"≥ {colours.text(bound)}" for bound in colours.bounds())
    assert text(chromium, "legend") == f"time{bounds}not measured"


@pytest.mark.parametrize(
    ("name", "words"),
    {
        "time": "time",
        "grad-norm": "gradient norm",
        "saved-bytes": "saved bytes",
        "nonfinite": "NaN and infinite entries",
        "zero-share": "share of zeros",
    }.items(),
)
def test_measures_by_the_names_of_the_command(chromium: Browser, tmp_path: Path, name: str, words: str) -> None:
    """The page opens with the measure that ``--color-by`` asks for, by each of its names."""
    made = network()
    for column in ("time_us", "zero_share", "nan_count", "inf_count"):
        made.measures[column] = [float(node) for node in range(len(made))]
    chromium.open(write(tmp_path, made, color_by=name))

    assert chromium.run("document.getElementById('measure').selectedOptions[0].textContent") == words
    assert text(chromium, "legend").startswith(words)


def test_findings_lead_to_their_nodes(chromium: Browser, tmp_path: Path) -> None:
    """A finding stands in the outline; pressing it opens the way to its node and tells it there, with its cut edge."""
    mark = Mark(0, 12, "cut <here>", ghost="cut by detach")
    finding = Finding("broken-chain", "y was <b>detached</b>", remedy="keep y", file="loop.py", line=7, marks=(mark,))
    chromium.open(write(tmp_path, network(), findings=(finding,)))
    chromium.press("C")
    chromium.run("document.querySelector('#outline .findings button').click()")
    said = text(chromium, "details")

    assert data(chromium, "chosen") == "n12"
    for part in ("y was <b>detached</b>", "cut <here>", "Fix: keep y", "cut by detach"):
        assert part in said
    assert int(data(chromium, "open")) > 0
    assert chromium.run("document.querySelectorAll('main b').length") == 0
    quiet(chromium)


def test_findings_are_walked_by_a_key_and_their_paths_have_no_gap(chromium: Browser, tmp_path: Path) -> None:
    """A key shows one finding after the other; what a call made beside the node of its name is on the path, too."""
    made = snapshot([("Nll", ""), ("LogSoftmax", ""), ("Mm", ""), ("Relu", "")], [(0, 1), (1, 2), (2, 3)])
    made.source, made.call = [SourceLine("a.py", line, "f") for line in (9, 9, 5, 4)], ["loss", "inner", "mm", "relu"]
    path = {"path": ["relu at a.py:4", "mm at a.py:5", "loss at a.py:9"]}
    findings = (
        Finding("chain", "it is cut", marks=(Mark(0, 3),), evidence=path),
        Finding("nan", "it is NaN", marks=(Mark(0, 2),)),
    )
    chromium.open(write(tmp_path, made, findings=findings))
    chromium.press("f")
    assert data(chromium, "way") == "4"
    assert text(chromium, "say") == "Finding 1 of 2: it is cut"
    chromium.press("f")
    assert text(chromium, "say") == "Finding 2 of 2: it is NaN"
    chromium.press("f", "F")
    assert "it is NaN" in text(chromium, "say")
    quiet(chromium)


def test_a_long_name_leaves_room_for_the_shape(chromium: Browser, tmp_path: Path) -> None:
    """In the outline the name of a parameter ends before its shape, however long it is and wherever its dots are."""
    made = network()
    for name in ("very_" * 40, f"{'outer.' * 20}weight", f"outer.{'weight_' * 30}"):
        made.name[made.kind.index("leaf")] = name
        chromium.open(write(tmp_path, made))
        row = f"[...document.querySelectorAll('#outline button')].find(one => one.title === {name!r}).parentElement"
        ends = chromium.run(f"[...{row}.children].map(one => [one.getBoundingClientRect().left, one.scrollWidth])")
        right = chromium.run(f"{row}.firstChild.getBoundingClientRect().right")

        assert right <= ends[1][0]
        assert chromium.run(f"getComputedStyle({row}.firstChild).overflowX") == "hidden"


def test_parameters_stand_by_name(chromium: Browser, tmp_path: Path) -> None:
    """The outline lists parameters as a reader seeks them: those of a module together, block 2 before block 10."""
    made = network()
    names = iter(("10.weight", "2.weight", "10.bias", "2.bias", "head.weight", "head.bias"))
    made.name = [next(names) if kind == "leaf" else None for kind in made.kind]
    chromium.open(write(tmp_path, made))
    listed = chromium.run("[...document.querySelectorAll('#outline li[data-thing] > .link')].map(one => one.title)")

    assert listed == ["2.bias", "2.weight", "10.bias", "10.weight", "head.bias", "head.weight"]


def test_cells_of_a_notebook(chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of cells are called what IPython calls them, in the outline, the details and to the search."""
    monkeypatch.setattr(account, "cell_name", lambda file: "Cell In[4]" if file == "loop.py" else "")
    finding = Finding("broken-chain", "y was detached", file="loop.py", line=7, marks=(Mark(0, 12, ""),))
    chromium.open(write(tmp_path, network(), findings=(finding,)))
    chromium.run("document.querySelector('#outline .findings button').click()")

    assert "Cell In[4], line 7" in text(chromium, "outline")
    assert "Cell In[4], line 7 in step" in text(chromium, "details")
    assert "loop.py" not in text(chromium, "outline") + text(chromium, "details")
    chromium.type("#search", r"in\[4\], line 7\b")
    assert int(text(chromium, "found").split()[0]) > 0
    quiet(chromium)


def test_packed_page_reads_like_a_plain_one(chromium: Browser, tmp_path: Path) -> None:
    """Above 500 nodes the page unpacks its data, draws, searches and finds its way as before."""
    chromium.open(write(tmp_path, chain(5500)), "#s0-n5000")
    chromium.press("p")

    assert pixels(chromium) > 1000
    assert data(chromium, "way") == "5001"
    assert "return x.sin() * 2" in text(chromium, "details")
    quiet(chromium)


def test_a_repeat_shows_one_block_and_turns_to_the_others(chromium: Browser, tmp_path: Path) -> None:
    """Of twelve equal layers the page shows one; keys turn to the next, choosing a node turns to its own."""
    layers = stack_of_layers(12)
    chromium.open(write(tmp_path, layers))

    def cards() -> dict[str, list[float]]:
        return {name: spot for name, _, *spot in chromium.run("retrograd.cards()")}

    first = cards()
    assert len(first) <= 40
    chromium.press(".")
    second = cards()
    assert first.keys() != second.keys()
    assert sorted(first.values()) == sorted(second.values())
    chromium.press(",")
    assert cards() == first
    sin = next(node for node in range(len(layers)) if layers.scope[node].startswith("net/layers/3/act"))
    chromium.run(f"retrograd.choose('n{sin}')")
    assert f"n{sin}" in cards()
    assert int(data(chromium, "cards")) < 20
    chromium.press("a")
    assert int(data(chromium, "cards")) > 13
    chromium.press("a")
    assert int(data(chromium, "cards")) < 20
    chromium.press("p")
    assert pixels(chromium) > 1000
    quiet(chromium)


def test_the_header_of_a_repeat_can_be_pressed(chromium: Browser, tmp_path: Path) -> None:
    """A press on the arrow in the header of a repeat turns to its next block, one on "all" shows all."""
    chromium.open(write(tmp_path, stack_of_layers(12)))
    shown = chromium.run("retrograd.pagers()")
    assert len(shown) == 1
    places = shown[0][1]

    chromium.click(*places["›"])
    assert "2 of 12" in chromium.run("retrograd.pagers()")[0][1]
    chromium.click(*places["‹"])
    assert chromium.run("retrograd.pagers()") == shown
    few = int(data(chromium, "cards"))
    chromium.click(*places["all"])
    assert int(data(chromium, "cards")) > few + 9
    quiet(chromium)


@pytest.mark.parametrize("opened", ["a", "b", "c", "d"])
def test_lines_pass_beside_cards_whichever_box_is_open(chromium: Browser, tmp_path: Path, opened: str) -> None:
    """Long lines past closed boxes keep clear of them also when the box where they begin or end has moved."""
    size, rows, edges = 12, [], [(0, 1), (0, 2)]
    rows.append(("Sum", ""))
    for number, name in enumerate("abcd"):
        first = 1 + number * size
        rows += [(f"Op{number}x{at}", name) for at in range(size)]
        edges += [(first, first + at) for at in range(1, size)]
    for late in range(1, 4):
        edges += [(1 + early * size + late + 2, 1 + late * size) for early in range(late)]
    chromium.open(write(tmp_path, snapshot(rows, sorted(edges)), expand=(opened,), max_boxes=1))
    assert lines_beside_cards(chromium) > 15


def lines_beside_cards(page: Browser) -> int:
    """No line runs over a closed card that it does not join; lines leave below and arrive above; how many there are."""
    spots = {name: spot for name, _, *spot in page.run("retrograd.cards()")}
    around = {name: box for name, box, *_ in page.run("retrograd.cards()")}
    closed = {name for name in spots if name not in around.values()}
    lines = page.run("retrograd.lines()")
    for (source, target), points in lines:
        assert not source or abs(points[1] - spots[source][3]) < 1
        assert not target or abs(points[-1] - spots[target][1]) < 1
        for x, y in sampled(list(zip(points[::2], points[1::2], strict=True))):
            for name in closed - {source, target}:
                left, top, right, bottom = spots[name]
                assert not (left + 1 < x < right - 1 and top + 1 < y < bottom - 1), (source, target, name)
    return len(lines)


def test_lines_keep_apart_at_the_frame_of_a_box_opened_by_hand(chromium: Browser, tmp_path: Path) -> None:
    """Two lanes that pass a box leave it by two ports; where one forks into both they come in by one."""
    operators = ["Sin", "Cos", "Exp", "Log", "Tan", "Abs", "Sqrt", "Erf", "Neg", "Pow"]
    rows = [("Add", ""), *[(name, "net" if 2 <= at < 8 else "") for at, name in enumerate(operators)]]
    edges = [(0, 1), (0, 2), *[(node, node + 2) for node in range(1, 9)], (1, 4)]
    chromium.open(write(tmp_path, snapshot(rows, sorted(edges)), max_boxes=1))
    chromium.run("retrograd.choose('b1')")
    chromium.press("Enter")
    (frame,) = [spot for spot in chromium.run("retrograd.cards()") if spot[0] == "b1"]
    ports: dict[float, set[float]] = {frame[3]: set(), frame[5]: set()}
    for _, points in chromium.run("retrograd.lines()"):
        for x, y in (points[:2], points[-2:]):
            if y in ports:
                ports[y].add(round(x))

    assert [len(found) for found in ports.values()] == [1, 2]
    quiet(chromium)


def skipping(count: int) -> Graph:
    """A chain in modules of five with a connection over every three operators."""
    rows = [(f"Op{at}", f"net/m{at // 5}") for at in range(count)]
    edges = [(at, at + 1) for at in range(count - 1)] + [(at, at + 4) for at in range(0, count - 4, 3)]
    return snapshot(rows, sorted(edges))


@pytest.mark.parametrize(
    ("made", "fold", "screens"),
    [
        (chain(200), (), 2.0),
        (skipping(90), (), 4.5),
        (skipping(90), ("modules",), 2.0),
        (stack_of_layers(30), None, 2.0),
    ],
)
def test_what_is_tall_stands_in_columns(
    chromium: Browser, tmp_path: Path, made: Graph, fold: tuple[str, ...] | None, screens: float
) -> None:
    """With all boxes open long chains fill about a screen; cards stand in their boxes and apart, lines pass beside."""
    chromium.open(write(tmp_path, made, fold=fold, max_nodes=10**6))
    chromium.press("O")

    cards_apart(chromium)
    assert lines_beside_cards(chromium) >= 60
    rights, bottoms = zip(*(spot[2:] for _, _, *spot in chromium.run("retrograd.cards()")), strict=True)
    assert 1 / screens < (max(rights) / 1200) / (max(bottoms) / 900) < screens
    quiet(chromium)


def test_lines_between_the_columns_of_a_page_do_not_cross(chromium: Browser, tmp_path: Path) -> None:
    """A long line beside a chain in columns turns around all others."""
    made = snapshot([("Op", "")] * 40, sorted([*itertools.pairwise(range(40)), (0, 39)]))
    chromium.open(write(tmp_path, made, fold=()))
    lines = [
        (ends, sampled(list(zip(points[::2], points[1::2], strict=True))))
        for ends, points in chromium.run("retrograd.lines()")
    ]
    long = next(points for ends, points in lines if ends == ["n0", "n39"])

    assert len(lines) == 40
    assert len({left for _, _, left, *_ in chromium.run("retrograd.cards()")}) > 2
    assert sum(crossings(points, long) for _, points in lines if points is not long) == 0


def sampled(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points of a chain of cubic Bezier pieces, from the definition."""
    found = []
    for start in range(0, len(points) - 1, 3):
        for step in range(13):
            t = step / 12
            share = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
            piece = points[start : start + 4]
            found.append(
                (
                    sum(w * p[0] for w, p in zip(share, piece, strict=True)),
                    sum(w * p[1] for w, p in zip(share, piece, strict=True)),
                )
            )
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_reader_s_setting(chromium: Browser, tmp_path: Path, scheme: str) -> None:
    """With theme auto, paper and ink are those of the reader's prefers-color-scheme, also when it changes."""
    file = write(tmp_path, network())
    wanted = {"light": LIGHT, "dark": DARK}
    other = "dark" if scheme == "light" else "light"
    prefer(chromium, scheme)
    chromium.open(file)
    try:
        for now in (scheme, other):
            prefer(chromium, now)
            assert paper(chromium) == [int(wanted[now]["paper"][at : at + 2], 16) for at in (1, 3, 5)]
            ink = chromium.run("getComputedStyle(document.querySelector('h2')).color")
            assert ink == f"rgb({', '.join(str(int(wanted[now]['ink'][at : at + 2], 16)) for at in (1, 3, 5))})"
    finally:
        prefer(chromium, "")
    quiet(chromium)


def prefer(page: Browser, scheme: str) -> None:
    """Let the browser say that its reader prefers light or dark, as developer tools do; "" as it was."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}})
    page.next_frame()


def test_hostile_names_do_nothing(chromium: Browser, tmp_path: Path) -> None:
    """Markup, quotes and control characters in every field reach the page as text only."""
    chromium.open(write(tmp_path, hostile(), title=HOSTILE[0]))
    tips = chromium.run("[...document.querySelectorAll('[title]')].map((one) => one.title)")
    assert [tip for tip in tips if not tip.replace("\n", "").isprintable()] == []
    for node in range(len(HOSTILE)):
        chromium.run(f"retrograd.choose('n{node}')")
    chromium.press("O")

    assert chromium.run("document.querySelectorAll('main b, main script, img').length") == 0
    assert "</script><b>x</b>" in text(chromium, "outline") + str(chromium.run("document.title"))
    quiet(chromium)


def test_printing_draws_pages(chromium: Browser, tmp_path: Path) -> None:
    """Printed is the drawing in light colours below its legend, then the details: no page is empty."""
    chromium.open(write(tmp_path, network(), theme="dark"))
    pdf = base64.b64decode(chromium.call("POST", "/print", {}))
    chromium.run("dispatchEvent(new Event('beforeprint'))")

    assert pdf.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", pdf)) <= 2
    assert chromium.run("[...document.querySelectorAll('#print > *')].map((part) => part.tagName)") == [
        "SPAN",
        "CANVAS",
    ]
    assert chromium.run("document.documentElement.dataset.theme") == "light"
    chromium.run("dispatchEvent(new Event('afterprint'))")
    assert chromium.run("document.documentElement.dataset.theme") == "dark"


def test_a_wide_drawing_is_printed_in_parts(chromium: Browser, tmp_path: Path) -> None:
    """What cannot be read on one sheet stands there whole, and then in parts of which each can: none is left out."""
    chromium.open(write(tmp_path, chain(400), fold=()))
    chromium.run("dispatchEvent(new Event('beforeprint'))")
    cards = chromium.run("retrograd.cards()")
    parts = chromium.run("[...document.querySelectorAll('#print figcaption')].map((part) => part.textContent)")
    sizes = chromium.run(
        "[...document.querySelectorAll('figure canvas')].map((part) => [part.width / 2, part.height / 2])"
    )
    rows, columns = map(int, re.findall(r"of (\d+)", parts[-1]))

    assert columns > 1
    assert parts == [f"row {r + 1} of {rows}, column {c + 1} of {columns}" for r in range(rows) for c in range(columns)]
    assert sum(width for width, _ in sizes[:columns]) >= 0.5 * max(card[4] for card in cards)
    assert sum(height for _, height in sizes[::columns]) >= 0.5 * max(card[5] for card in cards)
    quiet(chromium)


def test_without_scripts_there_is_a_drawing(tmp_path: Path) -> None:
    """A reader that runs no scripts sees the static drawing and no dead controls."""
    page = write(tmp_path, network())
    settings = '{"profile": {"managed_default_content_settings": {"javascript": 2}}}'
    profile = tmp_path / "chromium" / "profile" / "Default"
    profile.mkdir(parents=True)
    (profile / "Preferences").write_text(settings, encoding="utf-8")
    with browser(tmp_path / "chromium") as plain:
        plain.call("POST", "/url", {"url": page.as_uri()})
        plain.picture(tmp_path / "plain.png")
        source = str(plain.call("GET", "/source"))

    assert 'id="still-n3"' in source
    assert 'data-ready="yes"' not in source
