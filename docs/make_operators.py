"""Write docs/operators.md, the table of all operators: `python docs/make_operators.py`.

With `--measure` first call the sample inputs of the tests in every dtype and note which ones each row takes
(about two minutes); the result is kept in retrograd/engine/operator_dtypes.json.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import retrograd
from retrograd.cli.commands.ops import dtypes_in_short
from retrograd.engine import observe
from retrograd.engine.catalogue import MEASURED, operators
from retrograd.engine.core.dtypes import ALL
from retrograd.engine.core.registry import OPS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operators.md"
HEAD = """# Operators

Every row of the operator table: the node it records (none: it has no gradient), the dtypes of the first tensor with
which its kernel was seen to give a result, and whether it is a view or has an in-place form. A name with a leading
underscore is reached through a function with overloads (`sum` runs `_sum_dim` when it is given a dimension).
Written by `python docs/make_operators.py`; `retrograd ops` shows the same, `retrograd ops -f json` everything.

| operator | node | takes a gradient | dtypes | view | in place |
|---|---|---|---|---|---|
"""


def page() -> str:
    """The text of docs/operators.md."""
    lines = [
        f"| `{o.name}` | {o.node} | {', '.join(o.differentiable)} | {dtypes_in_short(o.dtypes)} | "
        f"{'yes' if o.view else ''} | {'yes' if o.in_place else ''} |\n"
        for o in operators()
    ]
    return HEAD + "".join(lines)


def measure() -> dict[str, list[str]]:
    """For each row, the dtypes of the first array for which its kernel gave a result."""
    sys.path.insert(0, str(ROOT / "tests"))
    from op_runs import cast, first_order, run
    from op_samples import all_samples

    retrograd.zeros(1)  # the table is read on first use
    seen: dict[str, set[str]] = defaultdict(set)
    kernels = {name: op.forward for name, op in OPS.items()}
    for op in OPS.values():
        op.forward = _noting(op.forward, seen[op.name])
    watcher = object()
    observe.add(watcher)  # so that every call takes the long way, through the rows' kernels
    try:
        for dtype in (d.name for d in ALL):
            for sample in all_samples():
                with np.errstate(all="ignore"):
                    converted = _cast_integers(cast(sample, dtype), dtype)
                if not _is_endless(converted):
                    _run_all_ways(converted, run, first_order)
    finally:
        observe.remove(watcher)
        for name, forward in kernels.items():
            OPS[name].forward = forward
    for name, op in OPS.items():
        if op.promote == "float" and seen[name]:  # what is not floating becomes so before the kernel sees it
            seen[name].update(d.name for d in ALL if d.numpy.kind in "biu")
    return {name: [d.name for d in ALL if d.name in seen[name]] for name in sorted(OPS)}


def _cast_integers(sample: Any, dtype: str) -> Any:
    """A sample of nothing but integers in another integer dtype or in truth values."""
    arrays = [a for a in sample.args if isinstance(a, np.ndarray)]
    if np.dtype(dtype).kind not in "biu" or any(a.dtype != np.int64 for a in arrays):
        return sample
    args = tuple(a.astype(dtype) if isinstance(a, np.ndarray) else a for a in sample.args)
    return dataclasses.replace(sample, args=args)


def _is_endless(sample: Any) -> bool:
    """Whether a polynomial is asked for whose degree was -1 before it became unsigned: four billion steps."""
    if "polynomial" not in sample.name:
        return False
    arrays = [np.asarray(getattr(a, "array", a)) for a in sample.args]
    return any(a.dtype.kind == "u" and (a > 1000).any() for a in arrays)


def _run_all_ways(sample: Any, run: Any, first_order: Any) -> None:
    """Value, gradient and in-place form; what a dtype does not allow is not the subject here."""
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first_order(run(retrograd, sample))
        first_order(run(retrograd, sample), create_graph=True)  # rows that gradients of tensors alone are made by
        write = sample.name + "_"
        if sample.variants and hasattr(retrograd.Tensor, write):
            run(retrograd, sample, lambda self, *args, **kwargs: getattr(self.clone(), write)(*args, **kwargs))


def _noting(forward: Any, seen: set[str]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        result = forward(*args, **kwargs)
        flat = [b for a in args for b in (a if isinstance(a, (list, tuple)) else [a])]
        first = next((a for a in flat if isinstance(a, (np.ndarray, np.generic))), None)
        if first is not None and first.size:  # what is empty is taken in any dtype
            seen.add(first.dtype.name)
        return result

    return call


if __name__ == "__main__":
    if "--measure" in sys.argv:
        MEASURED.write_text(json.dumps(measure(), indent=0) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    print(f"operators.md: {len(operators())} operators")
