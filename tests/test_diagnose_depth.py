"""Gradients along a depth: what is said of them agrees with the numbers that are said with it."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest
from bug_programs import record

import retrograd as rg
from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.findings import Finding

PROGRAM = """
shifts = [torch.zeros(3, requires_grad=True) for _ in range(9)]
x, aside = torch.ones(3), torch.zeros(3, requires_grad=True)
for shift in shifts:
    x = (x + shift) * {first}
    x = x * {second}
(x.mean() * {scale} + (aside * {aside}).sum()).backward()
"""


def findings(aside: float = 0.1, **figures: float) -> list[Finding]:
    """Return what is found in the program, whose lines are put where the recorder looks for them."""
    figures["aside"] = aside
    text, file = PROGRAM.format(**figures), f"<depth {sorted(figures.values())}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    with rg.debug() as trace:
        exec(compile(text, file, "exec"), {"torch": rg})
    return [found for found in trace.findings if found.kind in ("vanishing", "exploding")]


def test_a_line_that_others_outdo_does_not_vanish() -> None:
    """One line takes away what the next one more than gives back: the gradient grows towards the input."""
    assert findings(first=0.05, second=120.0, scale=1e-3) == []


@pytest.mark.parametrize(("second", "aside"), [(19.8, 1e-9), (20.2, 1e9)])
def test_a_depth_that_changes_little_explains_no_far_gradient(second: float, aside: float) -> None:
    """A gradient of another size is not laid to a depth whose ends get nearly the same, whatever one line does."""
    assert findings(first=0.05, second=second, scale=1.0, aside=aside) == []


@pytest.mark.parametrize(
    ("figures", "kind"),
    [
        ({"first": 0.05, "second": 1.2, "scale": 1.0}, "vanishing"),
        ({"first": 1.5, "second": 20.0, "scale": 1.0}, "exploding"),
    ],
)
def test_the_ends_agree_with_the_word(figures: dict[str, float], kind: str) -> None:
    """What shrinks ends smaller than it began, what grows ends larger."""
    (found,) = findings(**figures)
    assert found.kind == kind
    begin, end = found.evidence["norms"]
    assert (end < begin) == (kind == "vanishing")


@pytest.mark.parametrize(("clip", "severity"), [("", "warning"), ("1.0", "note"), ("float('inf')", "warning")])
def test_a_program_that_clips_is_not_told_to(clip: str, severity: str, tmp_path: Path) -> None:
    """Growth that is clipped before each step is a note; a bound of infinity only measures the norm."""
    pytest.importorskip("torch")
    line = f"torch.nn.utils.clip_grad_norm_([weight], {clip})" if clip else "pass"
    text = f"""import torch
weight = torch.nn.Parameter(torch.eye(4) * 2.5)
opt = torch.optim.SGD([weight], lr=1e-12)
for _ in range(3):
    state = torch.ones(2, 4)
    for _ in range(16):
        state = torch.relu(state @ weight)
    opt.zero_grad()
    state.mean().backward()
    {line}
    opt.step()
"""
    found = [one for one in diagnose(record(text, tmp_path)) if one.kind == "exploding"]

    assert [one.severity for one in found] == [severity]
    assert ("clip_grad_norm_" in (found[0].remedy or "")) == (severity == "warning")
