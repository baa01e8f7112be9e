"""What a finding tells to write instead is right for the line that it is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import record

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.findings import Finding

ZERO_ROW = """
rows = torch.ones(3, 2)
rows[1] = 0
h = rows * torch.ones(2, requires_grad=True)
(h / h.norm(dim=1, keepdim=True)).sum().backward()
"""
SINGLE_ENTRIES = """
h = torch.arange(4.0).reshape(1, 4) * torch.ones(4, requires_grad=True)
((h - 1) / (h.std(0) + 1e-5)).sum().backward()
"""
SCALED_TWICE = """
w = torch.ones(3, requires_grad=True)
scale = torch.full((3,), 2.0)
y = w * scale
scale.data.mul_(0.9).add_(0.1)
y.sum().backward()
"""
RETURNED = """
w = torch.ones(3, requires_grad=True)
def errors(weight, powers):
    return [(weight ** k - 2).square().sum() for k in powers]
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    found = torch.tensor(errors(w, range(1, 4)), requires_grad=True)
    total = found.mean()
    total.backward()
    opt.step()
"""
METRIC = """
logits = torch.ones(4, 2) * torch.ones(2, requires_grad=True)
labels = torch.zeros(4)
hits = (logits.numpy().argmax(1) == labels.numpy()).mean()
"""
LISTED = """
w = torch.ones(3, requires_grad=True)
parts = [(w * k).sum() for k in range(3)]
loss = torch.tensor(parts, requires_grad=True).sum()
loss.backward()
with torch.no_grad():
    w -= 0.1 * w.grad
"""
COPIED = """
w = torch.ones(3, requires_grad=True)
total = (w * 2).sum()
loss = torch.tensor(total.detach(), requires_grad=True)
loss.backward()
with torch.no_grad():
    w -= 0.1 * w.grad
"""
CUT_OFF = """
gate = torch.full((3,), 0.2, requires_grad=True)
w = torch.ones(3, requires_grad=True)
keep = (gate > 0.5).float()
(w * keep + w).sum().backward()
with torch.no_grad():
    for p in (gate, w):
        p -= 0.1 * p.grad
"""
OUT_OF_BOUNDS = """
scale = torch.tensor(5.0, requires_grad=True)
w = torch.ones(3, requires_grad=True)
(w * scale.clamp(-1, 2)).sum().backward()
"""
STACKED = """
w = torch.ones(3, requires_grad=True)
losses = w * 2
(1.0 * losses).backward()
"""
HALF = """
scale = torch.tensor(4.0).half().requires_grad_()
values = torch.linspace(-1, 5, 12).half()
torch.exp(values * scale).sum().log().backward()
"""
PAIRS = """
mass = torch.rand(3, requires_grad=True)
rows, columns = torch.tensor([0, 1, 1]), torch.tensor([0, 2, 2])
cells = torch.zeros(3, 3).index_put((rows, columns), mass)
cells.sum().backward()
"""
TRANSPOSED = """
w = torch.randn(6, 3, requires_grad=True)
tied = w.detach().t().clone().requires_grad_()
x = torch.randn(4, 6)
opt = torch.optim.SGD([w, tied], lr=0.1)
for step in range(3):
    loss = (torch.tanh(x @ w) @ tied - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
STATE_KEPT = """
class Tracker:
    def __init__(self):
        self.cell, self.memory = torch.nn.GRUCell(3, 6), torch.zeros(2, 6)

    def __call__(self, x):
        self.memory = self.cell(x, self.memory)
        return self.memory.sum()


tracker = Tracker()
for x in torch.ones(3, 2, 3):
    tracker(x).backward()
"""

INFERRED = """
@torch.inference_mode()
def features(x):
    return x * 2


w = torch.ones(3, requires_grad=True)
loss = (w * features(torch.ones(3))).sum()
"""
PARTS = """
w = torch.ones(4, requires_grad=True)
rows = w * 2
with torch.no_grad():
    parts = {0: rows.narrow(0, 0, 2), 2: rows.narrow(0, 2, 2)}
parts[2].zero_()
"""
RANKS = """
w = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
ranks = torch.argsort(w).float()
torch.autograd.grad(ranks.sum(), [w])
"""
MEAN = """
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, error):
        ctx.save_for_backward(error)
        return (0.5 * error ** 2).mean()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


Half.apply(torch.arange(1.0, 7.0, requires_grad=True)).backward()
"""
COPIED_DEEPLY = """
import copy


def run(w):
    return {"score": (w * 2).mean()}


result = run(torch.ones(3, requires_grad=True))
copy.deepcopy(result)
"""
COPIES_TRAINED = """
import copy
base = torch.nn.Linear(3, 1)
towers = torch.nn.ModuleList([copy.deepcopy(base) for _ in range(2)])
opt = torch.optim.SGD(base.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    sum(tower(torch.ones(2, 3)).sum() for tower in towers).backward()
    opt.step()
"""
SCALES_IN_A_LIST = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 3)
        self.scales = [torch.nn.Parameter(torch.ones(3))]

    def forward(self, x):
        return x + self.scales[0] * self.body(x) - self.scales[0]


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    (net(torch.randn(4, 3)) - 1).square().mean().backward()
    opt.step()
