"""Checks that read the program's lines read them as Python does: comments, texts, long calls, nested brackets."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from bug_programs import record

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.diagnosis.text.fragments import fragments
from retrograd.inspect.findings import Finding

KEPT = """\
    first = f(a,
              b)  # c = (
    if first in "d = 1":
        try:
            e = 1; g = 2
        except ValueError:
            pass
    elif h := 3:
        i = '''j
k = l'''
        m = n + \\
            o
        p = q(r[0],
              s={"t": (u,"""


def test_statements_are_those_of_the_program() -> None:
    """Each with its lines; of blocks the head, and of the last one what was kept of it."""
    lines = dict(enumerate(KEPT.splitlines(), 7))

    found = [(one.first, one.last, ast.unparse(one.tree)) for one in fragments(lines)]

    assert found == [
        (7, 8, "first = f(a, b)"),
        (9, 9, "if first in 'd = 1':\n    pass"),
        (11, 11, "e = 1"),
        (11, 11, "g = 2"),
        (13, 13, "pass"),
        (14, 14, "if (h := 3):\n    pass"),
        (15, 16, "i = 'j\\nk = l'"),
        (17, 18, "m = n + o"),
        (19, 20, "p = q(r[0], s={'t': (u,)})"),
    ]


def test_lines_that_are_not_kept_end_a_statement() -> None:
    """What stands further down belongs to something else."""
    found = [ast.unparse(one.tree) for one in fragments({3: "a = f(", 4: "    b,", 9: "c)", 10: "d = e"})]

    assert found == ["a = f(b)", "d = e"]


def findings(text: str, folder: Path) -> list[Finding]:
    """What is found in a program on our engine."""
    return diagnose(record(text, folder, engine="retrograd"))


FREEZING = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(12)))
{}
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for step in range(2):
    x = torch.randn(6, 4)
    loss = ((net(x) - x) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
ONE_TEN_ELEVEN = {
    "parts": """
for name, p in net.named_parameters():
    if "1" in name.split(".") or "10" in name.split(".") or "11" in name.split("."):
        p.requires_grad = False""",
    "parts with a name": """
for name, p in net.named_parameters():
    parts = name.split(".")
    if "1" in parts or "10" in parts or "11" in parts:
        p.requires_grad = False""",
    "beginnings with their dots": """
for name, p in net.named_parameters():
    if name.startswith(("1.", "10.", "11.")):
        p.requires_grad = False""",
    "formatted beginnings": """
for name, p in net.named_parameters():
    if any(name.startswith(f"{block}.") for block in (1, 10, 11)):
        p.requires_grad = False""",
    "comment": """
for name, p in net.named_parameters():  # name.startswith("1") would do as well
    if int(name.split(".")[0]) in (1, 10, 11):
        p.requires_grad = False""",
    "text": """
for name, p in net.named_parameters():
    if int(name.split(".")[0]) in (1, 10, 11):
        p.requires_grad = bool("" and 'no "1" in names')""",
    "slice of indices": """
frozen = [1, 10, 11, 5]
for name, p in net.named_parameters():
    if int(name.split(".")[0]) in frozen[:3]:
        p.requires_grad = False""",
    "pattern with its dot": r"""
import re
for name, p in net.named_parameters():
    if re.match(r"(1|10|11)\.", name):
        p.requires_grad = False""",
}
BY_BEGINNING = {
    "condition of several lines": """
for name, p in net.named_parameters():
    if name[
        :1] == "1":
        p.requires_grad = False""",
    "walrus": """
for name, p in net.named_parameters():
    if (block := name.split(".")[0])[0:1] == "1":
        p.requires_grad = False""",
    "formatted beginning": """
for name, p in net.named_parameters():
    if name.startswith(f"{1}"):
        p.requires_grad = False""",
    "pattern with any character": """
import re
for name, p in net.named_parameters():
    if re.match("1.", name):
        p.requires_grad = False""",
}


@pytest.mark.parametrize("written", ONE_TEN_ELEVEN.values(), ids=ONE_TEN_ELEVEN)
def test_blocks_that_are_named_one_by_one_are_meant(written: str, tmp_path: Path) -> None:
    """Freezing 1, 10 and 11 by whole parts of their names is no accident."""
    found = findings(FREEZING.format(written), tmp_path)

    assert [one.message for one in found if one.severity != "note"] == []


@pytest.mark.parametrize("written", BY_BEGINNING.values(), ids=BY_BEGINNING)
def test_blocks_that_begin_alike_are_caught(written: str, tmp_path: Path) -> None:
    """Whatever way the line writes that names are to begin with 1."""
    found = findings(FREEZING.format(written), tmp_path)

    assert [(one.kind, one.evidence["meant"], one.evidence["caught"]) for one in found] == [
        ("frozen-parameter", "1", ["10", "11"])
    ]


EMPTY = """\
import torch
net = torch.nn.Linear(2, 1)
{}
loss = net(torch.ones(3, 2)).sum()
"""
READ_BEFORE = {
    "call of several lines": (
        """
params = net.parameters()
count = sum(p.numel() for p in params)
opt = torch.optim.SGD(
    params,
    lr=0.1,
    momentum=0.9,
    nesterov=True,
)""",
        5,
    ),
    "comment behind the generator": (
        """
params = net.parameters()  # all of them
count = sum(p.numel() for p in params)
opt = torch.optim.SGD(params, lr=0.1)""",
        5,
    ),
    "walrus": (
        """
count = len(list(params := net.parameters()))
opt = torch.optim.SGD(params, lr=0.1)""",
        5,
    ),
    "annotation": (
        """
params: object = net.parameters()
count = [*params]
opt = torch.optim.SGD(params, lr=0.1)""",
        5,
    ),
    "two optimizers": (
        """
params = net.parameters()
other = torch.optim.Adam(params)
opt = torch.optim.SGD(params, lr=0.1)""",
        5,
    ),
    "list of what is left": (
        """
params = net.parameters()
count = sum(p.numel() for p in params)
params = list(params)
opt = torch.optim.SGD(params, lr=0.1)""",
        5,
    ),
    "texts and comments that only name it": (
        """
params = net.parameters()
print("what is in params")  # for p in params
count = sum(p.numel() for p in params)
opt = torch.optim.SGD(params, lr=0.1)""",
        6,
    ),
}


@pytest.mark.parametrize(("written", "line"), READ_BEFORE.values(), ids=READ_BEFORE)
def test_generators_that_were_read_before(written: str, line: int, tmp_path: Path) -> None:
    """The line that read it to its end is blamed, and the remedy is a list of what the generator gives."""
    (found,) = findings(EMPTY.format(written), tmp_path)

    assert "params at program.py:" in found.message
    assert "is a generator" in found.message
    assert found.line == (4 if written == READ_BEFORE["walrus"][0] else line)
    assert found.remedy == "params = list(net.parameters())"


NOT_A_GENERATOR = {
    "given anew": """
params = net.parameters()
count = sum(p.numel() for p in params)
params = [p for p in net.parameters() if p.ndim > 5]
opt = torch.optim.SGD(params, lr=0.1)""",
    "sorted": """
params = sorted(net.parameters(), key=id)[5:]
count = sum(p.numel() for p in params)
opt = torch.optim.SGD(params, lr=0.1)""",
}


@pytest.mark.parametrize("written", NOT_A_GENERATOR.values(), ids=NOT_A_GENERATOR)
def test_lists_are_not_called_generators(written: str, tmp_path: Path) -> None:
    """What is empty for another reason has no line that read it."""
    (found,) = findings(EMPTY.format(written), tmp_path)

    assert "params at program.py" not in found.message


NEXT_STATE = """\
import torch
torch.manual_seed(0)
features, reward, w = torch.randn(5, 30), torch.randn(29), torch.randn(2, 5, requires_grad=True)
rows, n, opt = [slice(None)], 30, torch.optim.SGD([w], lr=0.05)
for sweep in range(3):
    value = w @ features
    {}
    loss = (now - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FOLLOWING = {
    "nested brackets": "now, target = value[rows[0], :-1], reward + 0.9 * value[rows[0], 1:]",
    "several lines": "now = value[\n        :, :-1\n    ]\n    target = reward + 0.9 * value[\n        :, 1:\n    ]",
}
OTHERS = {
    "the last": "now, target = value[:, :-1], reward + 0.9 * value[:, n - 1:]",
    "a text": 'now, target = value[:, :-1], reward + 0.9 * value[:, 0 if "[1:]" else 1, None]',
    "a comment": "now = value[:, :-1]\n    target = reward + 0.9 * value[:, 0, None]  # not value[:, 1:]",
}


def blamed(written: str, folder: Path) -> list[str]:
    """The kinds of what is found where values of one state are compared with others."""
    return [one.kind for one in findings(NEXT_STATE.format(written), folder)]


@pytest.mark.parametrize("written", FOLLOWING.values(), ids=FOLLOWING)
def test_values_of_the_next_state(written: str, tmp_path: Path) -> None:
    """They are seen for what they are however their slices are written."""
    assert blamed(written, tmp_path) == ["missing-detach"]


@pytest.mark.parametrize("written", OTHERS.values(), ids=OTHERS)
def test_values_of_other_states(written: str, tmp_path: Path) -> None:
    """They are not taken for the next ones because of characters that look alike."""
    assert blamed(written, tmp_path) == []
