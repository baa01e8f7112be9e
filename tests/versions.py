"""Runs what must hold on any release of PyTorch on a given one, in an environment of its own that is removed again.

``python tests/versions.py 2.6.0 2.14.1`` makes an environment for each (several GB from PyPI) and runs there the tests
that nothing is disturbed, the programs with bugs, and a sample of right ones, all on PyTorch.  ``--in FOLDER`` keeps
the environments there and uses those that it finds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("numpy", "networkx", "rich", "click", "graphviz", "pytest", "hypothesis", "scipy", "setuptools<81")
UNDISTURBED = (
    *("test_program_patches.py", "test_program_swaps.py", "test_program_missing_names.py"),
    *("test_sources_torch_watch.py", "test_sources_torch_warnings.py"),
)
SAMPLE = 5
"""Every so manieth right program is run."""


def environment(folder: Path, version: str) -> Path:
    """Return the Python of an environment with this release, which is made if it is not there."""
    python = folder / version / "bin" / "python"
    if not python.exists():
        venv.create(folder / version, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"torch=={version}", *NEEDED], check=True)
    return python


def tested(python: Path, *arguments: str) -> bool:
    """Run tests there, from this checkout, and say whether all passed."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "RETROGRAD_REQUIRE_ORACLE": "1"}
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    print("$", *command[1:8], "…" if len(command) > 8 else "", flush=True)
    return subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode == 0


def on_release(python: Path) -> bool:
    """Run everything on one release."""
    right = sorted((ROOT / "tests" / "healthy_programs").glob("*.py"))[::SAMPLE]
    sample = [f"tests/test_healthy_programs.py::test_nothing_is_found[{path.stem}-torch]" for path in right]
    parts = (
        [f"tests/{name}" for name in UNDISTURBED],
        ["tests/test_diagnose_programs.py", "-k", "test_bug_is_explained and torch"],
        sample,
    )
    results = [tested(python, *part) for part in parts]  # the rest, too, when some fail
    return all(results)


def main() -> None:
    """Say of each release whether all passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    parser.add_argument("--in", dest="folder", type=Path, help="where environments are kept")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        passed = {version: on_release(environment(folder, version)) for version in asked.versions}
    for version, well in passed.items():
        print(f"PyTorch {version}: {'all passed' if well else 'some failed'}")
    sys.exit(0 if all(passed.values()) else 1)


if __name__ == "__main__":
    main()
