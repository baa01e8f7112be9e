"""Decides for which backward passes, and calls before them, all statistics of gradients are computed.

Norm, number of NaN and of infinities, and share of tiny entries are computed for every gradient in every pass: a single
product of the gradient with itself gives them all if it is an ordinary number; otherwise (NaN, infinity, overflow, only
zeros, underflow) all statistics are computed. So what the checks depend on is exact in every pass.

Minimum, maximum, mean and share of zeros of ordinary gradients need four more passes over the data. They are computed
in the first backward passes and in one of many after that, and are None (not measured) in the others.

On our engine the same holds for minimum and maximum of the results of calls before such a pass. The sum of every result
is computed, and shows by itself that all entries are finite; where it is zero or not finite, and for calls whose range
a check needs in every pass (``Site.ranged``), the range is always computed.
"""

from __future__ import annotations

AT_FIRST = 2
"""Backward passes at the beginning of a recording in which all statistics are computed."""
EVERY = 17
"""After that, one pass in so many; a prime, so that each of the several passes of a step gets its turn."""


class FigureSchedule:
    """The schedule of one recording."""

    def __init__(self, *, always: bool = False) -> None:
        self._always = always
        self.whole = True
        """Whether all statistics are computed in the next pass."""

    def comes(self, run: int) -> None:
        """Set the number of the next pass."""
        self.whole = self.takes_all(run)

    def takes_all(self, run: int) -> bool:
        """Whether all statistics are computed in the backward pass with this number, counted from 0."""
        return self._always or run < AT_FIRST or run % EVERY == 0
