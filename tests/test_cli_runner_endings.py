"""A traced program ends as under python: exit code, order of output, tracebacks, threads, handlers, signals."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from side_by_side import ANEW, Outcome, both, finish, retrograd, start

ENDINGS = {
    "order of the end": """
        import atexit, sys, threading, time
        from concurrent.futures import ThreadPoolExecutor
        def late(text):
            time.sleep(0.15)
            print(text, sys.exc_info(), threading.main_thread().is_alive())
        atexit.register(print, "first registered, last run")
        atexit.register(late, "second registered")
        atexit.register(lambda: 1 / 0)
        def last(text):
            threading.main_thread().join()
            late(text)
        threading.Thread(target=last, args=("thread",)).start()
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        pool, ended = ThreadPoolExecutor(1), threading.Event()
        pool.submit(lambda: ended.wait() and late("executor that nobody shut down"))
        class Global:
            def __del__(self): print("teardown", sys.is_finalizing())
        kept = Global()
        print("end of the script")
        ended.set()
        sys.exit(7)
    """,
    "uncaught before a thread's end": """
        import atexit, sys, threading, time
        def late(text):
            threading.main_thread().join()
            print(text, file=sys.stderr)
        atexit.register(print, "handler", file=sys.stderr)
        threading.Thread(target=late, args=("thread",)).start()
        raise ValueError("first of all")
    """,
    "exit with text": "import sys; print('out'); sys.exit('sorry: [red] {x}')",
    "exit with a tuple": "import sys; sys.exit((1, 'two'))",
    "exit with a large number": "import sys; sys.exit(515)",
    "exit with a negative number": "raise SystemExit(-3)",
    "exit below functions": "def f():\n    try: raise SystemExit(4)\n    finally: print('cleaned')\nf()",
    "uncaught": """
        def inner():
            error = KeyError('missing')
            error.add_note('a note')
            raise error
        def outer():
            try: inner()
            except KeyError as error: raise RuntimeError('wrapped') from error
        try: outer()
        except RuntimeError: raise ValueError('while handling')
    """,
    "group": """
        def make(number):
            try: raise ValueError(number)
            except ValueError as error: return error
        raise ExceptionGroup('several', [make(1), ExceptionGroup('inner', [make(2)])])
    """,
    "own hook": """
        import sys, traceback
        def hook(kind, value, where):
            print('hook', kind.__name__, value, len(traceback.extract_tb(where)), sys.exc_info())
            print([line.name for line in traceback.extract_tb(value.__traceback__)], sys.last_value is value)
        sys.excepthook = hook
        def f(): raise LookupError('x')
        f()
    """,
    "hook that exits": "import sys\nsys.excepthook = lambda *a: sys.exit(9)\n1 / 0",
    "hook that fails": "import sys\ndef hook(*a): raise OSError('in hook')\nsys.excepthook = hook\n1 / 0",
    "no hook": "import sys\ndel sys.excepthook\n1 / 0",
    "no stderr": "import sys\nsys.stderr = None\nprint('x')\n1 / 0",
    "closed stdout": "import sys\nprint('x')\nsys.stdout.close()",
    "syntax error": "x = 1\nif x:\nprint(x)\n",
    "tab error": "if 1:\n        x = 1\n\ty = 2\n",
    "coding cookie": "# -*- coding: latin-1 -*-\nprint(ascii('é'))\nx: int = 1\nprint(__annotations__)",
    "error while imported": "import broken_module",
    "end of file": "input()",
    "os error": "open('/nonexistent/file')",
    "click inside": """
        import click
        @click.command()
        @click.argument('words', nargs=-1)
        @click.option('-o')
        def main(words, o):
            print(words, o, click.get_current_context().command_path, click.get_current_context().parent)
            raise click.ClickException('no luck')
        main(['a', '-o', 'b'])
    """,
    "interrupt": "import sys\nprint('x')\nraise KeyboardInterrupt",
    "caught interrupt": "try: raise KeyboardInterrupt\nexcept KeyboardInterrupt: print('caught')",
    "real interrupt": """
        import atexit, os, signal, time
        kept = open('kept.txt', 'w')
        kept.write('buffered')
        atexit.register(print, 'handler')
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    """,
    "profiler left on": """
        import atexit, cProfile, sys, threading
        profiler = cProfile.Profile()
        def last():
            late()
            profiler.disable()
            print(sorted(str(entry.code) for entry in profiler.getstats()))
        def late(): pass
        atexit.register(last)
        profiler.enable()
        sys.exit(4)
    """,
    "profile function left on": """
        import atexit, sys, threading
        seen = []
        def profile(frame, event, arg):
            seen.append((event, arg.__name__ if event.startswith('c_') else frame.f_code.co_name))
        def last():
            sys.setprofile(None)
            print(seen)
        atexit.register(last)
        sys.setprofile(profile)
    """,
    "tracer left on": """
        import atexit, sys, threading
        seen = []
        def trace(frame, event, arg):
            seen.append((event, frame.f_code.co_name))
            return trace
        def last():
            sys.settrace(None)
            print(seen)
        atexit.register(last)
        sys.settrace(trace)
    """,
    "gone at once": "import os\nos.write(1, b'x')\nos._exit(5)",
    "forked child": """
        import os, sys
        sys.stdout.flush()
        child = os.fork()
        if child: print('child ended with', os.waitpid(child, 0)[1] >> 8); sys.exit(2)
        print('child'); sys.stdout.flush(); sys.exit(6)
    """,
    "spawned pool": """
        import multiprocessing
        class Thing:
            def __init__(self, x): self.x = x
        def work(x): return Thing(x * 2)
        if __name__ == '__main__':
            with multiprocessing.get_context('spawn').Pool(1) as pool:
                print([thing.x for thing in pool.map(work, [1, 2])], type(work(1)).__module__)
    """,
    "warning": """
        import warnings
        warnings.warn('old', DeprecationWarning)
        def f(): warnings.warn('deep', stacklevel=2)
        f()
    """,
    "future": "def f(x: undefined): pass",
}


IN_A_PROCESS_OF_ITS_OWN = frozenset(
    {"order of the end", "profile function left on", "tracer left on", "real interrupt"}
)
"""Two that show what a fork has of its parent in ``threading``, and two so that forks are not all there is."""


def file_name(name: str) -> str:
    """The script of an ending."""
    return name.replace(" ", "_").replace("'", "") + ".py"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one script for each ending."""
    root = tmp_path_factory.mktemp("endings").resolve()
    (root / "broken_module.py").write_text("def f(:\n")
    for name, text in ENDINGS.items():
        lines = text.strip("\n").split("\n")
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        keep = 0 if name == "tab error" else indent
        body = "\n".join(line[keep:] for line in lines) + "\n"
        (root / file_name(name)).write_bytes(body.encode("latin-1"))
    return root


