"""The HTML page: one offline file, data that cannot break out, several steps, real browsers where there is one."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from retrograd.inspect.events import Recording
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.html import script_json
from retrograd.inspect.snapshot import GraphSnapshot, SourceLine

HOSTILE = '</script><img src=x onerror="alert(1)">&\u2028\u2029<!-- {{script}} \'\x00\x1b[31m \ud800 漢'


def small(name: str = "w", label: str = "backward 0") -> GraphSnapshot:
    """loss = sum(w * w) with a NaN measure."""
    return GraphSnapshot(
        label=label,
        op=["SumBackward0", "MulBackward0", "AccumulateGrad"],
        kind=["op", "op", "leaf"],
        name=[None, None, name],
        scope=["", "net", ""],
        shape=[(), (2, 3), (2, 3)],
        dtype=["float32"] * 3,
        source=[SourceLine("train.py", 3, "step"), SourceLine("train.py", 2, "<lambda>"), None],
        saved_bytes=[None, 48, None],
        seq=[1, 0, None],
        edge_source=[0, 1, 1],
        edge_target=[1, 2, 2],
        edge_input_nr=[0, 0, 1],
        edge_output_nr=[0, 0, 0],
        roots=[0],
        root_names=["loss"],
        measures={"grad_norm": [1.0, math.nan, math.inf]},
    )


def page(*snapshots: GraphSnapshot, script: str = "train.py", text: str = "y = w * w", **options: object) -> str:
    """The page of a recording of these graphs."""
    sources = {"train.py": {2: text, 3: "loss = y.sum()", 900: "secret"}}
    recording = Recording(script=script, snapshots=list(snapshots), sources=sources)
    made = renderer_for("html").render(recording, RenderOptions(**options))  # type: ignore[arg-type]
    assert isinstance(made, str)
    return made


class Reader(HTMLParser):
    """Collects tags, attributes and the texts of script elements as a browser's tokenizer would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a script."""
        if tag == "script":
            self.inside = False

    def handle_data(self, data: str) -> None:
        """Collect the text of scripts."""
        if self.inside:
            self.scripts[-1] += data


def data_of(text: str) -> dict[str, object]:
    """The data block of a page."""
    return dict(json.loads(Reader(text).scripts[0]))


def test_page_holds_drawing_and_data() -> None:
    """The drawing, the details of every node and the mentioned source lines (no others) are in the file."""
    text = page(small())
    data = data_of(text)
    step = data["steps"][0]  # type: ignore[index]

    assert 'id="s0-n2"' in text
    assert step["op"] == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert step["edges"] == [[0, 1, 1], [1, 2, 2], [0, 0, 1], [0, 0, 0]]
    assert step["saved"] == ["", "48 B", ""]
    assert step["measures"] == {"grad_norm": ["1", "nan", "inf"]}
    assert data["sources"] == {"train.py": {"2": "y = w * w", "3": "loss = y.sum()"}}


def test_no_address_and_no_foreign_code() -> None:
    """No attribute or style can fetch anything, and the page's own policy forbids it."""
    text = page(small())

    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "").replace("http-equiv", "")
    assert not re.search(r"\b(src|href|action)\s*=", text)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|eval\(", text)
    assert "default-src 'none'" in text


def test_hostile_names_stay_data() -> None:
    """Names, labels, paths and source texts cannot end the script or add an element; data come back as they were."""
    snapshot = small(HOSTILE, label=HOSTILE)
    snapshot.op[1] = snapshot.scope[1] = snapshot.root_names[0] = HOSTILE
    snapshot.kind[1] = HOSTILE
    snapshot.measures[HOSTILE] = [1.0, None, 2.0]
    snapshot.source[1] = SourceLine(HOSTILE, 2, HOSTILE)
    text = page(snapshot, script=HOSTILE, text=HOSTILE, title=HOSTILE)
    reader, plain = Reader(text), Reader(page(small()))

    text.encode("utf-8")
    assert [tag for tag, _ in reader.tags if tag not in ("tspan", "text")] == [
        tag for tag, _ in plain.tags if tag not in ("tspan", "text")
    ]
    assert len(reader.scripts) == 2
    assert reader.scripts[1] == plain.scripts[1]
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    data = json.loads(reader.scripts[0])
    assert data["steps"][0]["name"][2] == HOSTILE.replace("\ud800", "?")
    assert not re.search("[<>&\u2028\u2029]", reader.scripts[0])


def test_script_json_round_trips() -> None:
    """What is escaped for the page is the same JSON value."""
    value = {"a": ["</script>", "\u2028", "<!--", "&amp;", "\\u003c", 'quote"']}

    assert json.loads(script_json(value)) == value


def test_several_steps_get_drawings_of_their_own() -> None:
    """Each step has its drawing; only the first shows at the start; ids are unique."""
    text = page(small(label="backward 0"), small(label="backward 1"), step="all")
    drawings = [attributes for tag, attributes in Reader(text).tags if tag == "svg"]
    ids = [attributes["id"] for _, attributes in Reader(text).tags if "id" in attributes]

    assert [("hidden" in drawing) for drawing in drawings] == [False, True]
    assert len(ids) == len(set(ids))
    assert [step["label"] for step in data_of(text)["steps"]] == ["backward 0", "backward 1"]  # type: ignore[attr-defined]


def test_same_recording_gives_the_same_page() -> None:
    """Two renderings are equal."""
    assert page(small()) == page(small())


DRIVER = """<script>
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const search = document.getElementById("search"), found = document.getElementById("found");
  press("j"); press("j");
  const details = document.getElementById("details").textContent, near = document.querySelectorAll(".near").length;
  search.value = "accumulate"; search.dispatchEvent(new Event("input"));
  const count = found.textContent;
  search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  const said = JSON.stringify([details, near, count, document.querySelector(".chosen").id, document.images.length]);
  const block = document.createElement("pre"); block.id = "said"; block.textContent = said; document.body.append(block);
</script></body>"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium on this machine")
def test_page_works_in_a_browser(tmp_path: Path) -> None:
    """From file://, keys choose nodes, details show the source text, and the search finds and chooses."""
    snapshot = small("<img src=x>")
    file = tmp_path / "page.html"
    file.write_text(page(snapshot).replace("</body>", DRIVER), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    more = f"--disable-component-update --disable-sync --user-data-dir={tmp_path / 'profile'} --dump-dom"
    command = ["chromium", *flags.split(), *more.split(), file.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    block = re.search(r'<pre id="said">(.*?)</pre>', dom, re.DOTALL)

    assert block is not None, dom[-2000:]
    details, near, count, chosen, images = json.loads(block[1].replace("&lt;", "<").replace("&gt;", ">"))
    assert "MulBackward0" in details
    assert "y = w * w" in details
    assert "<img src=x>" in details
    assert (near, count, chosen, images) == (3, "1", "s0-n2", 0)
