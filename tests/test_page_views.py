"""What a page shows first: placed as the drawing places it, forward and backward in one, lines that can be followed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, browser

import retrograd as rg
from retrograd.inspect.findings import Finding
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.render import RenderOptions, renderer_for


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of this file."""
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


class Heads(rg.nn.Module):
    """A trunk, two heads on it, and a third that reads it detached."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = rg.nn.Sequential(rg.nn.Linear(6, 8), rg.nn.ReLU())
        self.one, self.two = rg.nn.Linear(8, 5), rg.nn.Linear(8, 4)
        self.three = rg.nn.Sequential(rg.nn.Linear(8, 8), rg.nn.ReLU())

    def forward(self, x: Any) -> tuple[Any, Any, Any]:
        """Return what the heads say."""
        h = self.trunk(x)
        return self.one(h), self.two(h), self.three(h.detach())


@pytest.fixture(scope="module")
def heads() -> Recording:
    """A recording of one backward pass from three losses."""
    with rg.debug(level="graph") as trace:
        one, two, three = Heads()(rg.randn(4, 6))
        loss = (one**2).mean() + two.abs().mean() + three.exp().mean()
        loss.backward()
    return trace.recording


def write(folder: Path, recording: Recording, **options: object) -> Path:
    """The page of a recording, as a file."""
    text = renderer_for("html").render(recording, RenderOptions(**options))  # type: ignore[arg-type]
    assert isinstance(text, str)
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    return file


def drawn(recording: Recording, direction: str) -> dict[str, tuple[float, float]]:
    """The corners of all operators' cards in the SVG, by name."""
    text = renderer_for("svg").render(recording, RenderOptions(view=direction))
    assert isinstance(text, str)
    cards = re.findall(r'<g class="node[^"]*" id="(n\d+)" transform="translate\(([\d.]+) ([\d.]+)\)">', text)
    return {name: (float(x), float(y)) for name, x, y in cards}


def rows(places: dict[str, tuple[float, float]]) -> list[list[str]]:
    """Cards row by row from the top, each from left to right."""
    found: dict[float, list[str]] = {}
    for name, (_, y) in places.items():
        found.setdefault(y, []).append(name)
    return [sorted(found[y], key=lambda name: places[name][0]) for y in sorted(found)]


def cards(page: Browser) -> dict[str, tuple[float, float]]:
    """The corners of all operators' cards in the page."""
    return {name: (x, y) for name, _, x, y, *_ in page.run("retrograd.cards()") if name.startswith("n")}


def test_page_and_drawing_place_one_graph_alike(chromium: Browser, tmp_path: Path, heads: Recording) -> None:
    """Both show the same cards in the same rows, as gradients go and as values go; the page's own key changes it."""
    chromium.open(write(tmp_path, heads))
    assert chromium.run("document.getElementById('direction').value") == "both"
    forward = rows(cards(chromium))
    chromium.press("v", "v")
    assert chromium.run("document.getElementById('stage').dataset.view") == "backward"

    assert forward == rows(drawn(heads, "both"))
    assert rows(cards(chromium)) == rows(drawn(heads, "backward"))
    assert forward[-1] == ["n0"]  # the loss is last


def test_no_two_lines_of_different_sources_share_a_port(chromium: Browser, tmp_path: Path, heads: Recording) -> None:
    """Lines that begin at different cards end at different places, so that each loss is seen to feed its own head."""
    chromium.open(write(tmp_path, heads))
    for view in ("both", "backward"):
        ends: dict[tuple[float, float], set[str]] = {}
        assert_hover_takes_one_source(chromium)
        for (source, _), points in chromium.run("retrograd.lines()"):
            ends.setdefault(tuple(points[-2:]), set()).add(source)
        assert len(ends) > 10, view
        assert all(len(sources) == 1 for sources in ends.values()), (view, ends)
        chromium.press("v", "v")


def assert_hover_takes_one_source(page: Browser) -> None:
    """With the pointer on a line all lines of its source stand out, and none with the pointer beside them."""
    lines = [(ends[0], points) for ends, points in page.run("retrograd.lines()")]
    source, points = max(lines, key=lambda line: abs(line[1][0] - line[1][6]))
    middle = [(points[axis] + 3 * points[axis + 2] + 3 * points[axis + 4] + points[axis + 6]) / 8 for axis in (0, 1)]
    page.move_to(*page.run(f"retrograd.screen({middle[0]}, {middle[1]})"))

    assert page.run("+document.getElementById('stage').dataset.hover") == sum(one == source for one, _ in lines)
    page.move_to(*page.run("retrograd.screen(1, 1)"))
    assert page.run("+document.getElementById('stage').dataset.hover") == 0


def test_what_is_opened_stays_upside_up(chromium: Browser, tmp_path: Path, heads: Recording) -> None:
    """After a box was closed the page places cards itself: still from inputs to losses, or the other way if asked."""
    chromium.open(write(tmp_path, heads))
    chromium.run("retrograd.choose('b2')")
    chromium.press("Enter")
    above = cards(chromium)
    chromium.press("Enter", "v", "v", "Enter")
    below = cards(chromium)

    assert above.keys() == below.keys() < drawn(heads, "backward").keys()
    assert max(above, key=lambda name: above[name][1]) == "n0" == min(below, key=lambda name: below[name][1])
    assert chromium.run("retrograd.cards().some((card) => card[0] === 'b2')")


