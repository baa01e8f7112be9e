"""The SVG drawing: well-formed for any name, complete, the same bytes each time, and its options."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from folding_samples import stack_of_layers
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_samples import chain

from retrograd.errors import NoGraphError, UnknownFormatError, UsageError
from retrograd.inspect.findings import Finding, Mark
from retrograd.inspect.graphs.graph import Cut, Graph
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.render import RenderOptions, capped, chosen_snapshots, renderer_for, renderers
from retrograd.inspect.render.labels import bytes_text, clean, headline, node_text, source_text, tensor_text, time_text
from retrograd.inspect.render.stats_tables import chosen_statistics, stats_text

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"'><b>&amp;]]>",
    "a\nb\r\tc",
    "nul\x00 bell\x07 esc\x1b[31m",
    "[red]rich[/red]",
    "日本語のとても長い名前" * 9,
    "\ud800 lone \u2028 \u202e turned \uffff",
    "<lambda>",
    "%s {{data}} ${x} \\",
]


def small(name: str = "w", label: str = "backward 0") -> Graph:
    """loss = sum(split(exp(w))[1] * w): one leaf used twice, one second output."""
    return Graph(
        label=label,
        op=["SumBackward0", "MulBackward0", "SplitBackward0", "ExpBackward0", "AccumulateGrad"],
        kind=["op", "op", "function", "copy", "leaf"],
        name=[None, None, None, "h", name],
        scope=["", "net", "net/inner", "", ""],
        shape=[(), (2, 3), (2, 3), (2, 6), (2, 6)],
        dtype=["float32"] * 5,
        source=[SourceLine(f"/home/me/{name}/train.py", line, "step") for line in range(1, 5)] + [None],
        saved_bytes=[None, 48, 0, 1500, None],
        seq=[3, 2, 1, 0, None],
        edge_source=[0, 1, 1, 2, 3],
        edge_target=[1, 2, 4, 3, 4],
        edge_input_nr=[0, 0, 1, 0, 0],
        edge_output_nr=[0, 1, 0, 0, 0],
        roots=[0],
        root_names=["loss"],
        measures={"time_us": [1.0, 2.0, math.nan, None, 900.0]},
    )


def drawn(*snapshots: Graph, **options: object) -> str:
    """The SVG text of a recording of these graphs."""
    recording = Recording(script="train.py", engine="retrograd", graphs=list(snapshots))
    made = renderer_for("svg").render(recording, RenderOptions(**{"fold": (), **options}))  # type: ignore[arg-type]
    assert isinstance(made, str)
    return made


def groups(root: ET.Element, css: str) -> list[ET.Element]:
    """All groups that have a class."""
    return [group for group in root.iter(f"{SVG}g") if css in group.get("class", "").split()]


def words(element: ET.Element) -> str:
    """All text drawn in an element (no tooltips)."""
    return " ".join("".join(text.itertext()) for text in element.iter(f"{SVG}text"))


def test_every_node_and_edge_is_drawn() -> None:
    """Each node is a group with its id, words and tooltip; each edge a group with a path and its ends."""
    root = ET.fromstring(drawn(small()))
    nodes = {group.get("id"): group for group in groups(root, "node")}

    assert list(nodes) == ["n0", "n1", "n2", "n3", "n4"]
    assert "MulBackward0" in words(nodes["n1"])
    assert "2×3 float32" in words(nodes["n1"])
    assert "train.py:2" in words(nodes["n1"])
    assert "net/inner" in words(nodes["n2"])
    assert "loss: scalar float32" in words(nodes["n0"])
    assert "h: 2×6 float32" in words(nodes["n3"])
    assert "w AccumulateGrad" in words(nodes["n4"]).replace(" 2×6 float32", "")
    assert "1.5 kB saved" in nodes["n3"].findtext(f"{SVG}title", "")
    edges = groups(root, "edge")
    assert [edge.get("data-edge") for edge in edges] == ["0 1", "1 2", "1 4", "2 3", "3 4"]
    assert all(edge.find(f"{SVG}path") is not None for edge in edges)
    assert [words(edge) for edge in edges] == ["2×3", "output 1", "2×6", "2×6", "2×6"]


def test_caption_and_description_name_the_graph() -> None:
    """The drawing says what it is: script, root, label, counts, engine."""
    text = drawn(small())

    for part in ("train.py", "loss", "backward 0", "5 nodes", "5 edges", "retrograd"):
        assert part in words(ET.fromstring(text))
    assert "<desc>" in text
    assert ET.fromstring(text).findtext(f"{SVG}title") == "train.py"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless(name: str) -> None:
    """Names full of markup and control characters give well-formed UTF-8 XML without a foreign element."""
    snapshot = small(name, label=name)
    snapshot.op[1] = snapshot.scope[1] = snapshot.root_names[0] = name
    text = drawn(snapshot, title=name)
    root = ET.fromstring(text.encode("utf-8"))

    allowed = {"svg", "title", "desc", "style", "rect", "g", "path", "text", "tspan", "defs", "marker", "a"}
    assert all(element.get("href", "#").startswith("#n") for element in root.iter() if element.tag == f"{SVG}a")
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
    assert len(groups(root, "node")) == 5


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gives_well_formed_xml(name: str) -> None:
    """Whatever Unicode a name holds, the document parses and its bytes are UTF-8."""
    snapshot = small(name)
    snapshot.scope[0] = snapshot.op[2] = name

    ET.fromstring(drawn(snapshot, title=name).encode("utf-8"))


def test_same_recording_gives_the_same_bytes() -> None:
    """Two renderings are equal."""
    assert drawn(small(), small("v")) == drawn(small(), small("v"))


def test_all_steps_are_stacked_with_ids_apart() -> None:
    """Several graphs stand below each other; no id occurs twice."""
    root = ET.fromstring(drawn(small(label="backward 0"), small(label="backward 1"), step="all"))
    ids = [element.get("id") for element in root.iter() if element.get("id")]

    assert len(groups(root, "step")) == 2
    assert len(ids) == len(set(ids))
    assert "backward 1" in words(root)


def test_themes() -> None:
    """The drawing follows the reader's setting unless a theme was asked for."""
    assert "prefers-color-scheme:dark" in drawn(small())
    assert "prefers-color-scheme" not in drawn(small(), theme="dark")
    assert drawn(small(), theme="dark") != drawn(small(), theme="light")


