"""Strict JSON for other programs: one value per line, names in their own characters."""

from __future__ import annotations

import json
from typing import Any


def json_text(plain: Any) -> str:
    """Return JSON values as text; raises ``ValueError`` for NaN and infinities, which JSON has no words for."""
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