"""
ADVANTAGE_OF_A_CONSTANT_RATIO = """
from torch.distributions import Categorical
actor, critic = torch.nn.Linear(3, 2), torch.nn.Linear(3, 1)
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
for step in range(4):
    state = torch.randn(8, 3)
    policy, value = Categorical(logits=actor(state)), critic(state).squeeze(1)
    action = policy.sample()
    old = policy.log_prob(action)
    advantage = (action.float() - value).detach()
    ratio = torch.exp(policy.log_prob(action) - old)
    loss = -(ratio * advantage).mean() + (value - 1).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

SUMMED_IN_HALF = """
w = torch.full((64,), 60.0, requires_grad=True)
total = w.half().pow(2).sum(dtype=torch.float16)
total.float().backward()
"""
UPDATED_AWAY = """
delta = torch.zeros(3, requires_grad=True)
for step in range(2):
    loss = (delta - 1).pow(2).sum()
    loss.backward()
    step = 0.1 * delta.grad.sign()
    delta = (delta + step).clamp(-1, 1)
"""
DIVERGED = """
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e25)
for step in range(4):
    opt.zero_grad()
    net(torch.ones(3, 2)).pow(2).mean().backward()
    opt.step()
"""
TOO_LARGE = """
w = torch.full((3,), 1e25, requires_grad=True)
(w * 1e30).sum().backward()
"""
POLE = """
w = torch.tensor([0.0, 2.0], requires_grad=True)
w.pow(-2).sum().backward()
"""
INVERSE = """
w = torch.tensor([0.0, 2.0], requires_grad=True)
(1 / w).sum().backward()
"""
IGNORED = """
scores = torch.zeros(2, 3, requires_grad=True)
torch.nn.functional.cross_entropy(scores, torch.tensor([-100, -100])).backward()
"""
NOTHING = """
w = torch.ones(4, requires_grad=True)
chosen = (w * 2.0)[torch.zeros(4, dtype=torch.bool)]
chosen.mean().backward()
"""
FUNCTION = """
class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sqrt()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 0.5 / x.sqrt()

Root.apply(torch.tensor([0.0, 1.0], requires_grad=True)).sum().backward()
"""
SCALED_PARAMETER = """
gate = torch.nn.Parameter(torch.ones(2)) * 0.5
(gate * torch.ones(2)).sum().backward()
print(gate.grad)
"""


def first(text: str, engine: str, folder: Path) -> Finding:
    """The first finding of a program."""
    if engine == "torch":
        pytest.importorskip("torch")
    return diagnose(record(f"import torch\n{text}", folder, engine=engine))[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["retrograd", "torch"])
