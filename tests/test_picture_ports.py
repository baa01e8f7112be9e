"""Outputs of a card are told apart by name and port, writes in place are said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import retrograd as rg
from retrograd.inspect.fold import everything, first_opening, fold, view
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.layout import Size, nested
from retrograd.inspect.render import RenderOptions, labels
from retrograd.inspect.render.card_words import box_words
from retrograd.inspect.render.reached import unreached_words
from retrograd.inspect.render.scene import scene
from retrograd.inspect.render.titles import titles, writes_in_place


@pytest.fixture(params=["retrograd", "torch"])
def torch(request: pytest.FixtureRequest) -> Any:
    """Each engine."""
    return rg if request.param == "retrograd" else pytest.importorskip("torch")


def graph_of(run: Callable[[], Any]) -> Graph:
    """The graph of a loss, as a watched program records it."""
    with rg.debug(level="graph") as trace:
        run().backward()
    return trace.graph


def autoencoder(torch: Any) -> Any:
    """A loss that uses both halves of what an encoder gives, in two places each."""
    nn = torch.nn

    class Coder(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.enc, self.dec = nn.Linear(6, 8), nn.Sequential(nn.Linear(4, 6), nn.ReLU())

        def forward(self, x: Any) -> Any:
            mu, logvar = self.enc(x).chunk(2, dim=1)
            return self.dec(mu + torch.exp(0.5 * logvar)), mu, logvar

    x = torch.ones(3, 6)
    out, mean, spread = Coder()(x)
    return ((out - x) ** 2).sum() + (mean**2).sum() + (spread.exp() - spread).sum()


def carried(graph: Graph) -> set[str]:
    """What lines say of outputs of cards that have several."""
    return {labels.output_text(graph, edge) for edge in range(graph.edge_count)} - {""}


def of_local_names(torch: Any, line: str, file: Path) -> set[str]:
    """What is said of outputs that a function calls by a line of its own, which is over when backward begins."""
    space: dict[str, Any] = {"torch": torch}
    parts = re.findall(r"\b[abc]\b", line.partition("=")[0]) or ["parts"]
    total = " + ".join(f"({name} * {number}).sum()" for number, name in enumerate(parts, 2))
    if parts == ["parts"]:
        total = "sum((part * part).sum() for part in parts)"
    file.write_text(f"def run(w):\n    {line}\n    return {total}\n")
    exec(compile(file.read_text(), str(file), "exec"), space)
    w = torch.ones(3, 6, requires_grad=True)
    return carried(graph_of(lambda: space["run"](w * 2)))


def test_outputs_are_called_as_the_program_calls_them(torch: Any, tmp_path: Path) -> None:
    """Lines from a card of two outputs say which is which, in drawing and page, by names of a call that is over."""
    graph = graph_of(lambda: autoencoder(torch))

    assert carried(graph) == {"mu", "logvar"} or carried(graph) == {"mean", "spread"}
    graph.save(tmp_path / "out.svg")
    words = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / "out.svg").read_text())
    assert {word.split()[0] for word in words if word} >= carried(graph)


@pytest.mark.parametrize("view_of", [lambda seen: seen, lambda seen: seen.turned()])
def test_lines_of_different_values_share_no_port(torch: Any, view_of: Callable[[Any], Any]) -> None:
    """Whether gradients or values run down: what begins or ends at one place of a card is one value."""
    folded = fold(graph_of(lambda: autoencoder(torch)))
    for opening in (first_opening(folded), everything(folded), first_opening(folded, 4)):
        seen = view_of(view(folded, opening.opened, opening.unrolled))
        made = nested.layout(seen, [Size(120.0, 60.0)] * len(seen.boxes))
        values = seen.values()
        for end in (0, -1):
            known: dict[Any, int] = {}
            for points, value in zip(made.edges, values, strict=True):
                assert known.setdefault(points[end], value) == value


def calls(graph: Graph) -> dict[str, bool]:
    """Per title whether its card says that it writes in place."""
    named = titles(graph)
    return {name: "in place" in name or writes_in_place(graph, node) for node, name in enumerate(named) if name}


WRITES = {
    "torch.nn.functional.relu(h, inplace=True)": True,
    "torch.nn.functional.leaky_relu(h, 0.1, True)": True,
    "torch.nn.functional.relu(input=h, inplace=True)": True,
    "torch.nn.ReLU(True)(h)": True,
    "torch.nn.Sequential(torch.nn.Identity(), torch.nn.ELU(inplace=True))(h)": True,
    "h.tanh_()": True,
    "torch.nn.functional.relu(h)": False,
    "torch.nn.ReLU()(h)": False,
    "torch.nn.Sequential(torch.nn.Identity(), torch.nn.ELU())(h)": False,
    "torch.tanh(h)": False,
}


@pytest.mark.parametrize("line", WRITES)
def test_a_call_that_writes_in_place_says_so(torch: Any, line: str) -> None:
    """However it was asked for: by keyword, by place, by a layer or by name; twins that do not write say nothing."""
    space = {"torch": torch, "h": None}

    def run() -> Any:
        space["h"] = torch.ones(3, requires_grad=True) * 2 + 1
        return (eval(line, space) * 3).sum()

    said = calls(graph_of(run))
    assert any(said.values()) is WRITES[line], said


LINES = {
    "a, b = w.chunk(2, 1)": {"a", "b"},
    "a, b, c = torch.split(w, 2, dim=1)": {"a", "b", "c"},
    "[a, b, c] = w.unbind(0)": {"a", "b", "c"},
    "a, _, b = (w + 1).unbind(0)": {"a", "b"},
    "parts = w.chunk(2, 1)": {"output 1"},
    "a, b = [part * 2 for part in w.chunk(2, 1)]": {"output 1"},
    "a, *b = w.unbind(0); b = b[0]": {"output 1"},
    "a, b = (w * 2, w * 3)": set[str](),
}


@pytest.mark.parametrize("line", LINES)
def test_names_are_those_of_the_line_that_takes_the_outputs_apart(torch: Any, tmp_path: Path, line: str) -> None:
    """Only a line that assigns the outputs of this call to names names them; all others are told apart by number."""
    assert of_local_names(torch, line, tmp_path / "made.py") == LINES[line]


def test_a_closed_box_says_which_lines_it_holds(torch: Any, tmp_path: Path) -> None:
    """Drawing and page give a box the lines of the program in it, as a card has its own."""
    graph = graph_of(lambda: autoencoder(torch))
    lines = sorted({source.line for source in graph.source if source and source.function.endswith("forward")})
    graph.save(tmp_path / "out.svg", max_boxes=3)
    graph.save(tmp_path / "out.html", max_boxes=3)

    words = f"{Path(__file__).name}:{lines[0]}–{lines[-1]}"
    assert words in (tmp_path / "out.svg").read_text()
    assert words in (tmp_path / "out.html").read_text()


def test_nodes_of_a_gradient_that_is_differentiated_have_words(torch: Any) -> None:
    """What a backward pass computed is called after the operator whose derivative it is, not as a kernel is."""

    def run() -> Any:
        x = torch.ones(3, requires_grad=True)
        (slope,) = torch.autograd.grad(torch.tanh(x * 2).sum(), x, create_graph=True)
        return (slope**2).sum()

    named = set(titles(graph_of(run)))
    assert named & {"tanh", "tanh backward"}
    assert not any(name.endswith("Backward") for name in named)


def test_a_cut_between_closed_boxes_is_no_part_of_what_flows(torch: Any) -> None:
    """A value that another box takes with its gradient and detached has a whole line and a dashed one between them."""
    nn = torch.nn

    class Mix(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.last((x.detach() * 2 + x).tanh())

    class Both(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)), Mix()

        def forward(self, x: Any) -> Any:
            return self.two(self.one(x))

    model = Both()
    graph = graph_of(lambda: model(torch.ones(3, 2)).sum())
    for options, boxes in ((RenderOptions(), 7), (RenderOptions(max_boxes=3), 3)):
        drawn = scene(graph, options)
        assert len(drawn.view.boxes) == boxes
        assert sorted(map(drawn.is_cut, range(len(drawn.view.edges)))) == [False] * (boxes - 1) + [True]


def test_outputs_within_a_repeated_block_stay_apart(torch: Any) -> None:
    """One block that is drawn for many has a line per output; lines that stand for several blocks name no output."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(4, 12)

        def forward(self, x: Any) -> Any:
            q, k, v = self.qkv(x).chunk(3, dim=1)
            return (q @ k.t()).tanh() @ v

    model = nn.Sequential(*(Block() for _ in range(13)))
    drawn = scene(graph_of(lambda: model(torch.ones(3, 4)).sum()), RenderOptions(max_boxes=12))
    assert any(box.copies > 10 for box in drawn.view.boxes)
    assert {label.split()[0] for label in drawn.edge_labels} >= {"q", "k", "v"}

    steps = torch.ones(12, 3, requires_grad=True)
    rows = scene(graph_of(lambda: sum(part.exp().sin().sum() for part in (steps * 2).unbind(0))), RenderOptions())
    joined = [label for label, count in zip(rows.edge_labels, rows.view.counts, strict=True) if count > 1]
    assert not any("output" in label for label in joined)


