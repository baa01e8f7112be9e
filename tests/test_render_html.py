"""The HTML page as a file: offline, data that cannot break out, plain or packed, boxes and places.

test_page_browser.py drives it.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import random
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from folding_samples import snapshot
from recording_samples import chain, graph, hostile

from retrograd.inspect.fold import fold
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.tensor_facts import TensorFacts
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.page.groups import groups_of
from retrograd.inspect.render.page.packing import Packed, script_json
from retrograd.inspect.render.page.structure import atom_sizes

HOSTILE = '</script><img src=x onerror="alert(1)">&\u2028\u2029<!-- {{script}} \'\x00\x1b[31m \ud800 漢'


def small(name: str = "w", label: str = "backward 0") -> Graph:
    """loss = sum(w * w) with a NaN measure."""
    return Graph(
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


def page(*snapshots: Graph, script: str = "train.py", text: str = "y = w * w", **options: object) -> str:
    """The page of a recording of these graphs."""
    sources = {"train.py": {2: text, 3: "loss = y.sum()", 900: "secret"}}
    recording = Recording(script=script, graphs=list(snapshots), sources=sources)
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


def data_of(text: str) -> dict[str, Any]:
    """The data block of a page, unpacked here by other means than the page's."""
    data = json.loads(Reader(text).scripts[0])
    if "packed" not in data:
        return dict(data)
    raw = gzip.decompress(base64.b64decode(data["packed"]))
    length = int.from_bytes(raw[:4], "little")
    return dict(json.loads(raw[4 : 4 + length], object_hook=lambda value: column(raw[4 + length :], value)))


def column(raw: bytes, value: dict[str, Any]) -> Any:
    """A packed column as a list."""
    if "@" not in value:
        return value
    kind, offset, length, way = value["@"]
    size = int(kind[1])
    planes = np.frombuffer(raw, np.uint8, length * size, offset).reshape(size, length)
    stored = np.frombuffer(planes.T.tobytes(), f"<{kind}")
    return (np.cumsum(stored) if way == "d" else stored).tolist()


def texts(step: dict[str, Any], name: str) -> list[Any]:
    """A column of texts."""
    return [step[name]["values"][row] for row in step[name]["rows"]]


def test_page_holds_drawing_and_data() -> None:
    """The drawing, the details of every node and the mentioned source lines (no others) are in the file."""
    text = page(small())
    data = data_of(text)
    structure = data["structures"][0]

    assert 'id="still-n2"' in text
    assert texts(structure, "op") == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert texts(structure, "shape") == ["scalar", "2×3", "2×3"]
    assert list(structure["edges"].values()) == [[0, 1, 1], [1, 2, 2], [0, 0, 1], [0, 0, 0]]
    assert structure["saved"] == [-1, 48, -1]
    assert data["steps"][0]["measures"] == {"grad_norm": {"values": [1.0, 0.0, 0.0], "states": [0, 2, 3]}}
    assert data["sources"] == {"train.py": {"2": "y = w * w", "3": "loss = y.sum()"}}


