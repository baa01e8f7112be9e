"""Errors that retrograd itself raises: each has a stable code, says what happened and what to do about it.

The engine raises ``RuntimeError``, ``TypeError`` and ``ValueError`` wherever PyTorch does, so that a
program's ``except`` clauses keep working; the classes here are for the inspector and the command line.
"""

from __future__ import annotations

import errno


class RetrogradError(Exception):
    """Base of retrograd's own errors: ``message`` says what happened, ``remedy`` what to do."""

    code = "error"
    exit_code = 2

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy


class NoGraphError(RetrogradError, ValueError):
    """A tensor (or other object) that has no backward graph was given to the inspector."""

    code = "no-graph"


class NotATensorError(RetrogradError, TypeError):
    """The argument is not a tensor, node or gradient edge of a known engine."""

    code = "not-a-tensor"


class UnknownFormatError(RetrogradError, ValueError):
    """No renderer has the asked-for format or file suffix."""

    code = "unknown-format"


class RecordingError(RetrogradError, ValueError):
    """A recording file cannot be read: cut off, of another schema, or not a recording."""

    code = "bad-recording"


class OutputError(RetrogradError, OSError):
    """A result could not be written."""

    code = "cannot-write"
    exit_code = 3
    FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
    """Error numbers of a full disk or quota."""


class LayoutError(RetrogradError, RuntimeError):
    """A layout engine that was asked for is missing or failed."""

    code = "layout-failed"
    exit_code = 3


class UsageError(RetrogradError, ValueError):
    """The command line or an option does not make sense."""

    code = "usage"


class NotInGraphError(UsageError):
    """A scope to open, or a step to draw, is not in the recording; ``option`` names which of the two."""

    def __init__(self, message: str, remedy: str, option: str, value: object) -> None:
        super().__init__(message, remedy)
        self.option, self.value = option, value


class MissingPackageError(RetrogradError, ImportError):
    """A package that an optional part needs is not installed."""

    code = "missing-package"


class UnreadyParametersError(RetrogradError, RuntimeError):
    """Parameters of data-parallel training got no gradient on some rank, or two in one run."""

    code = "unready-parameters"


class ReductionTimeoutError(RetrogradError, TimeoutError):
    """Another rank did not take part in a reduction within the time limit."""

    code = "reduction-timeout"
