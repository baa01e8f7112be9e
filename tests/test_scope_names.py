"""``rg.scope``: names of the user's own in recordings, nested with modules, and no trace of it elsewhere."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.engine import observe
from retrograd.inspect.sources.named_scopes import FOLLOWERS


def scopes(trace: rg.debug) -> dict[str, str]:
    """Operator to scope of the last graph."""
    graph = trace.graph
    return {op: scope for op, scope, kind in zip(graph.op, graph.scope, graph.kind, strict=True) if kind != "leaf"}


def test_scopes_nest_and_decorate() -> None:
    """Nodes stand in the scope in which they were made; a decorated function gives one to each call."""

    @rg.scope("decoder")
    def decode(h: rg.Tensor) -> rg.Tensor:
        return h.tanh()

    x = rg.ones(3, requires_grad=True)
    with rg.debug() as trace:
        with rg.scope("encoder"):
            h = x.exp()
            with rg.scope("inner/most"):
                h = h.sin()
            h = h.cos()
        loss = decode(h).sum()
        loss.backward()

    assert scopes(trace) == {
        "ExpBackward0": "encoder",
        "SinBackward0": "encoder/inner/most",
        "CosBackward0": "encoder",
        "TanhBackward0": "decoder",
        "SumBackward0": "",
    }


def test_scopes_and_modules_nest_in_each_other() -> None:
    """A module inside a scope and a scope inside a module each add their name."""

    class Net(rg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = rg.nn.Linear(3, 3)

        def forward(self, x: rg.Tensor) -> rg.Tensor:
            with rg.scope("head"):
                return self.lin(x).relu()

    net = Net()
    with rg.debug() as trace, rg.scope("step"):
        net(rg.ones(2, 3)).sum().backward()

    found = scopes(trace)
    assert found["ReluBackward0"] == "step/net/head"
    assert found["AddmmBackward0"] == "step/net/head/lin"
    assert {"lin.weight", "lin.bias"} <= set(trace.graph.name)


def test_nothing_happens_unwatched_and_exceptions_pass() -> None:
    """Without a recording the block is left alone; an exception leaves the scope, also in a recording."""
    assert observe.observers == []
    with rg.scope("quiet"):
        y = rg.ones(2, requires_grad=True).exp()
    x = rg.ones(2, requires_grad=True)
    with rg.debug() as trace:
        with pytest.raises(KeyError), rg.scope("broken"):
            raise KeyError
        (x.sin() * y).sum().backward()

    assert scopes(trace)["SinBackward0"] == ""
    assert observe.observers == []


@pytest.mark.parametrize(("name", "error"), [(3, TypeError), ("", ValueError), ("/", ValueError)])
def test_names_that_are_none(name: object, error: type[Exception]) -> None:
    """A name must be a string with something in it."""
    with pytest.raises(error, match=r"scope\(\)"):
        rg.scope(name)  # type: ignore[arg-type]


class TestOnPyTorch:
    """The same names on PyTorch's tensors."""

    @pytest.mark.parametrize("level", ["graph", "full"])
    def test_scopes_and_modules_nest_in_each_other(self, level: str) -> None:
        """As on our engine: a scope around a module, one inside it, a decorated function, and after an exception."""
        torch = pytest.importorskip("torch")

        class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.lin = torch.nn.Linear(3, 3)

            def forward(self, x: object) -> object:
                with rg.scope("head"):
                    return self.lin(x).relu()

        @rg.scope("decoder/last")
        def decode(h: torch.Tensor) -> torch.Tensor:
            return h.tanh()

        net = Net()
        with rg.debug(level=level) as trace:
            with rg.scope("step"):
                h = net(torch.ones(2, 3)).exp()
            with pytest.raises(KeyError), rg.scope("broken"):
                raise KeyError
            decode(h).sin().sum().backward()

        assert scopes(trace) == {
            "SumBackward0": "",
            "SinBackward0": "",
            "TanhBackward0": "decoder/last",
            "ExpBackward0": "step",
            "ReluBackward0": "step/net/head",
            "AddmmBackward0": "step/net/head/lin",
            "TBackward0": "step/net/head/lin",
        }

    def test_nested_recordings_hear_a_scope_once(self) -> None:
        """Two recordings of one thread see the same names, and nobody follows when they are over."""
        torch = pytest.importorskip("torch")
        x = torch.ones(3, requires_grad=True)
        with rg.debug() as outer, rg.debug() as inner, rg.scope("encoder"):
            x.exp().sum().backward()

        assert scopes(outer) == scopes(inner) == {"ExpBackward0": "encoder", "SumBackward0": "encoder"}
        assert FOLLOWERS == []
