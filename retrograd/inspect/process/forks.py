"""Stops watching in a forked child: what it does belongs to another process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..program.signals import reraise_from_handler


class Stretch:
    """The part of the program's run that is watched."""

    def __init__(self, leave: Callable[[], object]) -> None:
        self._leave = leave
        self.inherited = False
        """Whether this process is a child that was forked during it."""

    def inherit(self) -> None:
        """Stop watching, in a child."""
        self.inherited = True
        try:
            self._leave()
        except Exception as failure:  # another thread, which is not here any more, was about to begin or end it
            reraise_from_handler(failure)


_under_way: list[Stretch] = []


@contextmanager
def in_this_process(leave: Callable[[], object]) -> Iterator[Stretch]:
    """Call ``leave`` in each child that is forked inside the block."""
    stretch = Stretch(leave)
    _under_way.append(stretch)
    try:
        yield stretch
    finally:
        if stretch in _under_way:
            _under_way.remove(stretch)


def _inherit_all() -> None:
    while _under_way:
        _under_way.pop().inherit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit_all)
