"""What a user gets: the wheel's contents, its metadata, and commands in the README that are really run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from source_tree import PACKAGE, ROOT, TORCH_NAMES

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the source tree as it is."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def metadata(wheel: zipfile.ZipFile) -> dict[str, list[str]]:
    """The wheel's METADATA as header → values."""
    (name,) = [item for item in wheel.namelist() if item.endswith(".dist-info/METADATA")]
    message = Parser().parsestr(wheel.read(name).decode())
    return {key: message.get_all(key, []) for key in set(message.keys())}


def test_wheel_holds_the_whole_package(wheel: zipfile.ZipFile) -> None:
    """Every module, the type marker and every asset of the page is in the wheel."""
    wanted = {
        path.relative_to(TORCH_NAMES if path.is_relative_to(TORCH_NAMES) else ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }

    assert "retrograd/py.typed" in wanted
    assert wanted - set(wheel.namelist()) == set()


def test_wheel_carries_the_samples(wheel: zipfile.ZipFile) -> None:
    """The sample programs and their data lie in `retrograd/_samples/`, byte for byte."""
    samples = [*(ROOT / "sample_graphs").glob("*.py"), *(ROOT / "sample_graphs" / "data").iterdir()]
    differing = [
        path.name
        for path in samples
        if wheel.read(f"retrograd/_samples/{path.relative_to(ROOT / 'sample_graphs').as_posix()}") != path.read_bytes()
    ]

    assert differing == []


def test_wheel_carries_nothing_else(wheel: zipfile.ZipFile) -> None:
    """Tests, benchmarks and documents stay out of the user's site-packages."""
    tops = {name.split("/")[0] for name in wheel.namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"retrograd"}


def test_wheel_starts_the_command(wheel: zipfile.ZipFile) -> None:
    """The console script `retrograd` calls the command line's main function."""
    (name,) = [item for item in wheel.namelist() if item.endswith("entry_points.txt")]

    assert "retrograd = retrograd.cli.main:main" in wheel.read(name).decode()


def test_torch_is_never_a_requirement(wheel: zipfile.ZipFile) -> None:
    """Only five small packages come along; PyTorch stays the user's choice."""
    required = [item for item in metadata(wheel)["Requires-Dist"] if "extra ==" not in item]
    names = sorted(re.split(r"[<>=;\s\[]", item)[0] for item in required)

    assert names == ["click", "graphviz", "networkx", "numpy", "rich"]


def test_version_is_the_same_everywhere() -> None:
    """pyproject, the package and the newest entry of the changelog agree on the version."""
    import retrograd

    newest = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert newest is not None
    assert retrograd.__version__ == PROJECT["version"] == newest[1]


def readme_command(name: str) -> str:
    """The one-line command that the README shows after a marker; CI runs the same lines."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- command: {name} -->.*?^(python -m venv [^\n]*)$", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("name", ["main", "test"])
def test_readme_commands_are_what_ci_runs(name: str) -> None:
    """CI takes its commands out of the README by marker, so the README cannot go stale."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert f"readme_command {name}" in script
    assert readme_command(name) not in script


def test_main_command_names_a_shipped_program() -> None:
    """The program that the README's first command traces is in the repository."""
    (program,) = re.findall(r"\S+\.py", readme_command("main"))

    assert (ROOT / program).is_file()


def test_ci_script_is_sound_bash() -> None:
    """`bash -n` finds no slip in .ci/run, and it can be executed."""
    script = ROOT / ".ci" / "run"

    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
    assert os.access(script, os.X_OK)


def test_digits_data_names_its_source() -> None:
    """The shipped data set is small and its licence and source are named beside it."""
    data = ROOT / "sample_graphs" / "data"
    text = (data / "README.md").read_text(encoding="utf-8")

    assert (data / "digits.csv.gz").stat().st_size < 40_000
    assert all(word in text for word in ("UCI", "CC BY 4.0", "Alpaydin", "Kaynak"))


def test_tree_is_free_of_standard_library_shadows() -> None:
    """No folder or module at the root has the name of a standard module: the checkout may stand on sys.path."""
    names = {path.stem for path in ROOT.iterdir() if path.is_dir() or path.suffix == ".py"}

    assert names & set(sys.stdlib_module_names) == set()


def test_license_is_mit() -> None:
    """The licence file is the MIT licence that the metadata names."""
    assert Path(ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert PROJECT["license"] == "MIT"
