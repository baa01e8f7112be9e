"""Many cases in one test: a test of its own for each of 20,000 samples costs pytest more than the samples do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from op_samples import Sample, identity


def each(cases: Iterable[Any], check: Callable[[Any], None], name: Callable[[Any], str] = identity) -> None:
    """Check every case, and fail with all failures, each with its traceback and the name of its case."""
    failures: list[Exception] = []
    for case in cases:
        try:
            check(case)
        except Exception as error:
            error.add_note(f"This is the case {name(case)}.")
            failures.append(error)
    if failures:
        raise ExceptionGroup("cases that fail", failures)


AT_LEAST = 40
"""How many samples one test takes, or else those of the last operators."""


def _blocks(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """The samples of a few operators each, by their names, which ``-k`` finds."""
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.name, []).append(sample)
    blocks: list[tuple[list[str], list[Sample]]] = []
    for name, own in groups.items():
        if not blocks or len(blocks[-1][1]) >= AT_LEAST:
            blocks.append(([], []))
        blocks[-1][0].append(name)
        blocks[-1][1].extend(own)
    return {" ".join(names): own for names, own in blocks}


def by_operators(samples: Iterable[Sample]) -> Callable[[Callable[[Sample], None]], Any]:
    """Make the check of one sample into one test for each few operators, which runs all their samples."""
    blocks = _blocks(samples)

    def decorated(check: Callable[[Sample], None]) -> Any:
        def test(operators: str) -> None:
            each(blocks[operators], check)

        test.__name__, test.__qualname__, test.__doc__ = check.__name__, check.__qualname__, check.__doc__
        test.__module__ = check.__module__
        return pytest.mark.parametrize("operators", blocks)(test)

    return decorated
