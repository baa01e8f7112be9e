"""Each kind of bug is found at its line in programs of our own, and their healthy twins have no finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bug_programs import Pair, pairs, record

from retrograd.inspect.diagnosis import diagnose, diagnose_together, kinds
from retrograd.inspect.findings import Finding
from retrograd.inspect.recording.loading import decode_recording
from retrograd.inspect.render.formats.json_ import encode_recording


def engines(pair: Pair) -> list[str]:
    """The engines that a pair runs on."""
    return ["torch"] if pair.torch_only else ["retrograd", "torch"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every pair on its engines.

    No variable holds them: a recording looks for the names of tensors in all variables below the program, these, too.
    """
    if "pair" in metafunc.fixturenames:
        runs = [pytest.param(pair, engine, id=f"{pair.name}-{engine}") for pair in pairs() for engine in engines(pair)]
        metafunc.parametrize(("pair", "engine"), runs)


SHOWN_ELSEWHERE = frozenset({
    "broken-chain", "checkpoint-mismatch", "double-count", "duplicate-index", "exploding", "freed-graph",
    "frozen-parameter", "graph-growth", "hook-leak", "inplace-modified", "leaf-inplace", "memory-hog",
    "missing-create-graph", "missing-zero-grad", "nan-input", "nan-origin", "nonleaf-grad", "nonscalar-backward",
    "numpy-on-grad", "optimizer-mismatch", "overflow", "overlapping-inplace", "rank-divergence", "saturation",
    "silent-inplace", "slow-node", "underflow", "unused-parameter", "view-no-grad", "wrong-backward-count",
    "wrong-double-backward",
})  # fmt: skip
"""Kinds that a collection of scripts outside this repository shows (``test_programs_buggy.py`` says how to name it)."""
OF_JOBS = frozenset(
    {"reduction-order", "same-data", "summed-on-every-rank", "unreduced-gradient", "unused-on-some-ranks"}
)
"""Kinds that take several ranks to show (``test_diagnose_together.py``, ``test_rank_programs.py``)."""


def findings(text: str, engine: str, folder: Path, *, twice: bool = False) -> list[Finding]:
    """Diagnose a program from its saved recording, as one does elsewhere later."""
    if engine == "torch":
        pytest.importorskip("torch")
    runs = [decode_recording(encode_recording(record(text, folder, engine=engine))) for _ in range(2 if twice else 1)]
    return diagnose_together(runs, ["first run", "second run"]) if twice else diagnose(runs[0])


def test_programs_for_both_engines_take_the_package_by_one_name() -> None:
    """Another import would bring PyTorch into a run that is meant for our engine."""
    both = [pair for pair in pairs() if not pair.torch_only]
    others = [pair.name for pair in both if re.search(r"^\s*(import torch\.|from torch\b)", pair.buggy, re.MULTILINE)]

    assert both
    assert others == []


@pytest.mark.filterwarnings("ignore")
def test_bug_is_explained(pair: Pair, engine: str, tmp_path: Path) -> None:
    """The first finding has the right kind and line, and names what the program calls it."""
    found = findings(pair.buggy, engine, tmp_path, twice=pair.twice)

    assert found, pair.kind
    assert (found[0].kind, found[0].line) == (pair.kind, pair.line), found[0].message
    assert all(name in found[0].message + found[0].remedy for name in pair.names), found[0].message


@pytest.mark.filterwarnings("ignore")
def test_healthy_twin_has_no_finding(pair: Pair, engine: str, tmp_path: Path) -> None:
    """The same program without the bug has no finding at all."""
    assert [finding.message for finding in findings(pair.healthy, engine, tmp_path, twice=pair.twice)] == []


def test_programs_are_of_known_kinds() -> None:
    """No file of programs is about a kind that no check finds."""
    assert {pair.kind for pair in pairs()} <= set(kinds())


@pytest.mark.parametrize("kind", sorted(set(kinds()) - SHOWN_ELSEWHERE - OF_JOBS))
def test_kind_is_shown_by_two_programs(kind: str) -> None:
    """Every kind that nothing else shows has at least two buggy programs here, each with its healthy twin."""
    shown = [pair.name for pair in pairs() if pair.kind == kind and pair.healthy != pair.buggy]
    assert len(shown) >= 2, shown


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["unused_parameter_block", "unused_parameter_branch"])
def test_unused_block_is_one_finding(name: str, tmp_path: Path) -> None:
    """However many lines made the parts of a block that nothing calls, it is told once."""
    (pair,) = [pair for pair in pairs() if pair.name == name]

    assert [finding.kind for finding in findings(pair.buggy, "retrograd", tmp_path)] == ["unused-parameter"]
