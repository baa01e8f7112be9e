"""Notices the Python processes that a watched program starts: they are recorded, or at least counted.

Helpers that libraries start do not count: data-loading workers, servers that share objects, compilers.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ..program.signals import reraise_from_handler
from .late_patches import Patched, patched

Notify = Callable[[], None]


class Ledger(Protocol):
    """Makes started processes record themselves, and counts those without a recording."""

    def starting(self) -> str:
        """Return the ticket of a process that is about to start, which finds it in its environment."""

    def idle(self) -> None:
        """Remove the ticket: further processes have none."""

    def environment(self, given: Mapping[Any, Any], ticket: str) -> dict[Any, Any]:
        """Return an environment that the program passes to a process, with our variables added."""

    def started(self, ticket: str, process: int | None) -> None:
        """Note that a process has started; its process id is None if unknown."""

    def forked(self, ticket: str) -> None:
        """Record this process, a child that has just been forked; without a ticket it counts nonetheless."""

    def keep(self) -> object:
        """Save the recording now: something went wrong for which this process may be killed."""

    def unrecorded(self) -> int:
        """Return how many processes have no recording."""


class _Here(threading.local):
    """State of the thread; a forked child inherits its parent's."""

    starting: tuple[object, ...] = ()
    """The objects that have noticed the running call that starts a process."""
    ticket = ""
    """Ticket of that process."""
    runs_another = False
    """Whether the process will execute another program: the fork is only a step towards it."""


_here = _Here()


@contextmanager
def counting_processes(notify: Notify, ledger: Ledger | None = None) -> Iterator[None]:
    """Call ``notify`` for each Python process that the program starts until the block ends.

    With a ``ledger`` it is called at the end, once for each process without a recording.
    """
    process, starts = os.getpid(), _Starts(notify, ledger)
    places = [
        Patched("multiprocessing.process", "BaseProcess.start", starts.wrap_start),
        Patched("subprocess", "Popen.__init__", starts.wrap_init),
        Patched("os", "system", starts.wrap_system),
        Patched("os", "posix_spawn", starts.wrap_spawn),
        Patched("os", "posix_spawnp", starts.wrap_spawn),
        *(Patched("os", name, starts.wrap_fork) for name in ("fork", "forkpty") if ledger is not None),
    ]
    try:
        with patched(places):
            _counting.append(starts)
            yield
    finally:
        if starts in _counting:
            _counting.remove(starts)
        if ledger is not None and os.getpid() == process:
            for _ in range(ledger.unrecorded()):
                notify()


_counting: list[_Starts] = []
"""Listeners for forks."""


@contextmanager
def own_fork() -> Iterator[None]:
    """Fork inside the block for our own purposes: the child does not count as started by the program."""
    before = _here.starting, _here.runs_another
    _here.starting, _here.runs_another = ("ours",), True
    try:
        yield
    finally:
        _here.starting, _here.runs_another = before


def _count_fork() -> None:
    """Report a fork, in the parent, that no wrapped call reports."""
    if not _here.starting:
        for starts in _counting:
            starts.forked_unseen()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_count_fork)


