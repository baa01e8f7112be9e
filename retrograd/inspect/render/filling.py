"""Builds pages from files in ``assets``: markup with slots for style sheets, scripts and data."""

from __future__ import annotations

import re
from importlib import resources

_SLOT = re.compile(r"\{\{([\w.]+)\}\}")
_SPARED = re.compile(r"^ *//(?: .*)?\n|^ +|  // .*$", re.MULTILINE)
"""Comments and indents of scripts."""


def filled(name: str, parts: dict[str, str]) -> str:
    """Return a page of ``assets`` with its slots filled; parts are not parsed, so none can smuggle a slot into it.

    A slot with a dot is a file of ``assets``, which may have slots itself: the page lists its style sheets and scripts.
    """
    page = (resources.files("retrograd.inspect.render") / "assets" / name).read_text(encoding="utf-8")
    if name.endswith(".js"):
        page = _SPARED.sub("", page)  # 28 kB
    return _SLOT.sub(lambda found: filled(found[1], parts) if "." in found[1] else parts[found[1]], page)
