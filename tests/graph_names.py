"""Graphs as text: names of nodes, their edges with output numbers, and which leaf is where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def graph_of(outputs: Sequence[Any], leaves: Sequence[Any]) -> list[str]:
    """For each node that is reached from ``outputs``, first come first numbered: its name and where its edges lead.

    ``L0`` is the first leaf, ``-`` an edge that leads nowhere, ``3:1`` the second output of node 3.
    """
    numbers: dict[Any, str] = {}
    found: list[Any] = []

    def place(node: Any, nr: int) -> str:
        if node is None:
            return "-"
        if node not in numbers:
            leaf = [i for i, leaf in enumerate(leaves) if leaf is getattr(node, "variable", None)]
            numbers[node] = f"L{leaf[0]}" if leaf else str(len(found))
            if not leaf:
                found.append(node)
        return f"{numbers[node]}:{nr}" if nr else numbers[node]

    lines = [place(out.grad_fn, out.output_nr) for out in outputs]
    for node in found:  # grows meanwhile
        edges = ", ".join([place(*edge) for edge in node.next_functions])
        lines.append(f"{numbers[node]} {node.name()}({edges})")
    return lines


OTHER_GRAPHS = {
    "x[..., i] = v": "a value with fewer dimensions is not viewed with more before it is written",
    "_unsafe_masked_index": "composed of indexing and masking",
    "_unsafe_masked_index_put_accumulate": "composed of indexing and masking",
    "_native_batch_norm_legit": "the node of native_batch_norm",
    "einsum": "of three operands the first two are multiplied first, whatever sums come earlier elsewhere",
    "triangular_solve": "the second result is a copy of the matrix, and not one of the node's",
    "conv_tbc": "composed of permutations and a convolution",
    "pad_packed_sequence": "written by one operator",
    "segment_reduce": "composed of reductions of slices",
    "nn.functional.grouped_mm": "composed of products of slices",
    "as_strided_copy": "a copy of the view",
    "special.ndtr": "one node, exact in the tails",
    "native_group_norm": "means and inverse deviations are computed beside the node",
}
"""Samples whose graph is another one than PyTorch's, and what it is instead."""