class _Starts:
    """Replacements of the functions that start processes."""

    def __init__(self, notify: Notify, ledger: Ledger | None) -> None:
        self._notify, self._ledger = notify, ledger

    def forked_unseen(self) -> None:
        """Note that a child was forked which is not recorded."""
        if self._ledger is None:
            self._notify()
        else:
            self._ledger.started(self._ledger.starting(), None)
            self._ledger.idle()

    def wrap_fork(self, original: Callable[[], Any]) -> Callable[[], Any]:
        """Wrap a function that forks: the child is recorded once all handlers after the fork have run."""

        def fork() -> Any:
            before = _here.starting
            _here.starting = (*before, self)
            try:
                forked = original()
            finally:
                _here.starting = before
            number = forked[0] if isinstance(forked, tuple) else forked
            if number == 0 and self._ledger is not None and not _here.runs_another:
                ticket, _here.ticket, _here.starting = _here.ticket, "", ()
                self._ledger.forked(ticket)
            return forked

        return fork

    def wrap_start(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap the method of ``multiprocessing``; the others wrap what runs a command."""

        def start(process: Any) -> None:
            helps = _is_helper(process)  # its target is gone when it has started
            with self._starting() as counted:
                original(process)
            if not helps:
                counted(process.pid)

        return start

    def wrap_init(self, original: Callable[..., None]) -> Callable[..., None]:
        def __init__(popen: Any, *args: Any, **kwargs: Any) -> None:
            with self._starting(runs_another=True) as counted:
                args, kwargs = self._with_environment(original, (popen, *args), kwargs)
                original(*args, **kwargs)
            if _runs_python(popen.args):
                counted(popen.pid)

        return __init__

    def wrap_system(self, original: Callable[..., int]) -> Callable[..., int]:
        def system(command: Any) -> int:
            with self._starting(runs_another=True) as counted:
                ended = original(command)
            if _runs_python(command):
                counted(None)
            return ended

        return system

    def wrap_spawn(self, original: Callable[..., int]) -> Callable[..., int]:
        def posix_spawn(path: Any, argv: Any, env: Any, *args: Any, **kwargs: Any) -> int:
            with self._starting(runs_another=True) as counted:
                if self._ledger is not None and isinstance(env, Mapping):
                    env = self._ledger.environment(env, _here.ticket)
                process = original(path, argv, env, *args, **kwargs)
            if _runs_python([path]):
                counted(process)
            return process

        return posix_spawn

    @contextmanager
    def _starting(self, *, runs_another: bool = False) -> Iterator[Callable[[int | None], None]]:
        """Provide a ticket for a process that starts inside the block; yields what to call if it counts."""
        before = _here.starting, _here.ticket, _here.runs_another
        if self in before[0]:  # one way to start a process goes by another
            yield lambda process: None
            return
        ticket = before[1] if self._ledger is None else self._ledger.starting()
        _here.starting, _here.ticket, _here.runs_another = (*before[0], self), ticket, runs_another
        try:
            yield lambda process: self._counted(ticket, process)
        finally:
            _here.starting, _here.ticket, _here.runs_another = before
            if self._ledger is not None:
                self._ledger.idle()

    def _counted(self, ticket: str, process: int | None) -> None:
        if self._ledger is not None:
            self._ledger.started(ticket, process)
        else:
            self._notify()

    def _with_environment(
        self, original: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of ``Popen``, with our variables added to an explicit environment."""
        if self._ledger is None:
            return args, kwargs
        try:
            place = [*inspect.signature(original).parameters].index("env")
        except ValueError:
            return args, kwargs
        if isinstance(kwargs.get("env"), Mapping):
            return args, {**kwargs, "env": self._ledger.environment(kwargs["env"], _here.ticket)}
        if len(args) > place and isinstance(args[place], Mapping):
            own = self._ledger.environment(args[place], _here.ticket)
            return (*args[:place], own, *args[place + 1 :]), kwargs
        return args, kwargs


def _is_helper(process: Any) -> bool:
    """Whether a process runs a library's function that does not train."""
    target = getattr(process, "_target", None)
    module = str(getattr(target, "__module__", ""))
    return module.startswith(("torch.utils.data.", "multiprocessing.managers", "multiprocessing.resource_"))


def _runs_python(command: Any) -> bool:
    """Whether a command runs a program in Python that is not one of PyTorch's own compilers."""
    try:
        words = command.split() if isinstance(command, str) else [os.fsdecode(one) for one in _listed(command)]
        if not words or any(f"{os.sep}torch{os.sep}_inductor" in word for word in words):
            return False
        name = os.path.basename(words[0])
        return name.startswith("python") or words[0] == sys.executable or _is_script(words[0])
    except Exception as failure:  # no command that anybody could run
        reraise_from_handler(failure)
        return False


def _listed(command: Any) -> Sequence[Any]:
    return command if isinstance(command, (list, tuple)) else [command]


def _is_script(word: str) -> bool:
    """Whether a command is a script with a Python shebang, such as ``torchrun``."""
    path = shutil.which(word)
    if path is None:
        return False
    with open(path, "rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and b"python" in first
