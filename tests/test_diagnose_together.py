"""Findings of several recordings: ranks among each other, and one program run twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from rank_samples import network, rank, ranks
from side_by_side import retrograd

from retrograd.inspect.diagnosis import diagnose_together
from retrograd.inspect.differences import diff
from retrograd.inspect.findings import Finding
from retrograd.inspect.lineup.results import first_other_result
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.tensor_facts import TensorFacts
from retrograd.inspect.render.diff_text import lineup_lines

PROGRAM = """
import random, sys, time
import retrograd as rg
w = rg.ones(3, requires_grad=True)
x = rg.tensor([random.random(), hash("a") % 7.0, 1.0])
h = rg.tanh(w * x)
noise = rg.tensor([time.time_ns() % 9973.0 if "forward" in sys.argv else 0.0, 0.0, 1.0])
if "backward" in sys.argv:
    h.register_hook(lambda g: g * (time.time_ns() % 9973.0))
(h + noise).sum().backward()
print("ran")
raise SystemExit(4 if "exit" in sys.argv else 0)
"""


def told(*recordings: Recording) -> list[Finding]:
    """What recordings of ranks tell together."""
    return diagnose_together(recordings, [f"rank {recording.rank}" for recording in recordings])


def test_equal_ranks_have_no_findings() -> None:
    """Healthy ranks, and one alone, tell nothing."""
    assert told(*ranks(4)) == []
    assert told(rank(0, network())) == []


def test_another_branch() -> None:
    """The finding names ranks, step, operator and line of both sides, where ranks did not end well."""
    group = ranks(4)
    other = group[2].graphs[1]
    other.op[2], other.source[2] = "ReluBackward0", SourceLine("train.py", 90, "forward")
    assert told(*group) == [], "ranks that ended well work on data of their own"
    group[1].complete = False
    (one,) = told(*group)

    assert (one.kind, one.severity, one.file, one.line) == ("rank-divergence", "error", "train.py", 90)
    assert "rank 2 has other operators than rank 0, rank 1 and rank 3 in backward pass 1 at train.py:90" in one.message
    assert "(the others are at train.py:9)" in one.message


def test_a_parameter_that_some_ranks_do_not_use() -> None:
    """Who has a gradient for it, who has none."""
    group = ranks(3)
    group[0].graphs[1].measures["order"][6] = None
    group[1].complete = False
    found = {one.kind: one for one in told(*group)}

    assert "w6 gets a gradient on rank 1 and rank 2 and none on rank 0" in found["unused-on-some-ranks"].message
    assert "0.0 * w6.sum()" in found["unused-on-some-ranks"].remedy


def test_another_order_of_reductions() -> None:
    """Gradients that are ready in another order on one rank."""
    group = ranks(3, steps=1)
    order = group[2].graphs[0].measures["order"]
    order[5], order[6] = order[6], order[5]
    group[1].complete = False
    (one,) = told(*group)

    assert (one.kind, one.severity) == ("reduction-order", "warning")
    assert "number 3 is w5 here and w6 there" in one.message


def test_a_gradient_that_was_not_reduced() -> None:
    """One that differs where others became equal, named with its norms."""
    own = ranks(2, steps=1)
    for number, recording in enumerate(own):
        norms = recording.graphs[0].measures["grad_norm"]
        recording.graphs[0].measures["grad_norm"] = [(norm or 0.0) * (number + 1) for norm in norms]
        recording.tensors = [TensorFacts(name="module.w4"), TensorFacts(name="module.w5")]
        recording.events[-1].data["kept_norms"] = {"0": 3.0, "1": 8.0 + number}
    (one,) = told(*own)

    assert one.kind == "unreduced-gradient"
    assert "the gradient of w5 differs between ranks after the all-reduce" in one.message
    assert "(norms 8 and 9)" in one.message


def test_what_only_one_rank_tells() -> None:
    """A finding of one recording alone says whose it is; one that all have is told once."""
    message = "a leaf Variable that requires grad is being used in an in-place operation."
    line = SourceLine("train.py", 3, "<module>")
    error = Event("error", source=line, data={"type": "RuntimeError", "message": message})
    group = ranks(2)
    group[1].events.append(error)
    (one,) = [one for one in told(*group) if one.kind == "leaf-inplace"]
    assert one.message.startswith("rank 1: ")
    group[0].events.append(error)
    (one,) = [one for one in told(*group) if one.kind == "leaf-inplace"]
    assert not one.message.startswith("rank")


def test_first_other_result_of_odd_recordings() -> None:
    """NaN equals NaN, tolerance counts, a run that ends early is a difference, empty recordings have none."""
    nan = float("nan")
    calls = [Event("operation", op="mul", data={"checksum": [nan, 1.0], "range": [None, [0.0, 1.0]]}) for _ in range(2)]
    one, other = Recording(events=[calls[0]]), Recording(events=[calls[1]])
    assert first_other_result(one, other) is None
    assert first_other_result(Recording(), Recording()) is None
    calls[1].data["checksum"] = [nan, 1.0 + 1e-9]
    assert first_other_result(one, other, 1e-5) is None
    found = first_other_result(one, other)
    assert found is not None
    assert (found.what, found.op) == ("result", "mul")
    leaves = [
        Recording(tensors=[TensorFacts(name="w")], events=[Event("accumulate", data={"tensor": 0, "grad_norm": norm})])
        for norm in (1.0, 2.0)
    ]
    gradient = first_other_result(*leaves)
    assert gradient is not None
    assert (gradient.what, gradient.name, gradient.before, gradient.after) == ("gradient", "w", "norm 1.0", "norm 2.0")
    ended = first_other_result(one, Recording())
    assert ended is not None
    assert (ended.what, ended.after) == ("call", "nothing more")
    assert [text for text, _ in lineup_lines(diff([one, Recording()])) if "first result" in text] == [
        "The first result that differs: mul → nothing more"
    ]


@pytest.mark.parametrize("mode", ["same", "forward", "backward"])
def test_twice(mode: str, tmp_path: Path) -> None:
    """Two processes with the same seeds: the first call that differs; output once, the exit code."""
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    last = "exit" if mode == "backward" else "end"
    done = retrograd("diagnose", "--twice", "train.py", "--", mode, last, cwd=tmp_path)
    said = " ".join(done.err.replace("│", " ").split())

    assert done.out == "ran\n"
    assert done.code == {"same": 0, "forward": 1, "backward": 4}[mode], done.err
    expected = {
        "same": "no findings",
        "forward": "noise = tensor(...) at train.py:7 is the first operation whose result differs",
        "backward": "mul(...) at train.py:9 is the first operation whose result differs",
    }
    assert expected[mode] in said
    assert list(tmp_path.iterdir()) == [script]