def test_colour_by_a_measure() -> None:
    """Nodes get steps of the scale by value, NaN is marked, unknown values keep their kind's colour."""
    root = ET.fromstring(drawn(small(), color_by="time_us"))
    css = {group.get("id"): group.get("class", "") for group in groups(root, "node")}

    assert "heat0" in css["n0"]
    assert "heat5" in css["n4"]
    assert "odd" in css["n2"]
    assert "heat" not in css["n3"]
    assert "time in backward" in words(root)
    assert "900 µs" in words(root)
    with pytest.raises(UsageError, match="It has: time, saved-bytes"):
        drawn(small(), color_by="heat")


def test_a_legend_tells_what_is_there() -> None:
    """Equal values are one entry without a bound, and NaN is explained only where there is one."""
    made = small()
    made.measures = {"grad_norm": [2.0] * len(made)}
    equal = words(ET.fromstring(drawn(made, color_by="grad_norm")))

    assert "≥" not in equal
    assert "NaN or infinite" not in equal
    assert "NaN or infinite" in words(ET.fromstring(drawn(small(), color_by="time_us")))


MEANINGS = {
    "cut": "no gradient comes back",
    "ghost": "cut off from the graph",
    "row": "parameter that the operator uses",
    "place": "places that use it",
    "pile": "n equal blocks",
    "frame": "open module",
    "closed": "closed module",
    "counted": "edges drawn as one",
    "error": "finding: error",
    "note": "finding: note",
    "function": "custom Function",
}
PICTURES = {
    "a plain graph": (lambda: chain(3), {}, set()),
    "a value from outside": (
        lambda: replace(chain(3), cuts=[Cut(1, "detach", SourceLine("t.py", 4, "f"), -1)]),
        {},
        {"cut", "ghost"},
    ),
    "a cut within": (
        lambda: replace(chain(4), cuts=[Cut(0, "item", SourceLine("t.py", 4, "f"), 3)]),
        {},
        {"cut"},
    ),
    "parameters on cards": (lambda: small(), {"fold": None}, {"row", "place", "function", "frame"}),
    "a finding": (
        lambda: chain(3),
        {"findings": (Finding("nan", "it is NaN", severity="error", marks=(Mark(0, 1),)),)},
        {"error"},
    ),
    "a remark": (
        lambda: chain(3),
        {"findings": (Finding("big", "it is big", severity="note", marks=(Mark(0, 1),)),)},
        {"note"},
    ),
    "equal blocks": (lambda: stack_of_layers(12), {"fold": None, "max_boxes": 6}, {"pile", "frame", "row"}),
    "one closed box": (lambda: stack_of_layers(12), {"fold": None, "max_boxes": 1}, {"closed"}),
    "all of it": (lambda: stack_of_layers(12), {"fold": None, "expand": ("all",)}, {"frame", "row"}),
}


