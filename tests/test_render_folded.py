"""The folded graph in every format that shows it: golden drawings, the same boxes everywhere, hostile names, marks."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from folding_samples import snapshot, stack_of_layers
from recording_samples import HOSTILE

import retrograd as rg
from retrograd.cli import samples
from retrograd.errors import UsageError
from retrograd.inspect.findings import Finding, Mark
from retrograd.inspect.graphs.graph import Cut, Graph
from retrograd.inspect.output import save
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.marks import carried
from retrograd.inspect.render.theme import DARK, LIGHT

SVG = "{http://www.w3.org/2000/svg}"
GOLDEN = Path(__file__).parent / "golden"
SAMPLES = ("attention_head", "diamond", "double_backward", "residual_block", "shared_weight", "view_and_inplace")


def rendered(fmt: str, *graphs: Graph, **asked: object) -> str:
    """A recording of some graphs in a format."""
    recorded = Recording(script="train.py", engine="retrograd", graphs=list(graphs))
    made = renderer_for(fmt).render(recorded, RenderOptions(**asked))  # type: ignore[arg-type]
    assert isinstance(made, str)
    return made


def groups(text: str, css: str) -> list[ET.Element]:
    """All groups of a drawing with a class."""
    return [group for group in ET.fromstring(text.encode()).iter(f"{SVG}g") if css in group.get("class", "").split()]


@pytest.mark.parametrize("name", [*SAMPLES, "layers"])
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    """The drawing is, byte for byte, the one that was looked at and accepted (``pytest --accept`` writes it anew)."""
    if name == "layers":
        text = rendered("svg", stack_of_layers(12))
    else:
        recorded = samples.record(name)
        text = str(renderer_for("svg").render(recorded, RenderOptions())).replace(str(samples.folder()), "SAMPLES")
    path = GOLDEN / f"{name}.svg"
    if request.config.getoption("--accept"):
        path.write_text(text, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == text


def test_every_drawn_thing_has_its_group() -> None:
    """Boxes, frames and edges are groups with their class; ids are unique and no box is missing."""
    text = rendered("svg", stack_of_layers(12))
    ids = [element.get("id") for element in ET.fromstring(text).iter() if element.get("id")]

    assert [group.get("id") for group in groups(text, "node")] == ["n0", "n1", "n2", "n3", "n4", "n50"]
    assert [group.find(f"{SVG}text").text for group in groups(text, "scope")] == ["net", "layers 0–11"]  # type: ignore[union-attr]
    assert len(groups(text, "edge")) == 6
    assert len(groups(text, "parameter")) == 3
    assert len(ids) == len(set(ids))


def test_uses_of_a_leaf_are_numbered_and_linked_in_reading_order() -> None:
    """Two rows side by side and a card below show w: numbers and names count them in reading order, each leads on."""
    rows = [("Mul", ""), ("Add", ""), ("Mm", ""), ("Mm", ""), ("Tanh", ""), ("Cos", ""), ("Sin", ""), ("Add", "")]
    edges = [(0, 1), (0, 4), (1, 3), (1, 2), (4, 5), (5, 6), (6, 7), (2, 10), (3, 10), (7, 8), (7, 9), (8, 10), (9, 10)]
    text = rendered("svg", snapshot([*rows, ("Exp", ""), ("Exp", ""), ("", "")], edges, leaves=1))
    ids = [element.get("id") for element in ET.fromstring(text).iter() if element.get("id")]
    places = re.findall(r'<g class="node op" id="(n[23])" transform="translate\(([\d.]+) ', text)
    left, right = sorted(places, key=lambda place: float(place[1]))
    uses = {group.get("id"): group for group in groups(text, "parameter")}

    assert (left[0], right[0]) == ("n3", "n2")
    assert [("".join(uses[name].itertext()), uses[name].find(f"{SVG}a").get("href")) for name in ("n10", "n10-2")] == [  # type: ignore[union-attr]
        ("w10 2×3 (1 of 3)", "#n10-2"),
        ("w10 2×3 (2 of 3)", "#n10-3"),
    ]
    assert 'id="n10"' in text.partition('id="n3"')[2].partition('class="node')[0]
    assert "w10(3 of 3)" in "".join(groups(text, "leaf")[0].itertext())
    assert groups(text, "leaf")[0].get("id") == "n10-3"
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scope", ["", "net/block"])
def test_the_tree_is_read_in_the_order_of_the_numbers(scope: str) -> None:
    """Of two branches that use w, each in a module or not, the one whose use is the first stands above the other."""
    rows = [("Add", ""), ("Mm", ""), ("Cos", ""), ("Mm", scope), ("Sin", scope), ("Tanh", scope), ("", "")]
    edges = [(0, 3), (0, 2), (2, 1), (3, 4), (4, 5), (3, 6), (1, 6)]
    tree = rendered("tree", snapshot(rows, edges, leaves=1), expand=("all",))
    lines = [line for line in tree.splitlines() if " n" in line]

    assert re.findall(r"\((\d) of 2\)", tree) == ["1", "2"]
    assert [re.findall(r" (n\d)\b", line)[0] for line in lines[-5:]] == ["n3", "n4", "n5", "n2", "n1"]


def test_formats_show_the_same_boxes() -> None:
    """DOT, Mermaid and the tree fold as the drawing does, with a cluster, subgraph or branch for every open scope."""
    graph = stack_of_layers(12)
    dot, mermaid, tree = (rendered(fmt, graph) for fmt in ("dot", "mermaid", "tree"))
    boxes = ["n0", "n1", "n2", "n3", "n4", "n50"]

    assert re.findall(r"^\t(n\d+) \[", dot, re.M) == boxes
    assert (dot.count("subgraph cluster_"), dot.count("{"), dot.count("}")) == (2, 3, 3)
    assert re.findall(r"^  (n\d+)[\[(]", mermaid, re.M) == boxes
    assert (mermaid.count("  subgraph "), mermaid.count("  end\n")) == (2, 2)
    assert re.findall(r" (n\d+)  ", tree) == boxes
    assert "layers 0–11 × 12" in tree
    assert "→ n3, n50" in tree


def test_steps_and_scopes_are_chosen() -> None:
    """Nothing folded shows every node; an opened layer its siblings; a limit of boxes keeps outer scopes closed."""
    graph = stack_of_layers(12)

    assert len(groups(rendered("svg", graph, fold=()), "node")) == len(graph)
    assert len(groups(rendered("svg", graph, expand=("all",)), "node")) == 2 + 36 + 1
    assert len(groups(rendered("svg", graph, expand=("net/layers/3",)), "node")) == 2 + 11 + 3 + 1
    assert len(groups(rendered("svg", graph, max_boxes=2), "node")) == 2
    assert groups(rendered("svg", graph, fold=("views",)), "scope") == []
    with pytest.raises(UsageError, match="no scope 'net/nix'"):
        rendered("svg", graph, expand=("net/nix",))


@pytest.mark.parametrize("fmt", ["svg", "dot", "mermaid", "tree"])
def test_the_same_graph_gives_the_same_text(fmt: str) -> None:
    """Two renderings are equal, in every format."""
    assert rendered(fmt, stack_of_layers(5)) == rendered(fmt, stack_of_layers(5))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_everywhere(name: str) -> None:
    """A name that holds markup stays a name in scope, operator, parameter, finding and cut edge; XML parses."""
    graph = snapshot(
        [("Sum", ""), (name, f"net/{name}"), ("Mul", f"net/{name}"), ("", "")], [(0, 1), (1, 2), (2, 3)], 1
    )
    graph.name[3] = name
    finding = Finding("x", name, marks=(Mark(0, 1, name, ghost=name),))
    for options in ({}, {"fold": ()}, {"max_boxes": 1}):
        text = rendered("svg", graph, title=name, findings=(finding,), **options)
        assert {element.tag.removeprefix(SVG) for element in ET.fromstring(text.encode("utf-8", "replace")).iter()} <= {
            *("svg", "title", "desc", "style", "rect", "g", "path", "text", "tspan", "defs", "marker", "a", "circle")
        }
        mermaid = rendered("mermaid", graph, title=name, findings=(finding,), **options)
        assert mermaid.count("  subgraph ") == mermaid.count("  end\n")
        assert all(len(line) < 1000 for line in rendered("tree", graph, findings=(finding,), **options).splitlines())


@pytest.mark.skipif(shutil.which("dot") is None, reason="reads DOT with Graphviz itself")
def test_clusters_are_read_by_graphviz() -> None:
    """Graphviz takes hostile labels of clusters, nodes and edges for words."""
    rows = [("Sum", "")] + [(name, f"net/{name}") for name in HOSTILE if len(name) < 100 for _ in range(2)]
    text = rendered("dot", snapshot(rows, [(n, n + 1) for n in range(len(rows) - 1)]), expand=("all",))
    done = subprocess.run(["dot", "-Tcanon"], input=text.encode("utf-8", "replace"), capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"subgraph cluster") == text.count("subgraph cluster")


def test_findings_are_marked_and_cuts_are_dashed() -> None:
    """A finding colours the box that shows its node, also a closed one; what was cut is a dashed edge."""
    graph = stack_of_layers(12)
    finding = Finding(
        "cut", "m", marks=(Mark(0, 4, "weight has no gradient", ghost="cut by detach()"), Mark(1, 0, "no"))
    )
    text = rendered("svg", graph, findings=(finding,))
    marked = groups(text, "marked")

    assert [group.get("id") for group in marked] == ["n4"]
    assert "⚠ weight has no gradient" in "".join(marked[0].itertext())
    assert ["cut by detach()" in "".join(group.itertext()) for group in groups(text, "ghost")[:1]] == [True]
    assert len([group for group in groups(text, "cut") if "edge" in group.get("class", "").split()]) == 1
    closed = rendered("svg", graph, findings=(finding,), max_boxes=2)
    assert [group.get("class") for group in groups(closed, "marked")] == ["node closed marked error"]
    assert 'style="dashed"' in rendered("dot", graph, findings=(finding,))
    assert "-.->" in rendered("mermaid", graph, findings=(finding,))


def test_measures_of_a_closed_scope_are_gathered() -> None:
    """Times and bytes of a box add up over all that it stands for, norms show the largest; names are the short ones."""
    graph = stack_of_layers(3)
    graph.measures = {"time_us": [1.0] * len(graph), "grad_norm": [float(node) for node in range(len(graph))]}
    graph.measures |= {"nan_count": [0.0] * len(graph), "inf_count": [2.0] * len(graph)}
    closed = rendered("svg", graph, color_by="time", max_boxes=2)

    assert f"{len(graph) - 1} µs" in "".join(groups(closed, "closed")[0].itertext())
    assert "norm of the gradient" in rendered("svg", graph, color_by="grad-norm")
    assert "NaN and infinite entries" in rendered("svg", graph, color_by="nonfinite")
    with pytest.raises(UsageError, match="'zero-share'.*time, grad-norm"):
        rendered("svg", graph, color_by="zero-share")


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_colour_scale_is_told_by_lightness_alone(palette: dict[str, str]) -> None:
    """Steps get steadily darker (lighter on black), so that no eye needs red or green; text stays readable."""
    steps = [luminance(colour) for colour in palette["heat"].split()]
    ink = luminance(palette["ink"])

    assert steps == sorted(steps, reverse=palette is LIGHT)
    assert all((max(ink, step) + 0.05) / (min(ink, step) + 0.05) >= 4.5 for step in steps)


def luminance(colour: str) -> float:
    """Relative luminance after WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_findings_on_no_node_stand_above_the_drawing() -> None:
    """What a finding says of parameters that are in no graph is told first: three lines and a count, hostile or not."""
    loose = [Finding("unused", f"{HOSTILE} {number}", severity="warning") for number in range(5)]
    text = rendered("svg", stack_of_layers(2), findings=(*loose, Finding("nan", "w is NaN")))
    told = groups(text, "finding")
    notes = [group.find(f"{SVG}text") for group in told]

    assert [group.get("class") for group in told] == ["finding error", "finding warning", "finding warning"]
    assert notes[0] is not None
    assert notes[0].text == "⚠ w is NaN"
    assert "… 3 more findings" in text
    tops = [float(group.find(f"{SVG}text").get("y", "0")) for group in told]  # type: ignore[union-attr]
    assert tops == sorted(set(tops))
    drawn = [group for group in groups(text, "step")[0] if group.find(f"{SVG}g[@id='n0']") is not None]
    assert [float(group.get("transform", "").rstrip(")").split()[1]) > tops[-1] + 16 for group in drawn] == [True]
    for fold in (None, ()):
        assert rendered("tree", stack_of_layers(2), findings=tuple(loose), fold=fold).startswith("⚠ ")
    still = rendered("html", stack_of_layers(2), findings=tuple(loose)).partition("</noscript>")[0]
    assert still.count("<li>⚠ ") == 5