SHARED = {
    "w[:, 0]": True,
    "torch.narrow(w, 1, 0, 2)": True,
    "w[torch.tensor([0, 2])]": False,
    "w[w > 0]": False,
    "w.index_select(0, torch.tensor([0, 2]))": False,
    "torch.tanh(w)": False,
}


@pytest.mark.parametrize("line", SHARED)
def test_only_what_shares_memory_is_called_a_view(torch: Any, line: str) -> None:
    """Indices copy what slices share, although both are written in brackets."""
    w = torch.ones(3, 6, requires_grad=True) * 2
    drawn = scene(graph_of(lambda: (eval(line, {"torch": torch, "w": w}) * 3).sum()), RenderOptions())
    said = [row.text for box in range(len(drawn.seen)) for row in box_words(drawn, box)[2]]

    assert ("view" in said) == SHARED[line]


def test_a_layer_that_took_two_operators_is_one_card(torch: Any) -> None:
    """A linear layer of a batch that lies otherwise in memory is a product and a sum, and still a layer."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    batch = torch.ones(3, 2, 4).transpose(0, 1)
    drawn = scene(graph_of(lambda: model(batch).transpose(0, 1).sum()), RenderOptions())

    names = [box_words(drawn, box)[0] for box in range(len(drawn.seen))]
    assert not {"mm", "matmul", "addmm"} & set(names)
    assert sum("Linear" in name for name in names) == 2


def test_many_parameters_without_a_gradient_are_said_by_module() -> None:
    """Those of one module are said by the innermost one around all; a few are named one by one."""
    teacher = [f"teacher.layers.{number}.weight 4×4" for number in range(12)]

    assert unreached_words(teacher) == "No gradient: teacher.layers (12 parameters). Ask why: retrograd diagnose"
    assert "teacher.layers (12 parameters), gate 3." in unreached_words([*teacher, "gate 3"])
    assert unreached_words(teacher, asked=True) == "No gradient: teacher.layers (12 parameters)."
    assert "teacher.layers.0.weight 4×4, teacher.layers.1.weight 4×4." in unreached_words(teacher[:2])
