"""Turns one program into a test that PyTorch and this engine agree.

A program takes the engine as its only argument, uses nothing else, and returns what is to be compared: tensors, nodes
(compared by name), dtypes, numbers, containers of these.  Expected errors and warnings are part of the program::

    @differential
    def test_V_06_read_only(torch):
        "V-06: ..."
        return raises("not writable", setattr, torch.ones(2), "output_nr", 3)

``assert_agree`` is for programs that may raise or warn as a whole: the result, or the exception, must be the same.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import retrograd

Program = Callable[[Any], Any]


def differential(program: Program) -> Callable[[], None]:
    """A test that runs ``program`` on both engines and compares what it returns."""

    def test() -> None:
        torch = pytest.importorskip("torch")
        wanted = run(program, torch)
        found = run(program, retrograd)
        assert_same(wanted, found, f"\n  torch:     {wanted}\n  retrograd: {found}")

    test.__name__ = test.__qualname__ = program.__name__
    test.__doc__ = program.__doc__
    test.__module__ = program.__module__
    return test


def run(program: Program, engine: Any) -> Any:
    """The program's result in plain values; a warning it does not expect is an error."""
    always = getattr(engine, "set_warn_always", lambda on: None)  # PyTorch says some things once per process only
    always(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message=r".*torch\.jit.*|.*backward\(\) with create_graph=True.*")
            warnings.filterwarnings("ignore", "the .* signature of throw", module="torch")  # PyTorch's own
            return plain(program(engine))
    finally:
        always(False)


def raises(phrase: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Type of the exception that ``call`` raises; its message must contain ``phrase``."""
    try:
        result = call(*args, **kwargs)
    except Exception as raised:
        error = raised
    else:
        raise AssertionError(f"no error with {phrase!r}; returned {result!r}")
    assert phrase in str(error), f"{type(error).__name__} without {phrase!r}: {error}"
    return type(error).__name__


def warned(phrase: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[list[str], Any]:
    """Categories of the warnings that contain ``phrase``, and what ``call`` returned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*args, **kwargs)
    return [w.category.__name__ for w in caught if phrase in str(w.message)], result


def edges(node: Any) -> list[tuple[str, int]]:
    """Names and input numbers of the next functions."""
    return [("-" if n is None else n.name(), nr) for n, nr in node.next_functions]


def graph_of(node: Any) -> list[Any]:
    """The whole graph below a node, as names in depth-first order."""
    found, stack, places = [], [node], {}
    while stack:
        n = stack.pop()
        if n is None or n in places:
            continue
        places[n] = len(places)
        found.append((n.name(), edges(n)))
        stack.extend(m for m, _ in reversed(n.next_functions))
    return found


def plain(value: Any) -> Any:
    """Tensors, nodes and dtypes in values that both engines have in common."""
    if hasattr(value, "next_functions"):
        return f"node {value.name()}"
    if hasattr(value, "requires_grad") and hasattr(value, "detach"):
        array = np.array(value.detach().clone().numpy())
        return ["tensor", tuple(value.shape), str(value.dtype), bool(value.requires_grad), array]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, float, complex, str, np.ndarray)):
        return value
    return str(value)


def assert_same(wanted: Any, found: Any, context: str) -> None:
    """Equal in structure and type; arrays up to rounding."""
    assert type(wanted) is type(found), f"{wanted!r} against {found!r}{context}"
    if isinstance(wanted, list):
        assert len(wanted) == len(found), f"{wanted!r} against {found!r}{context}"
        for a, b in zip(wanted, found, strict=True):
            assert_same(a, b, context)
    elif isinstance(wanted, dict):
        assert list(wanted) == list(found), f"{wanted!r} against {found!r}{context}"
        assert_same(list(wanted.values()), list(found.values()), context)
    elif isinstance(wanted, np.ndarray):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7, err_msg=context)
    elif isinstance(wanted, float):
        assert wanted == pytest.approx(found, nan_ok=True), f"{wanted!r} against {found!r}{context}"
    else:
        assert wanted == found, f"{wanted!r} against {found!r}{context}"


@dataclass(frozen=True)
class Outcome:
    """What a program returned, in plain values, or raised; and the categories of its warnings."""

    value: Any
    error: str
    message: str
    warned: tuple[str, ...]


def outcome(program: Program, engine: Any) -> Outcome:
    """Run a program on one engine."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value, error, message = plain(program(engine)), "", ""
        except Exception as raised:
            value, error, message = None, type(raised).__name__, str(raised)
    # PyTorch's own batching and compiling layers speak of themselves; there is no such layer here.
    ours = [entry for entry in caught if not re.search(r"vmap|torch\.jit", str(entry.message))]
    warned = tuple(entry.category.__name__ for entry in ours)
    return Outcome(value, error, message, warned)


def assert_agree(program: Program, *, phrase: str = "") -> Outcome:
    """Both engines must give the same; ``phrase`` must then be in both error messages. Returns our outcome."""
    torch = pytest.importorskip("torch")
    wanted, found = outcome(program, torch), outcome(program, retrograd)
    assert (wanted.error, wanted.warned) == (found.error, found.warned), f"torch: {wanted}\nretrograd: {found}"
    if phrase:
        assert phrase in wanted.message
        assert phrase in found.message
    assert_same(wanted.value, found.value, f"\n  torch:     {wanted}\n  retrograd: {found}")
    return found


def assert_refused_alike(text: str, names_of: Callable[[Any], dict[str, Any]]) -> None:
    """An expression raises the same type of error on both engines, with most words of PyTorch's message."""
    (ours, said), (theirs, wanted) = (
        _refusal(text, names_of(engine)) for engine in (retrograd, pytest.importorskip("torch"))
    )
    assert theirs != "none"
    assert ours == theirs
    assert len(said & wanted) >= 0.6 * len(wanted)


def _refusal(text: str, names: dict[str, Any]) -> tuple[str, set[str]]:
    """The type of the error that an expression raises, and the words of its first line."""
    try:
        eval(text, names)
    except Exception as error:
        return type(error).__name__, set(re.findall(r"[a-z_]+", str(error).partition("\n")[0].lower()))
    return "none", set()
