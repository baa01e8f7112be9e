"""Where gradients stop, noted at every level and drawn: the call that ended each, on both engines."""

from __future__ import annotations

import json
import re

import pytest
from recorded_pair import record

from retrograd.inspect import Recording
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.reached import reached

ENGINES = ("torch", "retrograd")

TARGET = """import torch
from torch import nn
torch.manual_seed(0)
net, target = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
x = torch.ones(3, 4)
with torch.no_grad():
    goal = target(x).max(1).values
loss = (net(x)[:, 0] - goal).pow(2).mean()
loss.backward()
"""
WAYS = """import torch
from torch import nn
torch.manual_seed(0)
emb, lin, head = nn.Embedding(5, 4), nn.Linear(4, 5), nn.Linear(4, 1)
x = torch.ones(3, 4)
y = head(emb(lin(x).argmax(1)))
number = y.mean().item()
array = torch.from_numpy(lin(x).detach().numpy())
steps = x @ lin.weight.data.t()
loss = (y * number).sum()
loss = loss + (array * y).sum()
loss = loss + (steps * y).sum()
loss.backward()
"""
BRANCH = """import torch
from torch import nn
trunk, head, side = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
h = trunk(torch.ones(2, 4)).relu()
loss = head(h).sum() + side(h.detach()).sum()
loss.backward()
"""
SOUND = """import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 4))
w = torch.zeros(4, requires_grad=True)
average = [p.detach().clone() for p in net.parameters()]
opt = torch.optim.Adam(net.parameters())
for step in range(2):
    y = net(torch.ones(6, 4)) * w.exp() + torch.rand(6, 4)
    y = y * (y > 0) + torch.zeros_like(y)
    loss = y.pow(2).mean()
    right = (y.argmax(1) == 0).float().mean().item()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        w -= 0.1 * w.grad
        for mean, p in zip(average, net.parameters()):
            mean.mul_(0.9).add_(p, alpha=0.1)
"""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine that there is."""
    if request.param == "torch":
        pytest.importorskip("torch")
    return str(request.param)


def recorded(text: str, engine: str, level: str = "graph") -> Recording:
    """Run a program that ends well."""
    text = text.replace("from torch", f"from {engine}")
    found, error = record(text, engine, level)
    assert error is None
    return found


def cuts(found: Recording) -> list[tuple[str, int, str]]:
    """Return word and line of each cut in the last graph, and the node whose result it was."""
    graph = found.graphs[-1]
    names = [*graph.op, ""]
    return sorted((cut.word, cut.source.line if cut.source else 0, names[cut.origin]) for cut in graph.cuts)


def drawn(found: Recording, fmt: str, **options: object) -> str:
    """Return the drawing of a recording."""
    made = renderer_for(fmt).render(found, RenderOptions(**options))  # type: ignore[arg-type]
    assert isinstance(made, str)
    return made


@pytest.mark.parametrize("level", ["graph", "full"])
def test_a_network_without_gradients_is_one_cut(engine: str, level: str) -> None:
    """However many layers run under no_grad, the values are cut once, at the line of the program that began it."""
    assert cuts(recorded(TARGET, engine, level)) == [("no_grad", 7, "")]


def test_each_way_out_of_the_graph_is_found_where_the_values_come_back(engine: str) -> None:
    """An index from argmax, a number from item, an array and .data are followed into the node that takes them."""
    assert cuts(recorded(WAYS, engine)) == [("argmax", 6, ""), ("data", 9, ""), ("detach", 8, ""), ("item", 7, "")]


def test_a_cut_between_two_nodes_of_a_graph_is_an_edge(engine: str) -> None:
    """A branch on detached values hangs on the operator whose result was detached, by a dashed edge with its line."""
    found = recorded(BRANCH, engine)
    assert [(word, line, op.rstrip("0")) for word, line, op in cuts(found)] == [("detach", 5, "ReluBackward")]
    edges = re.findall(r'<g class="edge cut"[^>]*>(.*?)</g>', drawn(found, "svg"))
    assert len(edges) == 1
    assert "detach recorded_program.py:5" in edges[0]
    assert "detach recorded_program.py:5" in drawn(found, "html")
    assert "cut: detach recorded_program.py:5 from n" in drawn(found, "tree")


@pytest.mark.parametrize("level", ["graph", "full"])
def test_nothing_is_cut_in_a_sound_program(engine: str, level: str) -> None:
    """Updates in place, moving averages, accuracies, masks of the values themselves and dropout cut nothing off."""
    found = recorded(SOUND, engine, level)
    assert cuts(found) == []
    assert "cut" not in drawn(found, "tree")


def test_a_finding_draws_no_second_cut(engine: str) -> None:
    """What a recording knows to be cut at a call is drawn there once, and not at the weight that stands beside it."""
    text = """import torch
