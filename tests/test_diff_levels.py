"""Recordings of one program at different levels: what only one of them tells of is no difference."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner

import retrograd as rg
from retrograd.cli.group import cli
from retrograd.inspect import Recording
from retrograd.inspect.lineup.lineup import line_up

PAIRS = list(combinations(("graph", "backward", "full"), 2))


def run(level: str, *, twice: bool = False) -> Recording:
    """A step in which one parameter of the graph is not asked for, with a hook; ``twice``: one more operation."""
    with rg.record(level=level) as recorded:
        weight, other = rg.ones(3, requires_grad=True), rg.ones(3, requires_grad=True)
        product = weight * other
        product.register_hook(lambda gradient: gradient * 2)
        loss = (product.tanh() if twice else product).sum()
        rg.autograd.backward(loss, inputs=[weight])
    return recorded


@pytest.mark.parametrize("pair", PAIRS)
def test_levels_are_no_difference(pair: tuple[str, str]) -> None:
    """Nothing parts, no parameter lost its gradient, and no result differs."""
    one, other = (run(level) for level in pair)
    for recordings in ((one, other), (other, one)):
        found = line_up(recordings, pair)

        assert found.divergence is None
        assert not found.partial
        assert found.result is None
        assert not found


@pytest.mark.parametrize("pair", PAIRS)
def test_other_operators_are_seen_across_levels(pair: tuple[str, str]) -> None:
    """An operation that one run has more is told as such."""
    found = line_up((run(pair[0]), run(pair[1], twice=True)), pair)

    assert found
    assert found.divergence is not None
    assert [difference.what for difference in found.divergence.differences] == ["operators"]


@pytest.mark.parametrize("pair", PAIRS)
def test_values_that_are_not_finite(pair: tuple[str, str]) -> None:
    """A NaN that the lower level does not tell of is shown, and makes no difference."""
    recordings = []
    for level in pair:
        with rg.record(level=level) as recorded:
            (rg.tensor([0.0], requires_grad=True).log() * 0).sum().backward()
        recordings.append(recorded)
    found = line_up(recordings, pair)

    assert found.nonfinite
    assert not found


def test_command(tmp_path: Path) -> None:
    """Also `retrograd diff` says so."""
    paths = [str(tmp_path / f"{level}.json") for level in ("graph", "full")]
    for level, path in zip(("graph", "full"), paths, strict=True):
        run(level).save(path)
    result = CliRunner().invoke(cli, ["diff", *paths], prog_name="retrograd")

    assert result.exit_code == 0, result.output
    assert "No difference." in result.output
    assert "levels graph and full" in result.output