@pytest.mark.parametrize("name", ENDINGS)
def test_the_program_ends_as_under_python(place: Path, name: str) -> None:
    """Exit code, stdout, stderr and the traceback, letter by letter, are those of python."""
    expected, got = both(file_name(name), cwd=place, entry=ANEW if name in IN_A_PROCESS_OF_ITS_OWN else ())

    assert got == expected


def test_endings_are_what_they_are_meant_to_be(place: Path) -> None:
    """The comparison has something to compare: codes and words of a few endings, by python alone."""
    codes = {"real interrupt": -2, "exit with text": 1, "order of the end": 7, "hook that exits": 9, "gone at once": 5}
    for name, code in codes.items():
        outcome = finish(start([sys.executable, file_name(name)], place))
        assert outcome.code == code
        if name == "order of the end":
            assert outcome.out.index("executor") < outcome.out.index("last run") < outcome.out.index("teardown")
        if name == "real interrupt":
            assert (place / "kept.txt").read_text() == "buffered"


RAISES = "def f():\n    raise ValueError('where am I')\nf()\n"


@pytest.mark.parametrize("start_with", [("-m", "raises"), ("-m", "pkg"), ("-c", RAISES), ("-",), ("pkg",)], ids=str)
def test_tracebacks_however_started(tmp_path: Path, start_with: tuple[str, ...]) -> None:
    """The traceback of a module, a package, a piece of code, standard input and a folder is python's."""
    (tmp_path / "raises.py").write_text(RAISES)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__main__.py").write_text(RAISES)
    expected, got = both(*start_with, cwd=tmp_path, stdin=RAISES.encode() if start_with == ("-",) else b"")

    assert "where am I" in expected.err
    assert got == expected


def test_a_submodule_that_is_not_there(tmp_path: Path) -> None:
    """`-m os.nope` fails while it is looked up, with python's sentence and exit code."""
    expected, got = both("-m", "json.nope", cwd=tmp_path)

    assert expected.code == 1
    assert got == expected


def interrupted_while_joining(command: list[str], place: Path) -> Outcome:
    """Start a program whose thread goes on after its end, and press Ctrl-C then."""
    process = start(command, place)
    assert process.stdout is not None
    assert process.stdout.readline() == b"end of the script\n"
    process.send_signal(signal.SIGINT)
    return finish(process)


def test_interrupt_while_threads_are_joined(tmp_path: Path) -> None:
    """Ctrl-C after the script's end stops the waiting; handlers still run and the exit code is the script's."""
    (tmp_path / "waits.py").write_text(
        "import atexit, os, threading, time, sys\n"
        "atexit.register(print, 'handler')\n"
        "def work(): time.sleep(0.8); os.write(1, b'end of the script\\n'); time.sleep(3)\n"
        "threading.Thread(target=work).start()\n"
        "sys.exit(3)\n"
    )
    plain = interrupted_while_joining([sys.executable, "waits.py"], tmp_path)
    traced = interrupted_while_joining([sys.executable, "-m", "retrograd", "trace", "-q", "waits.py"], tmp_path)

    assert (traced.code, traced.out) == (plain.code, plain.out) == (3, "handler\n")
    assert "_shutdown" in plain.err
    assert traced.err.splitlines()[:4] == plain.err.splitlines()[:4]


