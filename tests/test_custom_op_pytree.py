"""Nested containers as trees: the face ``utils._pytree`` against PyTorch's."""

from __future__ import annotations

import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from both_engines import assert_agree, outcome
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd

Point = namedtuple("Point", "a b")
TREE = {
    "a": [1, (2, None)],
    "b": Point(3, [4]),
    "c": deque([1], 3),
    "d": OrderedDict(z="t"),
    "e": defaultdict(list, {1: 2}),
}


def pytree(t: Any) -> Any:
    """``utils._pytree`` of an engine."""
    return importlib.import_module(f"{t.__name__}.utils._pytree")


def test_every_container() -> None:
    """Leaves, their number, the printed shape and the way back."""

    def program(t: Any) -> Any:
        leaves, spec = pytree(t).tree_flatten(TREE)
        again = pytree(t).tree_unflatten([str(leaf) for leaf in leaves], spec)
        return [leaves, spec.num_leaves, str(pytree(t).tree_structure({"a": [1, (2, None)]})), repr(again)]

    assert_agree(program)


@settings(max_examples=40)
@given(
    st.recursive(
        st.integers() | st.none() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_there_and_back(tree: Any) -> None:
    """Flattening and putting together again is the identity; PyTorch finds the same leaves."""
    leaves, spec = pytree(retrograd).tree_flatten(tree)
    assert pytree(retrograd).tree_unflatten(leaves, spec) == tree
    assert leaves == pytest.importorskip("torch").utils._pytree.tree_flatten(tree)[0]


FUNCTIONS = {
    "map": lambda p: p.tree_map(lambda a: (a, "x"), {"k": [1, 2]}),
    "map of two": lambda p: p.tree_map(lambda a, b: (a, b), [1, 2], [3, {"k": 4}]),
    "only": lambda p: p.tree_map_only(int, lambda a: a + 1, {"k": [1, "s", 2.5, True]}),
    "only, several": lambda p: p.tree_map_only((str, float), lambda a: a * 2, {"k": [1, "s", 2.5]}),
    "only, test": lambda p: p.tree_map_only(lambda a: a == 1, lambda a: "one", [1, 2]),
    "all": lambda p: [p.tree_all(bool, [1, [2]]), p.tree_all(bool, [1, [0]])],
    "any": lambda p: [p.tree_any(bool, [0, [2]]), p.tree_any(bool, [0, [0]])],
    "all only": lambda p: p.tree_all_only(int, lambda a: a > 0, [1, "s"]),
    "any only": lambda p: p.tree_any_only(int, lambda a: a > 1, [1, "s"]),
    "leaves": lambda p: [p.tree_leaves({"k": (1, [2])}), list(p.tree_iter([1, [2]]))],
    "is_leaf": lambda p: p.tree_leaves([[1, 2], 3], is_leaf=lambda a: a == [1, 2]),
    "equal": lambda p: p.tree_structure([1, (2,)]) == p.tree_structure([3, (4,)]),
    "unequal": lambda p: p.tree_structure([1, (2,)]) == p.tree_structure([3, [4]]),
    "leaf": lambda p: [str(p.tree_structure(1)), p.tree_structure(1).is_leaf()],
    "size": lambda p: p.tree_leaves(retrograd.Size([1, 2])),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions(kind: str) -> None:
    """Mapping, selecting and testing leaves."""
    assert_agree(lambda t: FUNCTIONS[kind](pytree(t)))


def test_for_effect() -> None:
    """``tree_map_`` and ``tree_map_only_`` return the tree itself."""

    def program(t: Any) -> Any:
        seen: list[Any] = []
        tree = [1, ["s"]]
        same = pytree(t).tree_map_(seen.append, tree) is tree, pytree(t).tree_map_only_(int, seen.append, tree) is tree
        return [seen, list(same)]

    assert_agree(program)


def test_misuse() -> None:
    """A wrong number of leaves, a shape that is none, and trees that do not match."""

    def too_few(t: Any) -> Any:
        return pytree(t).tree_unflatten([1], pytree(t).tree_structure([1, 2]))

    assert assert_agree(too_few, phrase="but the spec refers to a pytree that holds 2 items").error == "ValueError"
    assert assert_agree(lambda t: pytree(t).tree_unflatten([1], "spec")).error == "TypeError"
    assert assert_agree(lambda t: pytree(t).tree_map(max, [1, 2], [1])).error == "ValueError"


class Pair:
    """A container that only becomes one by registration."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right


def test_registration() -> None:
    """A class of one's own becomes a container, once."""
    register = pytree(retrograd).register_pytree_node
    assert pytree(retrograd).tree_leaves(Pair(1, [2]))[0].left == 1
    register(Pair, lambda p: ((p.left, p.right), None), lambda children, _: Pair(*children))
    doubled = pytree(retrograd).tree_map(lambda a: a * 2, Pair(1, [2]))
    assert (doubled.left, doubled.right) == (2, [4])
    found = outcome(lambda t: pytree(t).register_pytree_node(Pair, None, None), retrograd)
    assert found.error == "ValueError"
