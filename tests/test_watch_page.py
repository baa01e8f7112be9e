"""The page of a watched run in a real browser: map, curves, keys, filter, silence; and as a file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Browser, browser
from side_by_side import environment

from retrograd.inspect.histories.history import Column, Curves
from retrograd.inspect.histories.watched_file import WatchedRun, encoded
from retrograd.inspect.render.run_page import run_page

FIGURES = ("gradient", "weight", "update", "zeros", "nonfinite")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of this file."""
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def run(steps: int = 300, parameters: int = 12, script: str = "train.py") -> WatchedRun:
    """A run whose gradients fall, are NaN in the last tenth, and missing for the last parameter."""
    names = [f"layers.{number}.weight" for number in range(parameters)]
    columns = (Column("loss"), Column("rate"), *(Column(figure, name) for figure in FIGURES for name in names))
    rng = np.random.default_rng(0)
    values = rng.uniform(0.1, 1.0, (steps, len(columns))).astype(np.float32)
    bad = slice(steps - steps // 10, None)
    values[bad, 2 : 2 + parameters] = np.nan
    values[:, 2 + 4 * parameters :] = 0
    values[bad, 2 + 4 * parameters :] = 1
    values[:, 1 + parameters] = np.nan
    numbers = np.arange(1, steps + 1)
    happened = [
        {"step": steps // 2, "kind": "note", "text": "evaluated"},
        {"step": steps - steps // 10, "kind": "trigger", "text": "<b>not finite</b>", "trigger": "nonfinite"},
    ]
    return WatchedRun(Curves(columns, numbers, numbers, values, values, values), happened, {"script": script})


def write(folder: Path, shown: WatchedRun) -> Path:
    """The page as a file."""
    file = folder / "run.html"
    file.write_text(run_page(shown), encoding="utf-8")
    return file


def test_page_shows_the_run_without_network(chromium: Browser, tmp_path: Path) -> None:
    """It is ready without a word on the console, asks for nothing, and describes the chosen cell."""
    chromium.open(write(tmp_path, run()))

    assert chromium.logs("browser") == []
    assert [one for one in chromium.requests() if not one.startswith(("file:", "about:", "data:", "blob:"))] == []
    assert chromium.run("document.getElementById('headline').textContent").startswith("train.py · 300 steps · 12 param")
    assert chromium.run("document.querySelector('#details h2').textContent") == "layers.0.weight"
    assert chromium.run("document.querySelectorAll('#details .happened li').length") == 2
    assert chromium.run("document.querySelectorAll('#details .happened b b').length") == 0


def test_keys_move_zoom_and_choose(chromium: Browser, tmp_path: Path) -> None:
    """Everything can be reached without a pointer."""
    chromium.open(write(tmp_path, run()))
    chromium.press("ArrowDown", "ArrowLeft", "m", "+")
    chromium.next_frame()

    state = chromium.run("JSON.parse(JSON.stringify(window.retrograd.state))")
    assert (state["row"], state["cell"], state["figure"]) == (1, 298, "ratio")
    assert state["to"] - state["from"] == 150
    chromium.press("[")
    chromium.next_frame()
    assert chromium.run("window.retrograd.state.cell") == 269
    chromium.press("0", "?")
    assert chromium.run("document.getElementById('help').open") is True
    assert chromium.run("window.retrograd.state.to - window.retrograd.state.from") == 300


def test_filter_and_click(chromium: Browser, tmp_path: Path) -> None:
    """A regular expression leaves some parameters; a click on the map chooses one, with its step."""
    chromium.open(write(tmp_path, run()))
    chromium.type("#search", r"\.1\d?\.")
    chromium.next_frame()
    assert chromium.run("window.retrograd.state.shown") == [1, 10, 11]
    box = chromium.run("JSON.parse(JSON.stringify(document.getElementById('map').getBoundingClientRect()))")
    chromium.click(box["x"] + 190 + (box["width"] - 202) / 2, box["y"] + 24)
    chromium.next_frame()

    state = chromium.run("JSON.parse(JSON.stringify(window.retrograd.state))")
    assert state["row"] == 10
    assert 148 <= state["cell"] <= 152


def test_map_has_a_colour_for_each_cell(chromium: Browser, tmp_path: Path) -> None:
    """Pink where it is not finite, empty where there is no gradient, the scale elsewhere."""
    chromium.open(write(tmp_path, run()))
    script = """(() => {
      const map = document.getElementById('map'), ratio = window.devicePixelRatio, wide = map.clientWidth - 202;
      const there = (share, row) => [(190 + share * wide) * ratio, (row * 16 + 8) * ratio, 1, 1];
      const at = (...place) => [...map.getContext('2d').getImageData(...there(...place)).data];
      return [at(0.95, 3), at(0.5, 11), at(0.5, 3)];
    })()"""
    bad, missing, usual = chromium.run(script)

    assert bad[:3] == [194, 24, 122]
    assert missing[3] == 0
    assert usual[3] == 255
    assert usual[:3] != bad[:3]


def test_large_run_is_thinned_for_its_page() -> None:
    """The page of 6,000 stretches of 500 parameters stays below 12 MB, and covers every step."""
    page = run_page(run(6_000, 500))
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])

    assert len(page) < 12_000_000
    assert len(data["parameters"]) == 500
    assert "6,000 steps" in data["headline"]


def test_hostile_names_stay_words(tmp_path: Path) -> None:
    """A script's name cannot close the data block or become markup."""
    page = run_page(run(20, 2, script="</script><img src=x onerror=alert(1)>{{data}}"))

    assert "<img src=x" not in page
    assert page.count("</script>") == 2


def test_render_writes_the_page_of_a_run(tmp_path: Path) -> None:
    """``retrograd render run.json -o run.html``; another format is refused in one sentence."""
    (tmp_path / "run.json").write_text(encoded(run(30, 2)), encoding="utf-8")
    command = [sys.executable, "-m", "retrograd", "render", "run.json", "-o"]
    made, refused = (
        subprocess.run([*command, name], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)
        for name in ("run.html", "run.svg")
    )

    assert made.returncode == 0
    assert "30 steps" in (tmp_path / "run.html").read_text(encoding="utf-8")
    assert refused.returncode == 2
    assert "Name an .html file" in refused.stderr
    assert not (tmp_path / "run.svg").exists()
