"""Workers of a ``DataLoader``: each has a data set and random streams of its own, as a process would have.

They take turns in the program's process, so what they read is in order and debuggers see it; what a program can tell
of them (``get_worker_info``, seeds, copies of an ``IterableDataset``, errors that come from a worker) is PyTorch's.
"""

from __future__ import annotations

import copy
import random
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.random import default_generator
from .dataset import Dataset


@dataclass
class WorkerInfo:
    """The result of ``get_worker_info`` in a worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_current = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """Which worker asks; None outside of workers."""
    return getattr(_current, "info", None)


class Exhausted(Exception):  # noqa: N818 - no error: a stream has ended
    """A worker's part of a stream has ended."""


class _LinesInMessage(str):
    """The message of a ``KeyError``, whose ``repr`` would hide the lines of a traceback."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Worker:
    """One of a loader's workers."""

    def __init__(self, number: int, loader: Any, base_seed: int) -> None:
        data = loader.dataset
        own = copy.copy(data) if isinstance(data, Dataset) else data
        self._info = WorkerInfo(number, loader.num_workers, base_seed + number, own)
        self._prepare = loader.worker_init_fn
        self._prepared = False
        self._streams = _seeded(base_seed, number)

    def fetch(self, read: Callable[[Any], Any]) -> Any:
        """What ``read`` makes of the worker's data set; an error says which worker it comes from."""
        with self._working():
            try:
                if not self._prepared:
                    self._prepared = True
                    if self._prepare is not None:
                        self._prepare(self._info.id)
                return read(self._info.dataset)
            except Exhausted:
                raise
            except Exception as error:
                wrapped = _from_worker(error, self._info.id)
        raise wrapped

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Use the worker's random streams instead of the program's, and set ``get_worker_info``."""
        before, around = _states(), get_worker_info()
        _restore(self._streams)
        _current.info = self._info
        try:
            yield
        finally:
            _current.info = around
            self._streams = _states()
            _restore(before)


def _from_worker(error: Exception, number: int) -> Exception:
    """An error of the same type with the worker's traceback as message; of types that take none a RuntimeError."""
    lines = "".join(traceback.format_exception(error))
    text = f"Caught {type(error).__name__} in DataLoader worker process {number}.\nOriginal {lines}"
    try:
        return type(error)(_LinesInMessage(text) if isinstance(error, KeyError) else text)
    except Exception:  # it takes other arguments
        return RuntimeError(text)


def _states() -> tuple[Any, Any, Any]:
    return default_generator.get_state(), random.getstate(), np.random.get_state()


def _restore(states: tuple[Any, Any, Any]) -> None:
    default_generator.set_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])


def _seeded(base_seed: int, number: int) -> tuple[Any, Any, Any]:
    """The states of the three generators at the start of a worker, from the seeds that PyTorch's get."""
    before = _states()
    try:
        default_generator.manual_seed(base_seed + number)
        random.seed(base_seed + number)
        entropy = [number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        np.random.seed(np.random.SeedSequence(entropy).generate_state(4))  # noqa: NPY002 - what data sets draw from
        return _states()
    finally:
        _restore(before)