from torch import nn
g, h = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*g.parameters(), *h.parameters()], lr=0.1)
loss = h(g(torch.ones(5, 4)).detach()).mean()
loss.backward()
opt.step()
"""
    from retrograd.inspect.output import with_findings

    found = recorded(text, engine, "full")
    options = with_findings(found, RenderOptions())
    assert any(mark.ghost for finding in options.findings for mark in finding.marks)
    made = renderer_for("svg").render(found, options)
    assert isinstance(made, str)
    assert made.count('class="edge cut"') == 1


def test_parameters_without_a_gradient_are_counted_and_named(engine: str) -> None:
    """The headline says how many parameters get a gradient; the others are named in drawing, page, tree and stats."""
    from retrograd.inspect.render.stats_tables import chosen_statistics

    found = recorded(BRANCH.replace("h.detach()", "h") + "side(h.detach()).sum().backward()\n", engine)
    first, second = reached(found)
    assert first is not None
    assert second is not None
    assert (first.count, first.total, first.without) == (6, 6, ())
    assert second.headline == "2 of 6 parameters get a gradient, 4 in other backward passes"
    found = recorded(
        BRANCH.replace("trunk(torch", "trunk.train()(torch").replace("head(h)", "head(h.detach())"), engine
    )
    for fmt in ("svg", "tree", "html"):
        assert "4 of 6 parameters get a gradient" in drawn(found, fmt)
        assert "trunk.weight 4×4" in drawn(found, fmt)
    assert chosen_statistics(found, RenderOptions())[0].unreached == ("trunk.weight 4×4", "trunk.bias 4")


def test_frozen_parameters_ask_for_no_gradient(engine: str) -> None:
    """Parameters that were frozen before their module was called are not counted among those without a gradient."""
    found = recorded(BRANCH.replace("\nh =", "\ntrunk.requires_grad_(False)\nh ="), engine)
    (only,) = reached(found)
    assert only is not None
    assert only.headline == "4 parameters get a gradient, 2 are frozen"


def test_a_cut_survives_saving(engine: str) -> None:
    """A recording read from its file has the cuts, calls and classes that it was written with."""
    found = recorded(BRANCH, engine)
    again = Recording.from_plain(json.loads(json.dumps(found.to_plain())))
    one, other = found.graphs[-1], again.graphs[-1]
    assert other.cuts == one.cuts != []
    assert (other.call, other.classes) == (one.call, one.classes)
    assert one.classes == {"trunk": "Linear", "head": "Linear", "side": "Linear"}


NAMES = """import torch
from torch import nn
import torch.nn.functional as F
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return torch.relu(self.fc(x)) * 2
net = nn.Sequential(Block(), Block())
loss = F.cross_entropy(net(torch.ones(2, 4)), torch.zeros(2, dtype=torch.int64))
loss.backward()
"""


def test_cards_are_called_as_the_program_calls(engine: str) -> None:
    """Titles are layers and functions of the program, boxes have their classes, cards in modules their lines."""
    found = recorded(NAMES.replace("import torch.nn", f"import {engine}.nn"), engine)
    tree = drawn(found, "tree")
    rows = [line.strip("├─└│ ") for line in tree.splitlines()]
    assert [row.split()[0] for row in rows[1:]] == [
        *("cross_entropy", "log_softmax", "net:"),
        *("net.1:", "mul", "relu", "Linear", "net.0:", "mul", "relu", "Linear"),
    ]
    assert rows[3] == "net: Sequential"
    assert rows[4] == "net.1: Block"
    assert "recorded_program.py:9" in rows[6]
    assert "Backward" not in tree


def test_a_root_inside_an_object_has_its_name() -> None:
    """A loss that no variable holds is called by the attribute of the one that holds what a model returned."""
    pytest.importorskip("torch")
    text = """import torch
class Output:
    pass
out = Output()
out.loss = torch.ones(3, requires_grad=True).sum()
out.loss.backward()
"""
    assert recorded(text, "torch").graphs[-1].root_names == ["out.loss"]


def test_forward_and_backward_in_one_view(engine: str) -> None:
    """A view the way values flow begins at the inputs and ends at the loss; gradients come back but over a cut."""
    found = recorded(BRANCH, engine)
    back, forth, both = (drawn(found, "svg", view=view) for view in ("backward", "forward", "both"))
    edges = [re.findall(r'<g class="(edge[^"]*)" data-edge="(\d+) (\d+)"', text) for text in (back, forth)]
    rows = [row.split()[1] for row in drawn(found, "tree", view="forward").splitlines()[1:]]

    assert sorted((css, giver, taker) for css, taker, giver in edges[0]) == sorted(edges[1])
    assert both.count("#tip-back") == both.count('class="edge"') == len(edges[0]) - 1
    assert "#tip-back" not in forth
    assert (rows[0], rows[-1]) == ("Linear", "add")
    assert "without a gradient" in drawn(found, "tree", view="both")


def test_no_label_covers_another() -> None:
    """However many lines leave a card side by side, each label stands apart from the others or is left out."""
    from retrograd.inspect.render.drawing import LabelPlaces

    places = LabelPlaces()
    lines = [[(x, 0.0), (x, 20.0), (x, 40.0), (x, 60.0)] for x in (0.0, 8.0, 16.0, 24.0, 100.0)]
    found = [places.find(line, "output 12") for line in lines]

    assert found == [(0.0, 17.0), (8.0, 29.0), (16.0, 41.0), None, (100.0, 17.0)]


def test_layers_under_no_grad_are_one_call() -> None:
    """A module called without gradients is cut off as a whole, one that switches them off inside at its own line."""
    pytest.importorskip("torch")
    text = """import torch
from torch import nn
class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.teacher = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    def forward(self, x):
        with torch.no_grad():
            goal = self.teacher(x) * 2
        return self.own(x) - goal
net, frozen = Student(), nn.Linear(4, 4).requires_grad_(False)
with torch.no_grad():
    offset = frozen(torch.ones(2, 4)) + net(torch.ones(2, 4))
(net(torch.ones(2, 4)) + offset).sum().backward()
"""
    assert cuts(recorded(text, "torch")) == [("no_grad", 9, ""), ("no_grad", 13, "")]


def test_all_results_of_a_call_have_their_names(engine: str) -> None:
    """A node with several outputs is called by all variables that hold one, in the order of the outputs."""
    text = """import torch
x = torch.ones(6, 2, requires_grad=True)
v, q, k = (x * 2).chunk(3)
loss = (q * k + v).sum()
loss.backward()
"""
    assert "v, q, k" in recorded(text, engine).graphs[-1].name


def test_a_finding_on_a_card_is_wrapped_and_whole() -> None:
    """What a finding says of a node stands on its card line below line, nothing left out."""
    from retrograd.inspect.findings import Finding, Mark

    words = " ".join(f"word{number}" for number in range(60))
    found = recorded(BRANCH, "retrograd")
    findings = (Finding(kind="k", message="m", marks=(Mark(0, 0, words),)),)
    rows = re.findall(r'<text class="w"[^>]*>([^<]*)</text>', drawn(found, "svg", findings=findings))

    assert len(rows) > 2
    assert " ".join(rows) == f"⚠ {words}"


def test_tensors_without_memory_do_no_harm() -> None:
    """Sparse tensors and those on the meta device leave and enter graphs, and nothing goes wrong with recording."""
    pytest.importorskip("torch")
    text = """import torch
w = torch.ones(3, 3, requires_grad=True)
array = (w * 2).detach().numpy()
left = (w * 2).detach().to_sparse().coalesce()
kept = w.to_sparse().detach()
bare = torch.ones(3, 3, device="meta", requires_grad=True)
(bare * bare.detach() + bare.argmax()).sum()
values, places = (w * torch.ones(3, 3)).to_sparse().to_dense().max(1)
loss = (torch.sparse.mm(left, w) + values).sum()
loss.backward()
"""
    found = recorded(text, "torch")
    assert not [event for event in found.events if event.kind == "missed"]
    assert ("detach", 4, "MulBackward0") not in cuts(found)
