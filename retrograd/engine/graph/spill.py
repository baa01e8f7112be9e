"""A temporary folder of arrays whose files go away with the values, with the process, or after its death."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np

try:
    import fcntl
except ImportError:  # no advisory locks here: leftovers of killed processes stay for the system's own cleaning
    fcntl = None  # type: ignore[assignment]

_PREFIX = "retrograd-saved-"
_LOCK = "lock"


class SpillFolder:
    """A folder that is removed once neither its owner nor any array in it is in use.

    A lock on a file inside tells other processes that it is alive; the system drops the lock however a process
    ends, so that folders without one can be removed by whoever comes next.
    """

    def __init__(self, parent: str | None = None) -> None:
        try:
            _remove_leftovers(Path(parent or tempfile.gettempdir()))
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        except OSError as error:
            raise _explained(error, f"no temporary folder can be made in {parent or tempfile.gettempdir()}") from error
        lock = _hold(self.path / _LOCK)
        self._names = itertools.count()
        weakref.finalize(self, _remove_folder, self.path, lock, os.getpid())

    def write(self, array: Any) -> SpilledArray:
        """Write an array to a file of its own; nothing of it stays behind when that fails."""
        path = self.path / f"{next(self._names)}.npy"
        try:
            with path.open("wb") as file:
                np.save(file, array, allow_pickle=False)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise _explained(error, f"a saved value of {array.nbytes} bytes could not be written to {path}") from error
        return SpilledArray(self, path)


class SpilledArray:
    """One array on disk; its file is removed when this object dies."""

    def __init__(self, folder: SpillFolder, path: Path) -> None:
        self._folder = folder  # keeps the folder
        self.path = path
        weakref.finalize(self, _remove_file, path, os.getpid())

    def read(self) -> Any:
        """The array, read anew."""
        try:
            return np.load(self.path, allow_pickle=False)
        except OSError as error:
            raise _explained(error, f"a saved value could not be read from {self.path}") from error


def _explained(error: OSError, what: str) -> OSError:
    remedy = "give save_on_disk(folder=...) a folder that exists, may be written and has room"
    return OSError(error.errno, f"{what}: {error.strerror or error}; {remedy}")


def _hold(path: Path) -> IO[bytes]:
    """Make the lock file and lock it for as long as it is open."""
    unlocked = path.with_suffix(".new")
    file = unlocked.open("wb")
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks: the folder is then only removed by us
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unlocked.rename(path)  # only now can others see it
    return file


def _remove_file(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not delete what its parent still needs
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _remove_folder(path: Path, lock: IO[bytes], owner: int) -> None:
    lock.close()
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of processes that were killed before they could do it."""
    if fcntl is None:
        return
    for folder in parent.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
