"""Compares this rank's parameters with other ranks' after each optimizer step, while the program runs.

A thread of ours communicates over small gloo groups that PyTorch does not list, so that the program's groups, their
names and the order of their collectives are unchanged. The program never waits for it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import chain, count
from queue import SimpleQueue
from typing import Any

from ....lineup.digests import Collect, Comparison, Learn, Message, Place, Report, Request, Spread
from ....program.modules import attribute
from ....program.signals import reraise_from_handler
from ....recording.events import Event
from ...importing import AfterImport
from ...step_effects import sum_of
from ..library import LIBRARY, loaded_torch
from ..private import private
from ..problems import safely, unseen
from ..watching.own_numbers import own_numbers
from .owners import StepReader

_LIMIT = 30.0
"""Seconds that one rank waits for another before it stops comparing."""
_MOST = 1_000
"""Steps that may wait to be compared."""
_GLANCE, _LONGEST_GLANCE = 0.003, 0.05
"""Seconds between two checks for a message, at first and in the end."""
PATIENCE = 2.0
"""Seconds that the end of a program waits for a comparison in progress."""
_attempts = count()
"""Number of comparisons of this process; each uses other addresses."""
Step = tuple[int, list[int | None], list[int | None]]
"""Number of the optimizer; digests of its parameters before and after the step."""


class _Gone(Exception):  # noqa: N818 -- why nothing is compared any more, in a sentence
    """Another rank did not answer."""


@contextmanager
def digests_compared() -> Iterator[Digests]:
    """Compare digests of parameters until the block ends; PyTorch may be imported inside the block."""
    digests = Digests()
    begin = partial(safely, digests.begin)
    waiting = AfterImport("torch", begin)
    if loaded_torch() is not None:
        begin()
    else:
        waiting.begin()
    try:
        yield digests
    finally:
        waiting.end()
        digests.end(0.0)


class Digests:
    """The comparison of one process."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._handles: list[Any] = []
        self._reader: StepReader | None = None
        self._numbers: dict[int, int] = {}
        """Optimizer -> its number, by the order of first steps, which is equal on all ranks."""
        self._before: list[int | None] = []
        """Digests of an optimizer's parameters before its first step."""
        self._steps: SimpleQueue[Step | None] = SimpleQueue()
        self._comparison: Comparison | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._stopped = ""

    def begin(self) -> None:
        """Start observing steps."""
        self._reader = StepReader(sum_of)
        optimizer: Any = sys.modules[LIBRARY.torch.optim.Optimizer.__module__]
        with own_numbers():
            self._handles.append(optimizer.register_optimizer_step_pre_hook(self._begins))
            self._handles.append(optimizer.register_optimizer_step_post_hook(self._ended))

    def end(self, patience: float) -> Event | None:
        """Stop observing; return the result, None for a process that is not one of several."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._comparison is None or self._thread is None or os.getpid() != self._process:
            return None
        self._steps.put(None)
        self._thread.join(patience)
        if self._thread.is_alive():
            self._stopped = self._stopped or "other ranks had not answered at the end"
            self._over.set()
            self._thread.join(PATIENCE)
        return self._comparison.event(self._stopped)

    # -- on the program's thread
    def _begins(self, optimizer: Any, *_: Any) -> None:
        if id(optimizer) not in self._numbers:
            unseen(self._read_first, optimizer)

    def _read_first(self, optimizer: Any) -> None:
        self._before = self._contents(optimizer)

    def _ended(self, optimizer: Any, *_: Any) -> None:
        if not self._over.is_set():
            unseen(self._compare, optimizer)

    def _compare(self, optimizer: Any) -> None:
        """Pass a step to our thread."""
        if os.getpid() != self._process or (self._thread is None and not self._start()):
            return
        number = self._numbers.setdefault(id(optimizer), len(self._numbers))
        self._steps.put((number, self._before, self._contents(optimizer)))
        if self._steps.qsize() > _MOST:
            self._stopped = f"{_MOST} steps were waiting to be compared"
            self._over.set()

    def _start(self) -> bool:
        """Start comparing if this process is one of several."""
        distributed = LIBRARY.torch.distributed
        if not (distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1):
            return False
        place = Place(distributed.get_rank(), distributed.get_world_size())
        if private().gloo is None:
            return False
        store = private().default_store().clone()
        self._comparison = Comparison(place)
        self._thread = threading.Thread(target=self._run, args=(store,), name="retrograd-digests", daemon=True)
        self._thread.start()
        return True

    def _contents(self, optimizer: Any) -> list[int | None]:
        """Return a digest of each parameter, None for a shard or one that cannot be read."""
        assert self._reader is not None
        held = list(chain.from_iterable(group["params"] for group in attribute(optimizer, "param_groups")))
        plain = [self._reader.place(one) is not None for one in held]
        read = zip(self._reader.contents(held), plain, strict=True)
        return [zlib.crc32(repr(one).encode()) if fits and one is not None else None for one, fits in read]

    # -- on our thread
    def _run(self, store: Any) -> None:
        assert self._comparison is not None
        try:
            with private().unobserved():
                self._answer_all(_Channel(self._comparison.place, store, self._over))
        except Exception as failure:
            reraise_from_handler(failure)
            self._stopped = self._stopped or str(failure).partition("\n")[0][:120]
        self._over.set()

    def _answer_all(self, channel: _Channel) -> None:
        """Compare step by step until the program ends or ranks have diverged."""
        assert self._comparison is not None
        while self._comparison.difference is None and (step := self._steps.get()) is not None:
            exchange, answer = self._comparison.step(*step), None
            while (request := _next(exchange, answer)) is not None:
                answer = channel.answer(request)


def _next(exchange: Any, answer: Any) -> Request | None:
    """Return the next request of an exchange, None at its end."""
    try:
        request: Request = exchange.send(answer)
    except StopIteration:
        return None
    return request


class _Channel:
    """The groups of one rank: one with the ranks that report to it, one with those that report to the same parent."""

    def __init__(self, place: Place, store: Any, over: threading.Event) -> None:
        self._store, self._over = store, over
        self._attempt = next(_attempts)
        self._below = self._group(place.rank, place, 0) if place.children else None
        parent = place.parent
        self._above = None
        if parent is not None:
            above = Place(parent, place.size)
            self._above = self._group(parent, above, 1 + above.children.index(place.rank))

    def _group(self, name: int, place: Place, own: int) -> Any:
        """Make the group of a rank and its children once all of them are there; before, it would wait without limit."""
        size = 1 + len(place.children)
        at = f"retrograd-digests/{self._attempt}/{name}"
        keys = [f"{at}/here{member}" for member in range(size)]
        self._store.set(keys[own], "")
        self._wait(lambda: self._store.check(keys))
        names, seconds = private(), timedelta(seconds=_LIMIT)
        prefix = names.prefix_store(at, self._store)
        return _Group(names.gloo(prefix, own, size, seconds), size, self._wait)

    def _wait(self, is_done: Callable[[], bool]) -> None:
        """Wait for a condition; raises on timeout, or when the program ends."""
        limit, glance = time.monotonic() + _LIMIT, _GLANCE
        while not is_done():
            if self._over.is_set():
                raise _Gone("the program ended")
            if time.monotonic() > limit:
                raise _Gone(f"another rank did not answer within {_LIMIT:.0f} s")
            time.sleep(glance)
            glance = min(glance * 1.5, _LONGEST_GLANCE)

    def answer(self, request: Request) -> Any:
        """Send or receive what is requested."""
        group = self._below if isinstance(request, (Collect, Spread)) else self._above
        assert group is not None
        if isinstance(request, Collect):
            return group.gather([0] * request.size)[1:]
        if isinstance(request, Report):
            return group.gather(request.message, to_this=False)
        if isinstance(request, Learn):
            return group.broadcast([0] * request.size)
        return group.broadcast(request.message)


class _Group:
    """A gloo group of a rank and those that report to it."""

    def __init__(self, group: Any, size: int, wait: Callable[[Callable[[], bool]], None]) -> None:
        self._group, self._size, self._wait = group, size, wait

    def gather(self, message: Message, *, to_this: bool = True) -> list[Message]:
        """Send a message to the first member; return the messages of all if this is the first."""
        own = LIBRARY.torch.tensor(message, dtype=LIBRARY.torch.int64)
        found = [[LIBRARY.torch.empty_like(own) for _ in range(self._size)]] if to_this else []
        self._finish(self._group.gather(found, [own], private().gather_options()))
        return [one.tolist() for row in found for one in row]

    def broadcast(self, message: Message) -> Message:
        """Return the first member's message."""
        held = LIBRARY.torch.tensor(message, dtype=LIBRARY.torch.int64)
        self._finish(self._group.broadcast([held], private().broadcast_options()))
        found: Message = held.tolist()
        return found

    def _finish(self, work: Any) -> None:
        try:
            self._wait(work.is_completed)
            work.wait()
        except Exception:
            # Freeing a group waits for what it is doing, perhaps up to its limit: it stays until the process ends.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._group))
            raise
