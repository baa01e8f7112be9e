"""What a user writes: `rg.record`, `rg.walk` and `rg.debug` give things with the same verbs."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import retrograd as rg
from retrograd.errors import NoGraphError, UnknownFormatError


def loss() -> Any:
    """A small graph with a NaN in its gradient."""
    w = rg.tensor([0.0, 1.0], requires_grad=True)
    return rg.sqrt(w * 0.0).sum()


def recorded() -> Any:
    """A recording that `rg.record` gave."""
    with rg.record() as run:
        loss().backward()
    return run


def blocked() -> Any:
    """A block of `rg.debug`."""
    with rg.debug() as trace:
        loss().backward()
    return trace


@pytest.fixture(params=[recorded, blocked, lambda: rg.walk(loss())], ids=["record", "debug", "walk"])
def thing(request: pytest.FixtureRequest) -> Any:
    """Each of the three."""
    return request.param()


def test_stats_count_the_nodes(thing: Any) -> None:
    """Every node of the graph is counted."""
    assert thing.stats().operators == {"SumBackward0": 1, "SqrtBackward0": 1, "MulBackward0": 1, "AccumulateGrad": 1}


def test_save_writes_what_can_be_read_again(thing: Any, tmp_path: Path) -> None:
    """A picture by its suffix, a recording that `rg.inspect.load` reads; another suffix is refused."""
    thing.save(tmp_path / "graph.svg")
    thing.save(tmp_path / "run.json")

    assert "SqrtBackward0" in (tmp_path / "graph.svg").read_text(encoding="utf-8")
    assert [len(graph) for graph in rg.inspect.load(str(tmp_path / "run.json")).graphs] == [4]
    with pytest.raises(UnknownFormatError):
        thing.save(tmp_path / "graph.doc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.svg", "run.json"]


def test_show_prints_a_tree(thing: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes in the order of the graph, on standard output."""
    thing.show()
    shown = capsys.readouterr().out

    places = [re.search(rf"── {name}", shown, re.IGNORECASE) for name in ("sum", "sqrt", "mul")]
    assert [place.start() for place in places if place] == sorted(place.start() for place in places if place)
    assert None not in places


@pytest.mark.parametrize("made", [recorded, blocked])
def test_findings_name_the_cause(made: Any) -> None:
    """The slope of sqrt at zero, at its line."""
    found = made().findings

    assert [finding.kind for finding in found][:1] == ["nan-origin"]


def test_nothing_was_recorded() -> None:
    """Statistics of no graph are refused in a sentence, and a recording of nothing has no findings."""
    with rg.record() as run:
        pass

    assert run.findings == []
    with pytest.raises(NoGraphError):
        run.stats()


def test_modules_and_functions_do_not_share_names() -> None:
    """Whoever imports a module of the inspector's gets the module; a name that is not there is refused."""
    names = [module.name for module in pkgutil.iter_modules(rg.inspect.__path__)]
    modules = [importlib.import_module(f"retrograd.inspect.{name}") for name in names]

    assert set(names) & set(rg.inspect.__all__) == set()
    assert [getattr(rg.inspect, name) for name in names] == modules
    with pytest.raises(AttributeError, match="nonsense"):
        rg.inspect.nonsense


def test_types_of_what_is_returned_are_public() -> None:
    """Whoever annotates a function finds the type of what the public functions return under a public name."""
    run, graph = recorded(), rg.walk(loss())
    returned = [run, graph, *run.findings, graph.stats(), rg.inspect.diff(graph, graph), rg.inspect.diff(run, run)]
    returned.append(rg.why(rg.ones(1, requires_grad=True)))

    assert [type(one) for one in returned if getattr(rg.inspect, type(one).__name__, None) is not type(one)] == []
