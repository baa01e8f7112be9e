"""Pages made of files in ``assets``: markup with slots for style sheets, scripts and data."""

from __future__ import annotations

import re
from importlib import resources

_SLOT = re.compile(r"\{\{([\w.]+)\}\}")
_COMMENT = re.compile(r"^ *//(?: .*)?\n", re.MULTILINE)


def filled(name: str, parts: dict[str, str]) -> str:
    """Return a page of ``assets`` with its slots filled in one pass, so that no part can smuggle a slot into another.

    A slot with a dot is a file of ``assets``: the page itself lists its style sheets and scripts.
    """
    return _SLOT.sub(lambda found: _asset(found[1]) if "." in found[1] else parts[found[1]], _asset(name))


def _asset(name: str) -> str:
    """Return the text of a file in ``assets``, of scripts without the lines that are comments (12 kB of them)."""
    found = (resources.files("retrograd.inspect.render") / "assets" / name).read_text(encoding="utf-8")
    return _COMMENT.sub("", found) if name.endswith(".js") else found