@pytest.mark.parametrize("fold", [None, ()])
def test_findings_on_what_is_not_drawn_stand_above_the_drawing(fold: tuple[str, ...] | None) -> None:
    """A finding on a node beyond the cap, or in another backward, is not lost; one on a drawn node stands there."""
    far = Finding("nan", "far away", marks=(Mark(0, 19),))
    other = Finding("nan", "elsewhere", marks=(Mark(7, 0),))
    near = Finding("nan", "right here", marks=(Mark(0, 1, "", "detached"),))
    graph = snapshot([(f"Op{number}", "") for number in range(20)], list(itertools.pairwise(range(20))))
    text = rendered("svg", graph, findings=(far, other, near), fold=fold, max_nodes=4)
    lines = rendered("tree", graph, findings=(far, other, near), fold=fold).splitlines()

    assert ["".join(group.itertext()).count("far away") for group in groups(text, "finding")] == [2, 0]
    assert text.count("right here") == 2
    assert lines[0] == "⚠ elsewhere"
    assert [line.partition("⚠ ")[2] for line in lines if "⚠" in line] == ["elsewhere", "right here", "far away"]
    assert sum("cut: detached" in line for line in lines) == 1


def test_a_finding_of_an_equal_graph_is_marked_where_the_last_is_drawn(tmp_path: Path) -> None:
    """A loop makes one graph again and again: what is found at its first step stands on the node of the last, too."""
    with rg.debug(level="full") as trace:
        w = rg.ones(4, 1, requires_grad=True)
        for _ in range(3):
            ((rg.ones(4, 4) @ w) - rg.ones(4)).pow(2).mean().backward()
            w.grad = None
    save(trace.recording, str(tmp_path / "x.svg"))
    (marked,) = groups((tmp_path / "x.svg").read_text(encoding="utf-8"), "marked")

    assert [finding.kind for finding in trace.findings] == ["broadcast"]
    assert "broadcast to (4, 4) (backward 0)" in "".join(marked.itertext())


