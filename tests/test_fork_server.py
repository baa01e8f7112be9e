"""What the tests of the command line start as forks begins as a process of its own would."""

from __future__ import annotations

import json
from pathlib import Path

from side_by_side import ANEW, both

LOOKS = """
import sys
names = sorted(sys.modules)
import atexit, gc, inspect, json, os, signal, threading, warnings
json.dump({
    "modules": names, "main": sorted(globals()), "depth": len(inspect.stack()),
    "path": sys.path, "argv": sys.argv, "original": sys.orig_argv[1:], "finders": list(map(str, sys.meta_path)),
    "environment": dict(os.environ), "folder": os.getcwd(), "mask": os.umask(0), "group": os.getpgid(0),
    "files": sorted(os.listdir("/dev/fd")), "limits": [sys.getrecursionlimit(), sys.getswitchinterval()],
    "streams": [
        [s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty()]
        for s in (sys.stdin, sys.stdout, sys.stderr)
    ],
    "handlers": [str(signal.getsignal(number)) for number in range(1, 32)], "warnings": repr(warnings.filters),
    "hooks": [str(hook) for hook in (sys.excepthook, sys.unraisablehook, sys.gettrace(), sys.getprofile())],
    "threads": [thread.name for thread in threading.enumerate()], "at exit": atexit._ncallbacks(),
    "main thread": threading.current_thread() is threading.main_thread(),
    "collector": [gc.isenabled(), gc.get_threshold(), gc.get_debug()],
}, sys.stdout)
"""


def test_a_fork_begins_as_a_process_of_its_own(tmp_path: Path) -> None:
    """Modules, path, arguments, environment, streams, open files, handlers and hooks are the same, for each of two."""
    (tmp_path / "looks.py").write_text(LOOKS)
    _, anew = both("looks.py", cwd=tmp_path, args=("a b",), entry=ANEW)
    wanted = json.loads(anew.out)

    assert "retrograd.cli.recorded" in wanted["modules"]
    for _ in range(2):
        _, forked = both("looks.py", cwd=tmp_path, args=("a b",))
        found = json.loads(forked.out)
        assert found.pop("depth") == wanted["depth"] + 1, "the server's own frame"
        assert {**found, "depth": wanted["depth"]} == wanted
