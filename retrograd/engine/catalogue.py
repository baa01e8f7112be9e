"""The facts of every row of the operator table, for listings and documentation.

The dtypes are measured, not declared: `docs/make_operators.py --measure` calls the sample inputs of the tests in each
dtype and notes for which of them a row's kernel gave a result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import methods  # noqa: F401  (fills the table)
from .core.dtypes import ALL
from .core.registry import OPS
from .sparse import creating  # noqa: F401  (which has rows of its own)
from .table.op import OpDef

MEASURED = Path(__file__).with_name("operator_dtypes.json")
"""Row name -> names of dtypes, in the order of ``dtypes.ALL``."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One row: its name, the node it records, and its facts."""

    name: str
    """A leading underscore: reached through a function with overloads, such as ``sum`` for ``_sum_dim``."""
    node: str
    """Name of the recorded node; empty for rows without gradient."""
    kind: str
    """From it follows forward mode: elementwise, linear, multilinear, function or nondifferentiable."""
    arguments: tuple[str, ...]
    differentiable: tuple[str, ...]
    """The arguments that take a gradient."""
    dtypes: tuple[str, ...]
    """Dtypes of the first tensor for which the kernel returns a result."""
    view: bool
    in_place: bool
    promotes: str
    """How dtypes are joined: ``common``, ``float`` (integers become floating) or empty (they are not)."""


def operators(words: Iterable[str] = ()) -> list[Operator]:
    """All rows by name, or those whose name or node contains each of ``words`` (upper or lower case)."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    wanted = [word.lower() for word in words]
    found = [_facts(op, measured.get(op.name, ())) for _, op in sorted(OPS.items(), key=_place)]
    return [one for one in found if all(word in f"{one.name} {one.node}".lower() for word in wanted)]


def _place(item: tuple[str, OpDef]) -> tuple[str, bool]:
    return item[0].lstrip("_"), item[0].startswith("_")


def _facts(op: OpDef, dtypes: Iterable[str]) -> Operator:
    """The catalogue entry of one row."""
    known = set(dtypes)
    return Operator(
        name=op.name,
        node=op.qualified_name if op.diff_names else "",
        kind=op.kind,
        arguments=op.params,
        differentiable=op.diff_names,
        dtypes=tuple(d.name for d in ALL if d.name in known),
        view=op.view,
        in_place=op.inplace,
        promotes=op.promote,
    )