@pytest.mark.parametrize("text", ["print('x')", "print('x' * 100_000)", "print('x', flush=True)"])
def test_broken_pipe(tmp_path: Path, text: str) -> None:
    """A reader of stdout who has gone gives the exit code and words that python gives."""
    (tmp_path / "prints.py").write_text(text)
    script = [str(tmp_path / "prints.py")]
    outcomes = []
    for command in ([sys.executable, *script], [sys.executable, "-m", "retrograd", "trace", "-q", *script]):
        process = start(command, tmp_path)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = open(os.devnull, "rb")  # noqa: SIM115  # communicate() wants something to read
        outcomes.append(finish(process))
        process.stdout.close()

    assert outcomes[0].code in (1, 120)
    assert outcomes[1].code == outcomes[0].code
    assert "BrokenPipeError" in outcomes[1].err


CONSOLE_SCRIPT = "import sys\nfrom retrograd.cli.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n"


@pytest.mark.parametrize("text", ["import sys\nprint(sys.path[0], __file__)\n1 / 0", "raise KeyboardInterrupt"])
def test_started_by_the_console_script(tmp_path: Path, text: str) -> None:
    """The installed `retrograd` command, a script in another folder, runs programs as `python -m retrograd` does."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "retrograd").write_text(CONSOLE_SCRIPT)
    (tmp_path / "ends.py").write_text(text)
    expected, got = both("ends.py", cwd=tmp_path, entry=("bin/retrograd",))

    assert expected.code in (1, -2)
    assert got == expected


DEPTH = """
import inspect
def dive(depth):
    global deepest
    deepest = depth
    dive(depth + 1)
try:
    dive(1)
except RecursionError:
    print(deepest, len(inspect.stack()))
"""


def test_next_to_nothing_stands_below_the_program_on_the_stack(tmp_path: Path) -> None:
    """A program recurses as deep as alone but for the script that starts us, `main` and the call of `exec`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "retrograd").write_text(CONSOLE_SCRIPT)
    (tmp_path / "dives.py").write_text(DEPTH)
    expected, got = both("dives.py", cwd=tmp_path, entry=("bin/retrograd",))

    deepest, frames = map(int, expected.out.split())
    assert deepest - 3 <= int(got.out.split()[0]) <= deepest
    assert int(got.out.split()[1]) == frames + 2


STEPS_OUT = """
import bdb, os
class Steps(bdb.Bdb):
    def stop(self, frame, *_):
        folder, name = os.path.split(frame.f_code.co_filename)
        if name == "steps.py" or folder.endswith("cli"):
            print(name, frame.f_lineno)
    user_call = user_line = user_return = stop
Steps().set_trace()
last = 1
"""


def test_a_debugger_that_steps_past_the_end_does_not_stop_in_our_code(tmp_path: Path) -> None:
    """After the program's last line its tracer is told of no line of the command line's, which it could stop at.

    From Python 3.13 on, debuggers switch the lines of all frames on, and so there is one.
    """
    (tmp_path / "steps.py").write_text(STEPS_OUT)
    expected, got = both("steps.py", cwd=tmp_path, entry=ANEW)
    beyond = got.out.removeprefix(expected.out).split()

    assert expected.out == "steps.py 10\nsteps.py 10\n"
    assert got == Outcome(expected.code, got.out, expected.err)
    assert beyond == [] or (sys.version_info >= (3, 13) and beyond[::2] == ["main.py"])


def test_results_are_written_where_a_profiler_was_left_on(tmp_path: Path) -> None:
    """What is no function, and so cannot be given to `sys.setprofile`, keeps no result from being written."""
    text = "import cProfile, retrograd\nprofiler = cProfile.Profile()\nprofiler.enable()\n"
    (tmp_path / "profiled.py").write_text(text + "retrograd.ones((), requires_grad=True).exp().backward()\n")
    done = retrograd("trace", "profiled.py", "-o", "graph.svg", cwd=tmp_path, engine=True)

    assert (done.code, done.err) == (0, "retrograd: wrote graph.svg\n")


def test_results_are_written_where_the_program_replaced_builtins(tmp_path: Path) -> None:
    """A program that puts its own `open` or `sorted` in place keeps it, and its graph is written all the same."""
    text = "import builtins, atexit\nimport retrograd\nretrograd.ones((), requires_grad=True).exp().backward()\n"
    (tmp_path / "replaces.py").write_text(text + "builtins.open = builtins.sorted = builtins.map = None\n")
    done = retrograd("trace", "replaces.py", "-o", "graph.svg", cwd=tmp_path, engine=True)

    assert (done.code, done.err) == (0, "retrograd: wrote graph.svg\n")
    assert (tmp_path / "graph.svg").exists()
