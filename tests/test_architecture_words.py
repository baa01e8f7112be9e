"""The diagnosis asks operators for their traits and judges by thresholds that stand in one file.

It keeps no lists of names of operators, compares no name with a word, and has no numbers of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from source_tree import MODULES

from retrograd.inspect.operators import traits_of

TABLES = {
    ("rules.chain.other_ways", "_DELIBERATE"): "reasons of cuts, as `event_data` lists them",
    ("rules.inplace", "_SILENT"): "ways past the version counter, as `event_data` lists them",
    ("rules.contracts", "BREACHES"): "what a loss takes for its operands is a matter of each loss",
    ("rules.contracts", "_LAST_TARGET"): "where its target stands is a matter of each loss",
    ("rules.flat.constant_results", "_ENTRIES"): "how many entries come together stands in arguments of each",
}
"""Module and table that may name operators -> why."""
WORDS = {
    ("facts.calls", "grad"): "a pass that returns gradients is no operator; all ask `is_gradient`",
    ("roles.trained", "Parameter"): "what `torch.nn.Parameter` made is meant to be trained",
    ("rules.sharded", "clip_grad_norm_"): "what clipped is no operator",
}
"""Module and operator that it may compare a name with -> why."""
ROOM = "retrograd.inspect.diagnosis"
_NAMING = frozenset({"op", "canonical", "written", "operator_word"})
"""What holds the name of an operator."""
_COLLECTIONS = frozenset({"frozenset", "set", "tuple", "list", "dict"})


def words_in(node: ast.AST) -> list[str]:
    """The words of a literal collection, however it is put together."""
    if isinstance(node, ast.Call):
        return words_in(node.args[0]) if ast.unparse(node.func) in _COLLECTIONS and node.args else []
    if isinstance(node, ast.BinOp):
        return words_in(node.left) + words_in(node.right)
    entries = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [node])
    return [one.value for one in entries if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def tables(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield each table of words that a module keeps."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            words = [] if isinstance(node.value, ast.Constant) else words_in(node.value)
            if words and ast.unparse(target) != "KINDS":
                yield ast.unparse(target), words


def compared(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each word that the name of an operator is compared with, or looked for in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_names_an_operator(one) for one in sides):
                yield from ((node.lineno, word) for one in sides for word in words_in(one))


def _names_an_operator(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return getattr(called, "attr", getattr(called, "id", "")) in _NAMING


def modules() -> dict[str, ast.Module]:
    """The modules of the diagnosis, but those that write changes of the program's own text."""
    rooms = {name: one for name, one in MODULES.items() if name.startswith(ROOM) and ".remedies" not in name}
    return {name.removeprefix(f"{ROOM}."): one.tree for name, one in rooms.items()}


def test_no_table_lists_operators() -> None:
    """What several operators have in common is a trait, which holds for all that have it, in any spelling."""
    found = {
        (name, table)
        for name, tree in modules().items()
        for table, words in tables(tree)
        if sum(bool(traits_of(word)) for word in words) * 2 > len(words)
    }

    assert found == set(TABLES)


def test_no_name_is_compared_with_a_word() -> None:
    """Who asks for one operator gets no other one that does the same."""
    found = {(name, word) for name, tree in modules().items() for _, word in compared(tree)}

    assert found == set(WORDS)


JUDGING = ("rules.", "queries.", "roles.")
"""Rooms that judge; in the others a number bounds what is kept, or how long a sentence is."""
NUMBERS = {
    ("roles.compared", "_ELSE"): "a bit",
    ("rules.errors.scene", "_SHORT"): "letters of a name",
}
"""Module and number that may stand there -> what it is."""


def test_thresholds_stand_in_one_file() -> None:
    """What is judged by a number is judged by one whose reason stands beside it, and that no other rule has, too."""
    found = {
        (name, ast.unparse(node.targets[0]))
        for name, tree in modules().items()
        for node in tree.body
        if name.startswith(JUDGING) and isinstance(node, ast.Assign) and _is_number(node.value)
    }
    inline = [
        (name, number.lineno, number.value)
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if name.startswith(JUDGING) and isinstance(node, ast.Compare)
        for number in ast.walk(node)
        if isinstance(number, ast.Constant) and type(number.value) is float and number.value not in (0.0, 1.0)
    ]

    assert found == set(NUMBERS)
    assert inline == []


def _is_number(node: ast.expr) -> bool:
    parts = list(ast.walk(node))
    plain = all(isinstance(one, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)) for one in parts)
    return plain and any(isinstance(one, ast.Constant) and type(one.value) in (int, float) for one in parts)


@pytest.mark.parametrize("code", ['X = frozenset({"sub", "rsub"})', 'X = ("sub_", "add") + Y', 'X = {"mul": 1} | Y'])
def test_tables_are_seen(code: str) -> None:
    """However a table is put together, its words are found."""
    assert [bool(traits_of(word)) for _, words in tables(ast.parse(code)) for word in words]


@pytest.mark.parametrize("code", ['event.op == "sub"', 'x in ("y",) and op in {"sub"}', '"sub" in events[0].op'])
def test_comparisons_are_seen(code: str) -> None:
    """A word is found on either side, alone or in a collection."""
    assert [word for _, word in compared(ast.parse(code))] == ["sub"]
