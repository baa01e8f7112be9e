"""Run on demand: `python tests/missing_names.py` lists PyTorch's public callables that this package has not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

NAMESPACES = ("", "Tensor", "nn.functional", "linalg", "fft", "special", "signal.windows", "masked")


def missing(theirs: Any, ours: Any) -> Iterator[str]:
    """Public callables of one namespace without a counterpart; classes and modules do not count."""
    for name in dir(theirs):
        value = getattr(theirs, name, None)
        if name.startswith("_") or not callable(value) or inspect.isclass(value):
            continue
        if not hasattr(ours, name):
            yield name


def main() -> None:
    """Print one line for each namespace."""
    import torch
    from op_samples import look_up

    import retrograd

    for path in NAMESPACES:
        theirs, ours = (look_up(engine, path) if path else engine for engine in (torch, retrograd))
        names = list(missing(theirs, ours))
        print(f"{path or 'torch'}: {len(names)} missing: {' '.join(names)}")


if __name__ == "__main__":
    main()
