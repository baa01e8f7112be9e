"""Writes files and standard output completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import OutputError

STDOUT = "-"
"""The output path that means standard output."""
_OPEN_FILES = "/proc/self/fd"
"""Where Linux lists the open files of a process."""


def write_output(content: str | bytes | Iterator[str], path: str) -> None:
    """Write ``content`` (text as UTF-8, perhaps in pieces) to ``path``, which is replaced when all of it is written.

    ``-`` is standard output.  A link keeps pointing where it did, a device or pipe is written in place, an
    existing file keeps its permissions.  Raises ``OutputError`` and leaves no half-written file.
    """
    data = _encoded(content)
    path = os.fspath(path)
    try:
        if path == STDOUT:
            _write_stdout(b"".join(data))
        elif os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "wb") as device:
                device.writelines(data)
        else:
            check_writable(path)
            _replace(Path(os.path.realpath(path)), data)
    except BrokenPipeError:
        raise  # the reader has seen enough, as in `retrograd render run.json | head`
    except (OSError, ValueError) as error:
        raise _failure(error, path) from error


def _encoded(content: str | bytes | Iterator[str]) -> Iterable[bytes]:
    """Return content as bytes, lazily if it comes in pieces."""
    if isinstance(content, bytes):
        return (content,)
    # A lone surrogate (from an undecodable file name) cannot be UTF-8; its escape is harmless in every format.
    return (
        piece.encode("utf-8", "backslashreplace") for piece in ((content,) if isinstance(content, str) else content)
    )


def check_writable(path: str) -> None:
    """Raise ``OutputError`` at once if writing to ``path`` must fail, before work is spent on the content."""
    path = os.fspath(path)
    if path == STDOUT:
        return
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not target.parent.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not target.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise _failure(error, path) from error


def _write_stdout(data: bytes) -> None:
    """Write to standard output, also if it accepts only text (a notebook, a captured stream)."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "there is no standard output")
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode("utf-8"))
    else:
        sys.stdout.flush()  # what the program printed before stays before
        buffer.write(data)
    sys.stdout.flush()


def _replace(target: Path, data: Iterable[bytes]) -> None:
    """Write a file beside ``target`` and move it there."""
    # Made by open and not by tempfile, so that the umask decides on its permissions as for any new file.
    beside = target.parent / f".retrograd-{secrets.token_hex(8)}.tmp"
    try:
        _write_new(beside, data)
        if target.exists():
            _take_after(target, beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _write_new(path: Path, data: Iterable[bytes]) -> None:
    """Write a new file that has no name until it is complete: a process killed meanwhile leaves nothing."""
    nameless = _nameless_in(path.parent)
    if nameless is None:
        with open(path, "xb") as file:
            file.writelines(data)
        return
    with open(nameless, "wb") as file:
        file.writelines(data)
        file.flush()
        # With a folder's number, which an absolute path has no use for, python asks the system to follow the link.
        os.link(f"{_OPEN_FILES}/{nameless}", path, src_dir_fd=nameless, follow_symlinks=True)


def _nameless_in(folder: Path) -> int | None:
    """Return the descriptor of a new unnamed file, or None where the system or the file system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(_OPEN_FILES):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:
        return None


def _take_after(old: Path, new: Path) -> None:
    """Give ``new`` the owner (if allowed) and the permissions of ``old``."""
    was = old.stat()
    with contextlib.suppress(PermissionError, AttributeError):  # another's file; a system without owners
        os.chown(new, was.st_uid, was.st_gid)
    os.chmod(new, stat.S_IMODE(was.st_mode))


def _failure(error: OSError | ValueError, path: str) -> OutputError:
    """Return the error for the user: what could not be written, why, and how to avoid it."""
    if isinstance(error, OutputError):
        return error
    shown = "standard output" if path == STDOUT else repr(path)
    reason = getattr(error, "strerror", None) or str(error)
    return OutputError(f"Could not write {shown}: {reason}.", _remedy(error, path))


def _remedy(error: OSError | ValueError, path: str) -> str:
    """Say what to do about a failed write."""
    if isinstance(error, FileNotFoundError) and os.path.isdir(os.path.dirname(path) or "."):
        return "No file can be made there; choose another folder."  # /proc and its like
    if isinstance(error, FileNotFoundError):
        return f"Make the folder {os.path.dirname(path) or '.'!r} first, or choose another."
    if isinstance(error, IsADirectoryError):
        return f"Name a file in that folder, such as {os.path.join(path, 'graph.svg')!r}."
    if isinstance(error, PermissionError):
        return "Choose a folder and a file that you may write to."
    if isinstance(error, OSError) and error.errno in OutputError.FULL:
        return "Free some space, or write to another disk."
    return "Check the path, or choose another."