@pytest.mark.parametrize("what", PICTURES)
def test_a_legend_has_every_mark_and_no_other(what: str) -> None:
    """What is drawn is explained, what is not drawn is not."""
    make, options, used = PICTURES[what]
    shown = words(ET.fromstring(drawn(make(), **options)))

    known = {mark for mark, meaning in MEANINGS.items() if meaning in shown}
    assert known == used


def test_bytes_that_nobody_recorded_are_refused() -> None:
    """A drawing that could only stay uncoloured is refused, like one by a time that was not taken."""
    made = replace(small(), saved_bytes=[None] * 5)

    with pytest.raises(UsageError, match="'saved-bytes'.*--level backward"):
        drawn(made, color_by="saved-bytes")
    assert "saved for backward" in drawn(small(), color_by="saved-bytes")


def test_names_without_end_do_not_widen_a_drawing() -> None:
    """Script, label, root and modules of thousands of letters are shortened where they stand."""
    name = "very_long_name_" * 300
    made = replace(stack_of_layers(2), label=name, root_names=[name], classes={"net": name})
    root = ET.fromstring(drawn(made, title=name, fold=None))

    assert float(root.get("width", "inf")) < 1600


def test_times_of_launching_are_called_so() -> None:
    """Where kernels run later on a device nothing says that its times are those of the work."""
    ran = Event("backward", op="loss", data={"api": "backward", "snapshot": 0, "device": "cuda"})
    made = Recording(script="t.py", engine="torch", level="backward", graphs=[small()], events=[ran])
    here = replace(made, events=[Event("backward", op="loss", data={"api": "backward", "snapshot": 0})])
    asked = RenderOptions(color_by="time")
    for name in ("svg", "tree"):
        draw = renderer_for(name).render
        assert "launch time in backward" in str(draw(made, asked))
        assert "launch time" not in str(draw(here, asked))
    assert "launch time" in stats_text(chosen_statistics(made, RenderOptions()))
    assert "launch time" not in stats_text(chosen_statistics(here, RenderOptions()))


def test_at_most_so_many_nodes() -> None:
    """A capped drawing holds the first nodes and says so."""
    root = ET.fromstring(drawn(small(), max_nodes=3))

    assert [group.get("id") for group in groups(root, "node")] == ["n0", "n1", "n2"]
    assert "only the first 3 nodes" in words(root)


def test_unknown_layout_is_a_usage_error() -> None:
    """A layout that does not exist is named, with those that do."""
    with pytest.raises(UsageError, match=r"'spiral'.*'layered'.*'dot'"):
        drawn(small(), layout="spiral")


