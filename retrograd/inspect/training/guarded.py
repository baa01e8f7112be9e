"""Failures of watching: reported once and counted, never raised into the program."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

from ..program.signals import reraise_from_handler


class Guard:
    """Calls functions of ours so that nothing they raise reaches the program."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        """Tracebacks of the first failures, for our own tests."""
        self.count = 0

    def __call__(self, step: Callable[..., Any], *args: Any) -> Any:
        """Return the result of a function, or None if it failed."""
        try:
            return step(*args)
        except Exception as problem:
            reraise_from_handler(problem)
            self.count += 1
            if self.count == 1 and sys.stderr is not None:
                print(f"retrograd: watching continues without some statistics: {problem!r}", file=sys.stderr)
            if len(self.problems) < 20:
                self.problems.append("".join(traceback.format_exception(problem)))
            return None
