"""Counts the processes that a watched program starts in Python: what they do is recorded by nobody."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .program.signals import let_pass
from .sources.importing import AfterImport
from .sources.patches import Patches

Told = Callable[[], None]


@contextmanager
def counting_processes(told: Told) -> Iterator[None]:
    """Call ``told`` for each process of Python that the program starts until the block ends.

    Helpers that libraries start do not count: workers that load data, servers that share objects, compilers.
    """
    patches = Patches()
    places = (
        ("multiprocessing.process", "BaseProcess", "start", _wrap_start),
        ("subprocess", "Popen", "__init__", _wrap_init),
    )
    waiting = [_Waiting(patches, told, *place) for place in places]
    try:
        for one in waiting:
            one.begin()
        yield
    finally:
        for one in waiting:
            one.end()
        patches.undo()


class _Waiting:
    """Puts a wrapper in place as soon as the module is there."""

    def __init__(self, patches: Patches, told: Told, module: str, holder: str, name: str, make: Any) -> None:
        def put() -> None:
            patches.wrap(getattr(sys.modules[module], holder), name, make(told))

        self._put = put
        self._there = module in sys.modules
        self._import = AfterImport(module, self._put)

    def begin(self) -> None:
        """Put it in place now, or later."""
        if self._there:
            self._put()
        else:
            self._import.begin()

    def end(self) -> None:
        """Wait no more."""
        if not self._there:
            self._import.end()


def _wrap_start(told: Told) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    def wrap(original: Callable[[Any], None]) -> Callable[[Any], None]:
        def start(process: Any) -> None:
            original(process)
            if not _is_helper(process):
                told()

        return start

    return wrap


def _wrap_init(told: Told) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def wrap(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(popen: Any, *args: Any, **kwargs: Any) -> None:
            original(popen, *args, **kwargs)
            if _runs_python(popen.args):
                told()

        return __init__

    return wrap


def _is_helper(process: Any) -> bool:
    """Whether a process runs a function of a library that does not train."""
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
        let_pass(failure)
        return False


def _listed(command: Any) -> Sequence[Any]:
    return command if isinstance(command, (list, tuple)) else [command]


def _is_script(word: str) -> bool:
    """Whether a command is a script that says that Python runs it, such as ``torchrun``."""
    path = shutil.which(word)
    if path is None:
        return False
    with open(path, "rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and b"python" in first
