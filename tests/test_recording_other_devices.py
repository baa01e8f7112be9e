"""What is recorded of tensors on other devices than the CPU: the same, with one read-back a backward pass."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from side_by_side import ROOT, environment

torch = pytest.importorskip("torch", "2.13")


@pytest.fixture(scope="module")
def found() -> Any:
    """What ``other_devices/on_other_devices.py`` prints; the device that it makes stays in its process."""
    command = [sys.executable, str(ROOT / "tests/other_devices/on_other_devices.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_whether_gradients_were_cleared_is_seen(found: Any) -> None:
    """Gradients set to zero in any way are no finding, as on the CPU; those that pile up are one."""
    kinds = {name: [kind for kind, *_ in cases] for name, cases in found["kinds"].items()}
    piled_up = {name for name, cases in kinds.items() if cases == ["missing-zero-grad"]}

    assert piled_up == {"nothing"}
    assert [name for name in set(kinds) - piled_up if kinds[name] and "singular" not in name] == []
    assert len(kinds) == 10


def test_where_a_nan_begins_is_found(found: Any) -> None:
    """The root of a difference that is exactly zero is named, with the words and the line of the CPU."""
    ((kind, message, line),) = found["kinds"]["singular on py"]

    assert kind == "nan-origin"
    assert [kind, message, line] in found["kinds"]["singular on cpu"]


def test_figures_are_those_of_the_cpu(found: Any) -> None:
    """Statistics of gradients, and ranges and sums of results, are equal on both devices, but for rounding."""
    ours, theirs = found["figures"]["py"], found["figures"]["cpu"]

    for name, column in ours["columns"].items():
        its = theirs["columns"][name]
        assert [value is None for value in column] == [value is None for value in its], name
        measured = [value for value in column if value is not None]
        assert measured == pytest.approx([value for value in its if value is not None], rel=1e-5, abs=1e-7), name
        assert len(measured) > 20
    assert len(ours["results"]) == 12
    for (limits, total, flat), (its_limits, its_total, its_flat) in zip(
        ours["results"], theirs["results"], strict=True
    ):
        assert limits == pytest.approx(its_limits, rel=1e-5)
        assert total == pytest.approx(its_total, rel=1e-5)
        assert flat == its_flat


def test_one_read_back_in_a_backward_pass(found: Any) -> None:
    """However many nodes there are, a pass reads from the device once, and forward not at all."""
    assert found["read_backs"] == [[0, 1, 0, 1]] * 2


def test_recording_leaves_results_as_they_are(found: Any) -> None:
    """Losses are the same to the bit, recorded and not."""
    for plain, watched in found["losses"].values():
        assert plain == watched
        assert len(plain) == 4


def test_times_are_said_to_be_those_of_launching(found: Any) -> None:
    """Nobody waits for the device between nodes, and whoever reads times is told."""
    assert found["launched"]["cpu"] == []
    assert ["on py are those of launching" in sentence for sentence in found["launched"]["py"]] == [True]


def test_breakpoints_stop_where_they_do_on_the_cpu(found: Any) -> None:
    """The same nodes, lines, counts and places of what is not finite."""
    on_cpu, elsewhere = found["stops"]

    assert elsewhere == on_cpu
    assert len(on_cpu) > 2
