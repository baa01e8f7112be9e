"""The data of a call's event, written once for both engines."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..program.spelling import is_name
from ..recording.journal import Rows
from ..recording.shared_parts import shared_texts
from .surroundings import Surroundings, described

Measured = tuple[Sequence[float] | None, float | None]
"""Range and sum of a result."""
Named = tuple[Sequence[int], Sequence[str]]
"""Tensors, and how the line spells each."""


def call_data(
    around: Surroundings, given: Named, made: Named, figures: Sequence[Measured], **told: Any
) -> dict[str, Any]:
    """Return the data of a call's event, without empty entries."""
    data: dict[str, Any] = {"inputs": list(given[0]), "names": shared_texts(given[1]), **described(around)}
    data["outputs"], data["output_names"] = list(made[0]), shared_texts(made[1])
    if any(limits is not None or total is not None for limits, total in figures):
        data["range"] = [None if limits is None else list(limits) for limits, _ in figures]
        data["checksum"] = [total for _, total in figures]
    data.update((key, value) for key, value in told.items() if value)
    return data


def say_made(outputs: Iterable[int], inputs: Collection[int], row: int, rows: Rows) -> None:
    """Say of new results which event made them."""
    for number in outputs:
        if rows[number].made_by is None and number not in inputs:
            rows[number].made_by = row


def give_names(numbers: Sequence[int], texts: Sequence[str], rows: Rows) -> None:
    """Let tensors that have no name get the one that a line has for them."""
    for number, text in zip(numbers, texts, strict=True):
        if text and not rows[number].name:
            rows[number].name = worthy(text)


@functools.lru_cache(maxsize=20_000)
def worthy(text: str) -> str:
    """Return a text if it is what a user would call a tensor, else nothing."""
    return text if text and is_name(text) else ""
