"""What a traced program sees of itself is what it sees under python: DESIGN section 9, every way to start one."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from side_by_side import both

PROBE = '''"""The probe's docstring."""
import json, os, pickle, sys
import __main__
import sibling

def inner(x: int): return x

class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return type(other) is Point and other.x == self.x

def square(point): return Point(point.x ** 2)

if __name__ == "__main__":
    path = list(sys.path)
    os.chdir("/")
    import late_sibling
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(1) as pool:
        forked = pool.map(square, [Point(3)])
    names = globals()
    spec = names["__spec__"]
    loader = names["__loader__"]
    print(json.dumps({
        "names": list(names),
        "file": names.get("__file__"),
        "cached": names.get("__cached__"),
        "package": names["__package__"],
        "doc": names["__doc__"],
        "spec": spec and [spec.name, spec.origin, spec.parent],
        "loader": loader.__name__ if isinstance(loader, type) else type(loader).__name__,
        "builtins": type(names["__builtins__"]).__name__,
        "annotations": inner.__annotations__ == {"x": int},
        "argv": sys.argv,
        "path": path,
        "same_main": __main__.__dict__ is names,
        "pickle": pickle.loads(pickle.dumps(Point(2))) == Point(2),
        "forked": forked == [Point(9)],
        "siblings": [sibling.NAME, late_sibling.NAME],
        "code_file": square.__code__.co_filename,
    }))
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the probe as script, link, folder, package and zip."""
    root = tmp_path_factory.mktemp("probe place").resolve()
    for folder in ("", "app", "pkg", "sub"):
        (root / folder).mkdir(exist_ok=True)
        for name in ("sibling", "late_sibling"):
            (root / folder / f"{name}.py").write_text(f"NAME = {folder + '/' + name!r}")
    (root / "probe.py").write_text(PROBE)
    (root / "app" / "__main__.py").write_text(PROBE)
    (root / "pkg" / "__init__.py").write_text("")
    (root / "pkg" / "__main__.py").write_text(PROBE)
    (root / "pkg" / "part.py").write_text(PROBE)
    (root / "sub" / "link.py").symlink_to("../probe.py")
    with zipfile.ZipFile(root / "app.zip", "w") as archive:
        for file in (root / "app").glob("*.py"):
            archive.write(file, file.name)
    return root


STARTS = {
    "script": ("probe.py",),
    "dot slash": ("./probe.py",),
    "detour": ("sub/../probe.py",),
    "symbolic link": ("sub/link.py",),
    "folder": ("app",),
    "folder with slash": ("./app/",),
    "zip": ("app.zip",),
    "module": ("-m", "probe"),
    "package": ("-m", "pkg"),
    "module in package": ("-m", "pkg.part"),
    "code": ("-c", PROBE),
    "stdin": ("-",),
}


@pytest.mark.parametrize("start", STARTS)
def test_the_program_sees_what_it_sees_under_python(place: Path, start: str) -> None:
    """`__main__`, `__file__`, `__spec__`, argv, path[0], pickling, forking and siblings after chdir are python's."""
    stdin = PROBE.encode() if start == "stdin" else b""
    args = () if start == "script" else ("data.csv", "-o", "--lr=1", "", "a b")
    if start in ("code", "stdin"):  # '' on the path follows chdir: only what was imported before is found
        args = ("x",)
    expected, got = both(*STARTS[start], cwd=place, args=args, stdin=stdin)

    assert got == expected
    if start not in ("code", "stdin"):
        assert json.loads(got.out)["forked"] is True
    else:
        assert "No module named 'late_sibling'" in got.err


@pytest.mark.parametrize("start", ["script", "folder"])
def test_safe_path_keeps_its_meaning(place: Path, start: str) -> None:
    """Under `python -P` nothing is put on the path for a script, and a folder itself still is."""
    expected, got = both(*STARTS[start], cwd=place, flags=("-P",))

    assert got == expected
    assert (got.code == 0) == (start == "folder")


def test_absolute_path_and_compiled_file(place: Path) -> None:
    """An absolute path stays as it is, and a .pyc file runs."""
    import py_compile

    py_compile.compile(str(place / "probe.py"), cfile=str(place / "compiled.pyc"), doraise=True)
    for path in (str(place / "probe.py"), str(place / "sub" / ".." / "compiled.pyc")):
        expected, got = both(path, cwd=place / "sub")
        assert got == expected
        assert json.loads(got.out)["file"] == path


def test_handles_of_hooks_have_the_numbers_that_they_have_unwatched(tmp_path: Path) -> None:
    """Our hooks take no number from PyTorch's counter, which the program can read: DESIGN section 9."""
    pytest.importorskip("torch")
    (tmp_path / "hooked.py").write_text(
        "import torch\n"
        "layer = torch.nn.Linear(2, 2)\n"
        "every = torch.nn.modules.module.register_module_forward_hook(lambda *_: print('called'))\n"
        "loss = layer(torch.ones(1, 2)).sum()\n"
        "hooks = [layer.register_forward_hook(print), loss.register_hook(print), loss.grad_fn.register_hook(print)]\n"
        "loss.backward()\n"
        "every.remove()\n"
        "print([one.id for one in (every, *hooks)], torch.utils.hooks.RemovableHandle.next_id)\n"
    )
    alone, watched = both("hooked.py", cwd=tmp_path)
    assert (watched.code, watched.out) == (alone.code, alone.out)  # the drawing of the graph is on stderr
    assert alone.code == 0