@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (ZERO_ROW, "divide by h.norm(dim=1, keepdim=True).clamp(min=1e-6)"),
        (SINGLE_ENTRIES, "std of a single entry has no value"),
        (SCALED_TWICE, "scale = scale.mul(0.9).add_(0.1)"),
        (METRIC, "logits.detach().numpy()"),
        (LISTED, "torch.stack(parts)"),
        (CUT_OFF, "torch.sigmoid(10 * (gate - 0.5))"),
        (OUT_OF_BOUNDS, "start with scale within the bounds"),
        (STACKED, "(1.0 * losses).sum().backward()"),
        (HALF, "(values * scale).float()"),
        (PAIRS, "index_put((rows, columns), values, accumulate=True)"),
        (TRANSPOSED, "w.t()"),
        (STATE_KEPT, "self.memory = self.memory.detach()"),
        (INFERRED, "features(torch.ones(3)).clone()"),
        (PARTS, "parts[2] = parts[2].clone()"),
        (RANKS, "torch.sigmoid(10 * (w.unsqueeze(-1) - w.unsqueeze(-2))).sum(-1)"),
        (MEAN, "divide what backward returns for error by error.numel()"),
        (COPIED_DEEPLY, "copy result with its tensors detached"),
        (COPIES_TRAINED, "the model"),
        (SUMMED_IN_HALF, "w.half().pow(2).float() in place of w.half().pow(2), and leave dtype=torch.float16 out"),
        (UPDATED_AWAY, "make it a leaf again at program.py:8: delta = (...).detach().requires_grad_()"),
        (DIVERGED, "a smaller learning rate: one step must change a weight by no more than a small part of it"),
        (TOO_LARGE, "scale w down"),
        (POLE, "keep w away from zero"),
        (INVERSE, "w.clamp(min=1e-6)"),
        (IGNORED, "all are ignore_index or of weight zero: leave such a batch out"),
        (NOTHING, "chosen is empty"),
        (FUNCTION, "let backward of Root return a finite number"),
        (SCALED_PARAMETER, "torch.nn.Parameter(...) around all of it"),
        (RETURNED, "torch.stack(errors(w, range(1, 4)))"),
    ],
    ids=["zero row", "single entries", "written twice", "metric", "listed", "comparison", "clamp"]
    + ["stacked", "half", "pairs", "transposed", "state"]
    + ["inferred", "parts", "ranks", "mean", "copied deeply", "copies trained"]
    + ["summed in half", "updated away", "diverged", "too large", "pole"]
    + ["inverse", "all ignored", "nothing", "function"]
    + ["scaled parameter", "returned"],
)
def test_remedy_is_about_the_line(text: str, remedy: str, engine: str, tmp_path: Path) -> None:
    """The remedy takes the names and the operator of the line, and mends what is wrong there."""
    assert remedy in first(text, engine, tmp_path).remedy


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_operands_that_the_line_has_no_words_for(engine: str, tmp_path: Path) -> None:
    """Within a distribution they go by a letter, not by the words of the call around them."""
    spread = "torch.distributions.Normal(torch.zeros(2, requires_grad=True), torch.zeros(2), validate_args=False)"
    remedy = first(f"{spread}.log_prob(torch.ones(2)).sum().backward()", engine, tmp_path).remedy

    assert "away from zero: log(x.clamp" in remedy or "divide by y.clamp" in remedy


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_array_of_history_is_named(engine: str, tmp_path: Path) -> None:
    """Of two arrays in one line, the one whose tensor has a history is to blame."""
    assert first(METRIC, engine, tmp_path).message.startswith("logits")


@pytest.mark.filterwarnings("ignore")
def test_copy_of_what_was_detached_is_no_remedy(tmp_path: Path) -> None:
    """Where a line makes a leaf of what it detached, it would still be a leaf without ``detach()``."""
    assert "use total itself" in first(COPIED, "torch", tmp_path).remedy


UNUSED_ENTRIES = """
layers = [torch.ones(2, 2, requires_grad=True) for _ in range(3)]
opt = torch.optim.SGD(layers, lr=0.1)
(torch.ones(2) @ layers[0]).sum().backward()
for p in layers:
    if p.grad is not None:
        p.grad.norm()
opt.step()
"""


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_leaves_that_share_the_name_of_a_loop_are_told_apart(engine, tmp_path: Path) -> None:
    """What a loop's variable names one after the other goes by its place in the list."""
    found = first(UNUSED_ENTRIES, engine, tmp_path)
    assert found.message.startswith("layers[1] and layers[2] are not reachable from ")
    assert found.remedy == "use them in forward, or leave them out"


BAD_ARRAY = """
import numpy as np

rows = np.ones((3, 2), dtype="float32")
rows[1, 1] = np.nan
data = torch.from_numpy(rows)
weight = torch.ones(2, requires_grad=True)
(data * weight).sum().backward()
"""


def test_what_no_recorded_call_made_is_not_said_to_be_created_where_it_is_used(tmp_path: Path) -> None:
    """PyTorch's from_numpy is not seen: the line of the first use is called that, our engine's own line the making."""
    pytest.importorskip("torch")
    born = {}
    for engine in ("retrograd", "torch"):
        found = first(BAD_ARRAY, engine, tmp_path)
        born[engine] = found.message.partition("data, ")[2].split(":")[0].split(" at ")[0], found.line
    assert born["retrograd"][0] == "created"
    assert born["torch"][0] == "first seen"
    assert born["torch"][1] == born["retrograd"][1] + 2


@pytest.mark.parametrize(
    ("program", "kind"), [(SCALES_IN_A_LIST, "optimizer-mismatch"), (ADVANTAGE_OF_A_CONSTANT_RATIO, "zero-gradient")]
)
def test_nothing_false_is_said_beside_the_cause(program: str, kind: str, tmp_path: Path) -> None:
    """A scale that no optimizer has is no target, and an advantage is rightly detached: one finding, the cause."""
    pytest.importorskip("torch")

    assert [found.kind for found in diagnose(record("import torch" + program, tmp_path, engine="torch"))] == [kind]