def test_findings_of_other_graphs_are_not_carried() -> None:
    """Only a graph that is the same in all columns is marked, once, and one that has a mark of its own as it is."""
    one, like, other = (snapshot([("Sum", ""), ("Exp", "")], [(0, 1)]) for _ in range(3))
    other.shape[1] = (7,)
    finding = Finding("x", "words", marks=(Mark(0, 1, "here"),))

    assert carried([finding], [one, like], 1)[0].marks == (Mark(0, 1, "here"), Mark(1, 1, "here"))
    assert carried([finding], [one, like, other], 2) == [finding]
    assert carried([finding], [one, like], 0) == [finding]
    assert carried([Finding("y", "no place")], [one, like], 1)[0].marks == ()


def test_saved_drawings_show_what_a_diagnosis_finds(tmp_path: Path) -> None:
    """A drawing that people look at is marked without being asked for it, one for programs is not."""
    with rg.debug() as trace:
        rg.log(rg.zeros(2, requires_grad=True)).sum().backward()
    found = {}
    for name in ("x.svg", "x.txt", "x.dot"):
        save(trace.recording, str(tmp_path / name))
        found[name] = "the first bad value is born here" in (tmp_path / name).read_text(encoding="utf-8")

    assert found == {"x.svg": True, "x.txt": True, "x.dot": False}


def test_cards_of_a_module_that_is_called_twice_say_the_same() -> None:
    """Behind an operator's name stands its module within the frame around it, in the second call as in the first."""
    rows = [("Sin", "net/block/a"), ("Exp", "net/block/b"), ("Norm", "net")]
    graph = snapshot([*rows, *rows], list(itertools.pairwise(range(6))))
    text = rendered("svg", graph, fold=("modules",))
    said = ["".join(group.itertext()) for group in groups(text, "node")]

    assert len(groups(text, "scope")) == 3
    assert [words.count("block") for words in said] == [1] * 2 + [0] + [1] * 2 + [0]


def test_what_was_cut_off_before_a_layer_stands_outside_of_it() -> None:
    """A layer of one operator stays a card although its input was detached, and the detached value is seen."""
    graph = snapshot([("Sum", "net"), ("Convolution", "net/conv")], [(0, 1)])
    graph.cuts = [Cut(1, "detach", SourceLine("t.py", 4, "f"), -1)]
    text = rendered("svg", graph)

    assert len(groups(text, "ghost")) == 2  # the card and its entry in the legend
    assert not groups(text, "closed")
    assert "net/conv" not in {frame.findtext(f"{SVG}title", "").split()[0] for frame in groups(text, "scope")}
