"""The program the user asked to run: a script, a folder or zip, a module, a piece of code, or standard input."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from typing import Literal

from ..errors import UsageError
from ..inspect.recording.flight_recorder import is_dump

Kind = Literal["script", "module", "code", "stdin"]


@dataclass(frozen=True, slots=True)
class Target:
    """One program to run and the arguments that belong to it."""

    kind: Kind
    text: str
    """Path, module name or code, as typed."""
    args: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The program's name in recordings and messages."""
        return {"script": self.text, "module": f"-m {self.text}", "code": "-c", "stdin": "standard input"}[self.kind]

    @property
    def argv(self) -> list[str]:
        """``sys.argv`` as ``python`` sets it before anything runs."""
        first = {"script": self.text, "module": "-m", "code": "-c", "stdin": "-"}[self.kind]
        return [first, *self.args]

    def check(self) -> None:
        """Raise ``UsageError`` when there is no such program; nothing of it is imported or run."""
        if self.kind == "script":
            _check_script(self.text)
        elif self.kind == "module":
            _check_module(self.text)


def choose(words: tuple[str, ...], *, module: str | None = None, code: str | None = None) -> Target:
    """Return the target that the command line names; ``words`` are its positional arguments.

    Raises ``UsageError`` when it names none, or two.
    """
    if module is not None and code is not None:
        raise UsageError("-m and -c were both given, and only one program can run.", "Leave one of them out.")
    if module is not None:
        return Target("module", module, words)
    if code is not None:
        return Target("code", code, words)
    if not words:
        raise UsageError("No script was given.", "Name a script, '-m MODULE', '-c CODE', or '-' for standard input.")
    kind: Kind = "stdin" if words[0] == "-" else "script"
    return Target(kind, words[0], words[1:])


def _check_script(path: str) -> None:
    """Raise for a path that python could not open, or a folder without ``__main__.py``."""
    if not path or "\0" in path:
        raise UsageError(f"The script's path {path!r} is not a file name.", "Check the path.")
    if not os.path.exists(path):
        raise UsageError(f"There is no script {path!r}.", _nearest(path))
    if os.path.isdir(path):
        if not any(os.path.exists(os.path.join(path, f"__main__{end}")) for end in (".py", ".pyc")):
            raise UsageError(f"The folder {path!r} has no __main__.py to run.", "Name a script inside it.")
    elif path.endswith(".ipynb"):
        script = f"{os.path.splitext(os.path.basename(path))[0]}.py"
        raise UsageError(
            f"{path!r} is a notebook, which python cannot run.",
            f"Make a script of it: jupyter nbconvert --to script {path}, and give {script}; "
            "or draw inside the notebook: with retrograd.debug() as trace: ...",
        )
    elif not os.access(path, os.R_OK):
        raise UsageError(f"The script {path!r} cannot be read.", "Check its permissions.")
    elif is_dump(path):
        raise UsageError(
            f"{path!r} is a pickle, such as a dump of PyTorch's flight recorder, and not a program.",
            "Read the dumps of a job with: retrograd diagnose fr_trace.rank*",
        )


def _nearest(path: str) -> str:
    """Return the script whose name is nearest to one that does not exist."""
    if os.path.isfile(f"{path}.py"):
        return f"Did you mean {path + '.py'!r}?"
    if path.replace(".", "").isidentifier() and _top_level_exists(path):
        return f"Did you mean the module: -m {path}?"
    folder = current_folder()
    if not folder:
        return "The current folder is gone; go to another."
    return f"Check the path; the current folder is {folder!r}."


def current_folder() -> str:
    """Return the current folder, ``""`` if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _check_module(name: str) -> None:
    """Raise when the first part of a module's name is nowhere on ``sys.path``; deeper parts show when run."""
    if not _top_level_exists(name):
        raise UsageError(
            f"There is no module {name.partition('.')[0]!r} on Python's path.",
            "Check the name, or run it from the folder that holds it.",
        )


def _top_level_exists(name: str) -> bool:
    """Whether the first part of a dotted name can be found, without importing it (the current folder included)."""
    top = name.partition(".")[0]
    if top in sys.modules:
        return True
    before = list(sys.path)
    if not sys.flags.safe_path:
        sys.path[:1] = [current_folder()]
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False
    finally:
        sys.path[:] = before
