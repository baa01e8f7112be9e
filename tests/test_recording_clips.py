"""Clipping of gradients as recordings tell of it, on both engines."""

from __future__ import annotations

import pytest
from recorded_pair import of_kind, record

PROGRAM = """import torch

net = torch.nn.Linear(2, 1)
frozen = torch.zeros(3)
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.5)
net(torch.ones(1, 2)).sum().backward()
torch.nn.utils.clip_grad_norm_(parameters=(p for p in net.parameters()), max_norm=float("inf"))
torch.nn.utils.clip_grad_value_(filter(lambda p: p.requires_grad, net.parameters()), 0.25)
torch.nn.utils.clip_grad_value_(net.weight, clip_value=2)
kept = [p.grad.abs().max().item() for p in net.parameters()]
assert kept == [0.25, 0.25], kept
"""
FEW = """import torch
import warnings

for nothing in ([], (p for p in []), filter(None, [])):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        total = torch.nn.utils.clip_grad_norm_(nothing, 1.0)
    print(float(total), [str(one.message) for one in told])
"""


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_each_call_is_one_event_with_what_it_clips(engine: str) -> None:
    """Whatever collection the parameters come in, and whether or not there are gradients."""
    pytest.importorskip(engine)
    recorded, error = record(PROGRAM, engine)

    assert error is None
    told = [(event.op, event.source.line, event.data["bound"]) for event in of_kind(recorded, "clip")]
    assert told == [
        ("clip_grad_norm_", 5, 1.5),
        ("clip_grad_norm_", 7, float("inf")),
        ("clip_grad_value_", 8, 0.25),
        ("clip_grad_value_", 9, 2.0),
    ]
    ((_, held),) = [(event, event.data["parameters"]) for event in of_kind(recorded, "module")]
    both, weight = [held["weight"], held["bias"]], [held["weight"]]
    assert [event.data["inputs"] for event in of_kind(recorded, "clip")] == [both, both, both, weight]


def test_empty_collections_are_warned_of_as_without_us(capsys: pytest.CaptureFixture[str]) -> None:
    """A generator reaches PyTorch as a generator, of which it warns when it is empty; other iterators do not."""
    pytest.importorskip("torch")
    exec(compile(FEW, "few.py", "exec"), {})
    alone = capsys.readouterr().out
    record(FEW, "torch")

    assert capsys.readouterr().out == alone
    assert alone.count("empty generator") == 1
