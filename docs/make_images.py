"""Draw the pictures of the documents with the tool itself: `python docs/make_images.py`.

Each is the output of one `retrograd trace` command, so the documents show what a user gets; only the checkout's folder
is cut from the paths in its tooltips, so that everybody draws the same file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"

# Picture → what is traced and how it is drawn.
PICTURES = {
    "digits.svg": ["sample_graphs/digits.py"],
    "attention_head.svg": ["sample_graphs/attention_head.py"],
    "encoder.svg": ["sample_graphs/encoder.py"],
    "frozen_encoder.svg": ["--level", "full", "--view", "both", "sample_graphs/frozen_encoder.py"],
}


def draw(name: str, arguments: list[str]) -> None:
    """Write one picture; a failure of the tool is a failure of this script."""
    picture = IMAGES / name
    command = [sys.executable, "-m", "retrograd", "trace", *arguments, "-o", str(picture)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    picture.write_text(picture.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")
    print(f"{name}: {picture.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Draw them all, or those named on the command line."""
    IMAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        draw(name, PICTURES[name])


if __name__ == "__main__":
    main()
