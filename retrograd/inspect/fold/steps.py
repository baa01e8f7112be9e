"""The steps of folding by name, in the order in which they are done."""

from __future__ import annotations

from collections.abc import Collection

from ...errors import UsageError
from ..progress import tick
from ..snapshot import GraphSnapshot
from .atoms import make_atoms
from .folded import Folded
from .limits import fold_chains, limit_crowds
from .plumbing import merge_plumbing, plumbing_nodes
from .repeats import fold_repeats
from .scopes import add_scopes, merge_single, name_numbers

STEPS = {
    "views": "transposes, views, casts and reshapes merge into the edge they stand on",
    "parameters": "a parameter stands on the card of the operator that uses it, once per use",
    "modules": "modules and scopes are boxes",
    "functions": "functions of yours are boxes where there is no module",
    "repeats": "repeated blocks become one box with a count",
    "chains": "long rows of single operators become one box",
    "limits": "neighbours become one box where there are too many",
}
"""Steps that can be asked for, and what they do."""


def check_steps(steps: Collection[str]) -> frozenset[str]:
    """Return the steps as a set; raises ``UsageError`` for one that there is not."""
    unknown = sorted(set(steps) - STEPS.keys())
    if unknown:
        raise UsageError(f"There is no step {unknown[0]!r} of folding.", f"There are: {', '.join(STEPS)}.")
    return frozenset(steps)


def fold(snapshot: GraphSnapshot, steps: Collection[str] = tuple(STEPS)) -> Folded:
    """Fold a graph by the named steps (all by default); the snapshot itself is kept unchanged in the result.

    Takes time linear in nodes and edges (times the depth of scopes) and does not recurse.
    """
    wanted = check_steps(steps)
    tick()
    folded = make_atoms(snapshot, _merged(snapshot, "views" in wanted), parameters="parameters" in wanted)
    tick()
    add_scopes(folded, modules="modules" in wanted, functions="functions" in wanted)
    tick()
    if "repeats" in wanted:
        fold_repeats(folded)
    if "chains" in wanted:
        fold_chains(folded)
    if "limits" in wanted:
        limit_crowds(folded)
    tick()
    merge_single(folded)
    name_numbers(folded)
    return folded


def _merged(snapshot: GraphSnapshot, wanted: bool) -> bytearray:
    """Return which nodes merge into edges; none at all in a file where they lead in a circle."""
    none = bytearray(len(snapshot))
    if not wanted:
        return none
    merged = plumbing_nodes(snapshot)
    ends = merge_plumbing(snapshot, merged).last
    return none if any(merged[snapshot.edge_target[edge]] for edge in ends) else merged
