"""Run what the documents show in a terminal and write what it prints: `python docs/make_outputs.py`.

A page shows files as blocks ```` ```py title="train.py" ```` and commands as blocks ```` ```console ````, whose lines
that begin with `$ ` are run one after another in one folder.  CI compares (`--check`), a test the README's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", ROOT / "docs" / "review.md"]
_BLOCK = re.compile(r'^```(?:py title="(?P<file>[\w./]+)"|(?P<console>console))\n(?P<text>.*?)^```', re.M | re.S)
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "RETROGRAD_"))},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
    "PYTHONUNBUFFERED": "1",
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "110",
}


def printed(command: str, folder: Path) -> str:
    """What a command prints, errors included, as a terminal shows it."""
    command = re.sub(r"^(retrograd|pytest)\b", rf"{sys.executable} -m \1", command)
    done = subprocess.run(
        command, shell=True, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines = re.sub(r"\b\d+\.\d\ds\b", "0.21s", done.stdout.replace(str(folder), "/home/you/project")).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def page(text: str) -> str:
    """A page with what its commands print today."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def block(found: re.Match[str]) -> str:
            if found["file"]:
                (folder / found["file"]).write_text(found["text"], encoding="utf-8")
                return found[0]
            typed = [line for line in found["text"].splitlines() if line.startswith("$ ")]
            shown = "".join(f"{line}\n{printed(line[2:], folder)}" for line in typed)
            return f"```console\n{shown}```"

        return _BLOCK.sub(block, text)


def main() -> None:
    """Write the pages, or with ``--check`` say which of them are behind and fail."""
    behind = []
    for path in PAGES:
        shown = path.read_text(encoding="utf-8")
        printed_today = page(shown)
        if printed_today != shown:
            behind.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(printed_today, encoding="utf-8")
    if behind:
        print(f"{', '.join(behind)}: {'behind' if '--check' in sys.argv else 'written'}")
    sys.exit(1 if behind and "--check" in sys.argv else 0)


if __name__ == "__main__":
    main()