def test_a_graph_alone_is_drawn_as_gradients_go(chromium: Browser, tmp_path: Path) -> None:
    """Of a graph that was walked and not recorded the page says that there is no forward, and draws what there is."""
    w = rg.randn(3, requires_grad=True)
    chromium.open(write(tmp_path, Recording(graphs=[rg.walk((w * w).sum())])))

    assert chromium.run("document.getElementById('direction').value") == "backward"
    assert "not recorded" in chromium.run("document.getElementById('details').textContent")
    assert rows(cards(chromium))[0] == ["n0"]


def in_window(page: Browser) -> int:
    """How many operators' cards have their middle on the screen."""
    frame = "document.getElementById('stage').getBoundingClientRect()"
    left, top, right, bottom = page.run(f"[{frame}.left, {frame}.top, {frame}.right, {frame}.bottom]")
    middles = page.run(
        "retrograd.cards().filter(([name]) => name[0] === 'n')"
        ".map(([, , x0, y0, x1, y1]) => retrograd.screen((x0 + x1) / 2, (y0 + y1) / 2))"
    )
    return sum(left <= x <= right and top <= y <= bottom for x, y in middles)


def test_a_page_opens_with_the_whole_graph_or_says_what_is_out_of_view(
    chromium: Browser, tmp_path: Path, heads: Recording
) -> None:
    """All cards are on the screen if their titles can be read; of a larger graph a note counts the others by side."""
    chromium.open(write(tmp_path, heads))
    assert in_window(chromium) == len(cards(chromium))
    assert chromium.run("document.getElementById('outside').hidden")

    x = rg.randn(3, requires_grad=True)
    parts = [x.exp().sin().cos().tanh().neg().sum() for _ in range(40)]
    chromium.open(write(tmp_path, Recording(graphs=[rg.walk(sum(parts))]), max_boxes=300))
    said = [int(count) for count in re.findall(r"\d+", chromium.run("document.getElementById('outside').textContent"))]
    assert said
    assert sum(said) + in_window(chromium) == len(cards(chromium))
    chromium.run("document.getElementById('outside').click()")
    chromium.next_frame()
    assert in_window(chromium) == len(cards(chromium))
    assert chromium.run("document.getElementById('outside').hidden")


def gated() -> tuple[Recording, tuple[Finding, ...]]:
    """A run whose gate gets no gradient because it was detached, and what the diagnosis says of it."""
    enc, gate, dec = rg.nn.Linear(4, 6), rg.nn.Linear(6, 6), rg.nn.Linear(6, 1)
    with rg.debug(level="full") as trace:
        optimizer = rg.optim.SGD([*enc.parameters(), *gate.parameters(), *dec.parameters()], lr=0.1)
        h = rg.relu(enc(rg.randn(3, 4)))
        g = rg.sigmoid(gate(h)).detach()
        loss = dec(h * g).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return trace.recording, tuple(trace.findings)


def test_a_finding_stands_on_its_card_and_shows_its_way(chromium: Browser, tmp_path: Path) -> None:
    """The card has the sentence and the fix; pressed, the calls from the cut to the loss are lit, the rest is not."""
    recording, findings = gated()
    (finding,) = [one for one in findings if one.kind == "broken-chain"]
    (mark,) = finding.marks
    chromium.open(write(tmp_path, recording, findings=findings))
    (card,) = [card for card in chromium.run("retrograd.cards()") if card[0] == f"n{mark.node}"]
    said = chromium.run("JSON.parse(document.getElementById('data').textContent).steps.at(-1).notes")
    ((_, ((severity, *lines),)),) = [note for note in said if note[0] == mark.node]
    memory = chromium.run("[...document.querySelector('.memory').children].map((one) => one.tagName)")
    chromium.run("document.querySelector('#outline .findings button').click()")
    lit = chromium.run("retrograd.lit()")
    legend = chromium.run("document.getElementById('legend').textContent")

    assert "ran without a gradient" in legend
    assert "cut: values go on" in legend
    assert memory == ["path", "line", "circle", "text", "text"]  # what is kept for backward over time, with its peak
    assert severity == finding.severity
    assert finding.remedy in " ".join(lines)
    assert card[5] - card[3] >= 15 * (len(lines) + 2)
    beside = [name for name in lit if int(name[1:]) >= len(recording.graphs[-1])]
    assert len(beside) == 1  # the gate's layer, which was cut off
    assert {f"n{mark.node}", "n0"} < set(lit)
    relu = recording.graphs[-1].op.index("ReluBackward0")
    assert f"n{relu}" not in lit
    steps = chromium.run("[...document.querySelectorAll('#details ol li')].map((one) => one.textContent)")
    assert list(dict.fromkeys(step.split()[0] for step in steps)) == ["linear", "sigmoid", "detach", "mul", "mean"]
    assert steps[0].endswith("no gradient")