def test_no_address_and_no_foreign_code() -> None:
    """No attribute or style can fetch anything, and the page's own policy forbids it."""
    text = page(small())

    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "").replace("http-equiv", "")
    assert not re.search(r'\b(src|href|action)\s*=(?!"#)', text)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|eval\(|innerHTML", text)
    assert "default-src 'none'" in text


def hostile_page() -> str:
    """A page with a hostile text in every field."""
    snapshot = small(HOSTILE, label=HOSTILE)
    snapshot.op[1] = snapshot.scope[1] = snapshot.root_names[0] = snapshot.dtype[1] = HOSTILE
    snapshot.kind[1] = snapshot.engine = HOSTILE
    snapshot.measures[HOSTILE] = [1.0, None, 2.0]
    snapshot.source[1] = SourceLine(HOSTILE, 2, HOSTILE)
    return page(snapshot, script=HOSTILE, text=HOSTILE, title=HOSTILE)


def test_hostile_names_stay_data() -> None:
    """Names, labels, paths and source texts cannot end the script or add an element; data come back as they were."""
    text = hostile_page()
    reader, plain = Reader(text), Reader(page(small()))

    text.encode("utf-8")
    assert [tag for tag, _ in reader.tags if tag not in ("tspan", "text")] == [
        tag for tag, _ in plain.tags if tag not in ("tspan", "text")
    ]
    assert len(reader.scripts) == 2
    assert reader.scripts[1] == plain.scripts[1]
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    assert texts(data_of(text)["structures"][0], "name")[2] == HOSTILE.replace("\ud800", "?")
    assert not re.search("[<>&\u2028\u2029]", reader.scripts[0])


def test_findings_and_errors_stay_data() -> None:
    """What a run ended with is told, with its place, and cannot break out either."""
    recording = Recording(graphs=[small()], events=[])
    data = {"type": "RuntimeError", "message": HOSTILE}
    recording.events.append(Event("error", source=SourceLine("train.py", 3, "step"), data=data))
    text = renderer_for("html").render(recording, RenderOptions())
    assert isinstance(text, str)
    (finding,) = data_of(text)["findings"]

    assert finding["message"] == "RuntimeError: " + HOSTILE.replace("\ud800", "?")
    assert (finding["file"], finding["line"], finding["severity"]) == ("train.py", 3, "error")


def test_script_json_round_trips() -> None:
    """What is escaped for the page is the same JSON value."""
    value = {"a": ["</script>", "\u2028", "<!--", "&amp;", "\\u003c", 'quote"']}

    assert json.loads(script_json(value)) == value


def test_equal_graphs_are_stored_once() -> None:
    """Steps of a training loop share their graph and have their own measures and labels; other graphs are apart."""
    other = small()
    other.measures["grad_norm"] = [2.0, 3.0, 4.0]
    data = data_of(page(small(), other, chain(4), step="all"))

    assert [step["structure"] for step in data["steps"]] == [0, 0, 1]
    assert data["steps"][1]["measures"]["grad_norm"] == {"values": [2.0, 3.0, 4.0]}


def test_same_recording_gives_the_same_page() -> None:
    """Two renderings are equal, packed or not."""
    assert page(small()) == page(small())
    assert page(chain(6000)) == page(chain(6000))


def test_packed_data_are_the_plain_data() -> None:
    """Above 500 nodes columns travel as typed arrays and come out as they went in."""
    snapshot = chain(6000)
    snapshot.measures["grad_norm"] = [None if node % 7 == 0 else node / 3 for node in range(6000)]
    snapshot.saved_bytes[5] = 2**40
    text = page(snapshot)
    structure, measure = data_of(text)["structures"][0], data_of(text)["steps"][0]["measures"]["grad_norm"]

    assert '"packed"' in text
    assert len(text) < 300_000
    assert texts(structure, "op") == snapshot.op
    assert structure["edges"]["target"] == snapshot.edge_target
    assert structure["saved"] == snapshot.saved_bytes
    assert measure["values"][8] == pytest.approx(8 / 3)
    assert measure["states"][:8] == [1, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("steps", [None, ()])
def test_a_page_of_a_thousand_nodes_is_a_small_file(steps: tuple[str, ...] | None) -> None:
    """A tangled graph of 1,000 nodes, each of its own kind and with four figures, takes less than 300 kB."""
    draw = random.Random(0)
    edges = sorted({(draw.randrange(max(0, node - 40), node), node) for node in range(1, 1000) for _ in range(2)})
    snapshot = graph(edges)
    for name in ("time_us", "grad_norm", "grad_min", "grad_max"):
        snapshot.measures[name] = [draw.random() for _ in range(1000)]

    assert len(page(snapshot, fold=steps).encode()) < 300_000


@pytest.mark.parametrize("values", [[], [0], [255, 0], [-1, 5], [2**31 - 1, -(2**31)], list(range(70000)), [2**50, 3]])
def test_numbers_survive_packing(values: list[int]) -> None:
    """Whole numbers of any size and order come back from their typed array."""
    packed = Packed()
    text = packed.text({"it": packed.numbers(values)})
    raw = gzip.decompress(base64.b64decode(json.loads(text)["packed"]))
    length = int.from_bytes(raw[:4], "little")

    assert column(raw[4 + length :], json.loads(raw[4 : 4 + length])["it"]) == values


def test_boxes_follow_scopes() -> None:
    """Modules become boxes in boxes, named so that one knows which; boxes of one node do not exist."""
    snapshot = chain(10)
    snapshot.op = [f"Op{node}Backward0" for node in range(10)]
    snapshot.scope = ["", *["net/body/0"] * 4, *["net/body/1"] * 3, "net/body/1/drop", "net/head"]
    groups = groups_of(fold(snapshot))

    assert groups.names == ["", "net", "body", "body.0", "body.1"]
    assert groups.paths[3] == "net/body/0"
    assert groups.parents == [-1, 0, 1, 2, 2]
    assert groups.of_atom == [0, 3, 3, 3, 3, 4, 4, 4, 4, 1]


def test_few_cards_at_first() -> None:
    """A page opens what a drawing opens: of a chain of ten modules the first, so that at most twenty cards are seen."""
    snapshot = graph([(node, node + 1) for node in range(99)])
    snapshot.scope = [f"part{node // 10}" for node in range(100)]
    (structure,) = data_of(page(snapshot))["structures"]

    assert len(structure["boxes"]["parent"]) > 10
    assert structure["boxes"]["open"] == [0, 1]
    assert len(structure["drawn"]["forward"]["cards"]) <= 20


def test_uses_of_a_leaf_are_listed_in_reading_order() -> None:
    """Of a weight on two cards side by side the left one, which ran first, has the first use; others are not listed."""
    rows = [("Mul", ""), ("Mm", ""), ("Mm", ""), ("", ""), ("", "")]
    structure = data_of(page(snapshot(rows, [(0, 2), (0, 1), (1, 3), (2, 3), (2, 4)], leaves=2)))["structures"][0]
    heads, atoms = structure["atoms"]["head"], structure["atoms"]

    assert [[(heads[atom], row) for atom, row in places] for places in atoms["uses"]] == [[(2, 0), (1, 0)]]


def test_cards_stand_apart_inside_their_box() -> None:
    """No two cards of one box overlap, all lie inside it, and lines begin and end on their cards."""
    snapshot = graph([(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (0, 5), (5, 6), (6, 7)], leaves=(7,))
    snapshot.scope = ["", "a", "a", "a", "b", "b", "b", ""]
    made = data_of(page(snapshot))["structures"][0]
    cards, boxes = made["cards"], made["boxes"]
    around = [*boxes["ofAtom"], *boxes["parent"]]
    for one in range(len(around)):
        for other in range(one):
            if around[one] == around[other] >= 0:
                left, right = sorted((one, other), key=lambda card: cards["x"][card])
                upper, lower = sorted((one, other), key=lambda card: cards["y"][card])
                apart_x = cards["x"][left] + cards["width"][left] <= cards["x"][right]
                assert apart_x or cards["y"][upper] + cards["height"][upper] <= cards["y"][lower]
        if around[one] >= 0:
            assert 0 <= cards["x"][one] <= boxes["innerWidth"][around[one]] - cards["width"][one]
            assert 0 <= cards["y"][one] <= boxes["innerHeight"][around[one]] - cards["height"][one]
    outermost = [link for link, box in enumerate(made["links"]["box"]) if box == 0]
    assert [made["links"]["count"][link] for link in outermost] == [2, 1, 1]


@pytest.mark.parametrize("make", [lambda: Graph(), lambda: chain(1), hostile, lambda: chain(30_000)])
def test_odd_graphs_make_pages(make: Any) -> None:
    """Nothing, one node, hostile names in a box tree of their own, a graph too large for careful layout."""
    made = data_of(page(make()))

    structure = made["structures"][0]
    assert len(structure["atoms"]["ofNode"]) == len(make())
    assert len(structure["cards"]["x"]) == len(structure["atoms"]["head"]) + len(structure["boxes"]["parent"])


def test_hooks_stand_at_their_nodes() -> None:
    """Hooks of nodes and of tensors are told at their node, and whether they ran; also in a page of fewer nodes."""
    line = SourceLine("train.py", 2, "step")
    made = Event("operation", data={"nodes": [7, 9]})
    hooks = [
        ("node", {"node": 8}, 0),
        ("tensor", {"tensor": 0}, 1),
        ("tensor", {"tensor": 1}, 2),
        ("node", {"node": 99}, 3),
    ]
    events = [
        made,
        *(Event("hook", op, line, {**at, "action": "registered", "handle": n, "hook": HOSTILE}) for op, at, n in hooks),
    ]
    events.append(Event("hook", "tensor", line, {"tensor": 0, "action": "ran", "handle": 1, "hook": HOSTILE}))
    snapshot = small()
    snapshot.first_seq = 7
    tensors = [TensorFacts(made_by=0), TensorFacts(name="w")]
    text = renderer_for("html").render(Recording(graphs=[snapshot], events=events, tensors=tensors), RenderOptions())
    assert isinstance(text, str)
    told = data_of(text)["steps"][0]["hooks"]

    assert [node for node, _ in told] == [0, 0, 2]
    assert [words.endswith(", never ran") for _, words in told] == [True, False, True]
    assert "on the tensor, train.py:2" in told[1][1]
    recording = Recording(graphs=[snapshot], events=events, tensors=tensors)
    cut = renderer_for("html").render(recording, RenderOptions(max_nodes=2))
    assert isinstance(cut, str)
    assert [node for node, _ in data_of(cut)["steps"][0]["hooks"]] == [0, 0]


def test_a_card_has_room_for_the_module_that_no_box_names() -> None:
    """An operator alone in its module says which one behind its title; one in the module's own box does not."""
    rows = [("Mm", "net/a_rather_long_name"), ("Mul", "net"), ("Mul", "net"), ("Add", "net/b"), ("Add", "net/b")]
    folded = fold(snapshot(rows, [(node, node + 1) for node in range(4)]), {"modules"})
    widths = [size.width for size in atom_sizes(folded, groups_of(folded))]

    assert widths[0] > widths[1] == widths[2]
    assert widths[3] == widths[4] <= widths[1]


@pytest.mark.parametrize("devices", [{}, {"device": "cuda:0"}])
def test_times_of_kernels_that_run_later_are_called_launch_times(devices: dict[str, str]) -> None:
    """A page says so of a backward pass on another device, and of no other."""
    recorded = Recording(graphs=[chain(3)], level="backward", events=[Event("backward", data={"run": 0, **devices})])
    text = str(renderer_for("html").render(recorded, RenderOptions()))

    assert f'"launched":{"true" if devices else "false"}' in text
