"""``torch.multiprocessing``: Python's ``multiprocessing``, ``spawn``, and tensors whose memory processes share.

Tensors in shared memory (``share_memory_``) are those of a forked child, too. What goes through a queue or a pipe, or
to a child that is spawned, is pickled: the other side gets a copy.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any

globals().update({name: getattr(multiprocessing, name) for name in multiprocessing.__all__})

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names that PyTorch has on Linux; nothing depends on them here."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The one that was set."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Noted only."""
    assert new_strategy in _STRATEGIES
    _strategy[0] = new_strategy


class ProcessException(Exception):  # noqa: N818 - torch's name
    """A process of ``spawn`` did not end as it should."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """Its function raised an exception, whose traceback is the message."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """It ended by a signal or with an exit code."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], rank: int, args: tuple[Any, ...], failure: Any) -> None:
    """What a process does; the traceback of an exception goes to the parent."""
    try:
        function(rank, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it, too
    except Exception:
        failure.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that ``spawn(..., join=False)`` has begun."""

    def __init__(self, processes: list[Any], failures: list[Any]) -> None:
        self.processes, self._failures = processes, failures
        self._left = {process.sentinel: rank for rank, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one more has ended; True when all have. If one failed, the others are ended and it raises."""
        if not self._left:
            return True
        failed = None
        for sentinel in wait(self._left.keys(), timeout):
            rank = self._left.pop(sentinel)
            self.processes[rank].join()
            if self.processes[rank].exitcode:
                failed = rank
                break
        if failed is None:
            return not self._left
        self._end_others(grace_period or 30)
        raise self._error(failed)

    def _end_others(self, grace: float) -> None:
        alive = [process for process in self.processes if process.is_alive()]
        for process in alive:
            process.terminate()
        end = time.monotonic() + grace
        for process in alive:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _error(self, rank: int) -> ProcessException:
        process = self.processes[rank]
        try:
            report = self._failures[rank].recv()
        except EOFError:
            return self._exit(rank, process.pid, process.exitcode)
        text = f"\n\n-- Process {rank} terminated with the following error:\n{report}"
        return ProcessRaisedException(text, rank, process.pid)

    def _exit(self, rank: int, pid: int, code: int) -> ProcessExitedException:
        if code < 0:
            name = signal.Signals(-code).name
            text = f"process {rank} terminated with signal {name}"
            return ProcessExitedException(text, rank, pid, code, name)
        return ProcessExitedException(f"process {rank} terminated with exit code {code}", rank, pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Call ``fn(rank, *args)`` in each of ``nprocs`` processes; wait for them, or return what waits."""
    context: Any = multiprocessing.get_context(start_method)
    processes, failures = [], []
    for rank in range(nprocs):
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, rank, args, sending), daemon=daemon)
        process.start()
        sending.close()
        processes.append(process)
        failures.append(receiving)
    begun = ProcessContext(processes, failures)
    if not join:
        return begun
    while not begun.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """``start_processes`` under the name that programs use."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


__all__ = [  # noqa: PLE0604
    *multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip
