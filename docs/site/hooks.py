"""Hooks of mkdocs: the galleries are made when the site is built, and links out of `docs/` lead to the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
_FROM_ELSEWHERE = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
_OUTWARD = re.compile(r"\]\(\.\./([^)]+)\)")


def on_config(config: Any) -> None:
    """List the pages of the gallery's families, which follow from the checks, in the navigation."""
    sys.path.insert(0, str(ROOT))
    from retrograd.inspect.diagnosis import all_checks

    families = sorted({check.family for check in all_checks().values() if check.kinds})
    by_family = next(part for entry in config.nav for part in entry.get("Gallery", ()) if isinstance(part, dict))
    by_family["By family"] = [f"gallery/{family}.md" for family in families]


def on_files(files: Files, config: Any) -> Files:
    """Add the galleries."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        script = ROOT / "docs" / "site" / "gallery.py"
        subprocess.run([sys.executable, str(script), f"{folder}/made"], check=True, env=environment)
        for path in sorted(Path(folder, "made").rglob("*.*")):
            name = path.relative_to(Path(folder, "made")).as_posix()
            files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Let links to files outside of `docs/` lead to the repository."""
    depth = page.file.src_uri.count("/")
    return markdown if depth else _OUTWARD.sub(rf"]({config.extra['repository']}/blob/main/\1)", markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that would load anything from elsewhere: the site is read offline, and tells nobody."""
    found = _FROM_ELSEWHERE.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output