def test_nothing_is_fetched() -> None:
    """The only address in the drawing is the namespace; it holds no script."""
    text = drawn(small()).replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert "http" not in text
    assert "<script" not in text
    assert "@import" not in text


def test_steps_are_chosen_by_word_or_number() -> None:
    """last, all, an index from either end; a missing one is a usage error that says which there are."""
    first, second = small(label="a"), small(label="b")
    recording = Recording(graphs=[first, second])

    assert chosen_snapshots(recording, RenderOptions()) == [second]
    assert chosen_snapshots(recording, RenderOptions(step="all")) == [first, second]
    assert chosen_snapshots(recording, RenderOptions(step=0))[0] is first
    assert chosen_snapshots(recording, RenderOptions(step="-2"))[0] is first
    with pytest.raises(UsageError, match=r"step 2 .*2 backward graphs.*0 to 1"):
        chosen_snapshots(recording, RenderOptions(step=2))
    with pytest.raises(NoGraphError):
        chosen_snapshots(Recording(), RenderOptions())


def test_huge_graphs_are_capped_unless_asked() -> None:
    """What no browser could open is not drawn by default: the first nodes are, and the headline tells the option."""
    count = 200_000
    columns = {name: [value] * count for name, value in {"op": "Add", "kind": "op", "scope": "", "name": None}.items()}
    columns |= {name: [None] * count for name in ("shape", "dtype", "source", "saved_bytes", "seq")}
    edges = {"edge_source": list(range(count - 1)), "edge_target": list(range(1, count))}
    edges |= {"edge_input_nr": [0] * (count - 1), "edge_output_nr": [0] * (count - 1)}
    made = Graph(**columns, **edges, roots=[0])  # type: ignore[arg-type]
    text = renderer_for("svg").render(Recording(graphs=[made]), RenderOptions(fold=()))
    assert isinstance(text, str)
    assert len(re.findall(r'<g class="[^"]*" id="n\d+"', text)) == 20_000
    assert "200,000 nodes" in text
    assert "only the first 20,000 nodes are drawn (--max-nodes draws more)" in text


def test_capped_keeps_columns_together() -> None:
    """A capped snapshot has all columns of one length and only edges between kept nodes."""
    smaller, left_out = capped(small(), 2)

    assert left_out == 3
    assert (len(smaller), smaller.edge_source, smaller.edge_target) == (2, [0], [1])
    assert smaller.measures["time_us"] == [1.0, 2.0]
    assert smaller.scope == ["", "net"]
    assert capped(small(), None)[1] == 0


def test_formats_are_found_by_name_suffix_and_file() -> None:
    """A format is found however it is written; an unknown one gets the nearest and the list."""
    svg = renderers()["svg"]

    assert renderer_for("svg") is renderer_for(".svg") is renderer_for("out/My.SVG") is svg
    with pytest.raises(UnknownFormatError, match=r"'x.svgg'.*Did you mean 'svg'.*html"):
        renderer_for("x.svgg")


def test_labels() -> None:
    """The words of a card: short title, tensor, source, sizes, all on one line each."""
    words_of_node = node_text(small(), 1)

    assert (words_of_node.title, words_of_node.op, words_of_node.tensor) == ("Mul", "MulBackward0", "2×3 float32")
    assert node_text(small(), 4).title == "w"
    assert source_text(SourceLine("C:\\a\\b.py", 7, "f")) == "b.py:7"
    assert tensor_text((), "float64") == "scalar float64"
    assert tensor_text(None, None) == ""
    assert [bytes_text(count) for count in (None, 0, 999, 1000, 2_500_000)] == ["", "0 B", "999 B", "1.0 kB", "2.5 MB"]
    times = ["0.25 µs", "12.3 µs", "1 ms", "4.56 ms", "1 s", "12,000 s"]
    assert [time_text(value) for value in (0.25, 12.34, 999.7, 4560.0, 999_600.0, 1.2e10)] == times
    assert clean("a\x00\u202e\nb") == "a b"
    assert headline(small()) == "loss · backward 0 · 5 nodes · 5 edges · retrograd"
