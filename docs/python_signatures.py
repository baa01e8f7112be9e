"""What PyTorch says of arguments to functions that it declares in Python, and that hand them on to others.

Those others judge flags, sizes and numbers.  Which arguments come to them is found by trying: a sample call of the
tests is made with one argument of the wrong kind.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from retrograd.engine.table.public import NAMESPACES, NN

WRONG: dict[str, tuple[Any, ...]] = {
    "bool": ("x", 3, 0.5), "int[]": ("x", 3, 2.5), "int[n]": ("x", 2.5), "int": ("x", 2.5), "float": ("x", [1.0]),
}  # fmt: skip
"""Values that do not fit a kind of argument."""


def python_lines(schemas: dict[str, list[Any]], kind_of: Callable[[Any], str]) -> Iterator[str]:
    """The lines of the table for functions of ``nn.functional``; only kinds that PyTorch was seen to insist on."""
    import torch

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from op_samples import all_samples

    for name in sorted(NAMESPACES[NN]):
        function = getattr(torch.nn.functional, name, None)
        parameters = list(inspect.signature(inspect.unwrap(NAMESPACES[NN][name])).parameters.values())
        if not inspect.isfunction(function) or any(p.kind is p.VAR_POSITIONAL for p in parameters):
            continue
        declared = {a.name: kind_of(a) for schema in schemas.get(name, ()) for a in schema.arguments}
        samples = [s for s in all_samples() if s.name == f"{NN}.{name}" and s.call is None]
        kinds = {p.name: (declared.get(p.name, "").rstrip("?"), "?" * (p.default is None)) for p in parameters}
        insisted = {
            argument: complaint
            for argument, (kind, _) in kinds.items()
            if kind in WRONG and (complaint := complaint_of(function, samples[:3], argument, parameters, WRONG[kind]))
        }
        if insisted:
            taken = [
                f"{''.join(kinds[p.name]) if p.name in insisted else 'any'} {p.name}"
                f"{numbered(insisted.get(p.name, ''), i)}{'' if p.default is p.empty else '='}"
                for i, p in enumerate(parameters, 1)
            ]
            yield f"{NN}.{name}({', '.join(taken)}){' out' if any(p.name == 'out' for p in parameters) else ''}"


def numbered(complaint: str, place: int) -> str:
    """``@4`` where PyTorch counts the arguments of the function within, and so names another position."""
    said = re.search(r"\(position (\d+)\)", complaint)
    return "" if said is None or int(said[1]) == place else f"@{said[1]}"


def complaint_of(function: Any, samples: list[Any], name: str, parameters: list[Any], values: tuple[Any, ...]) -> str:
    """What PyTorch says of one argument of the wrong kind, where in one of the samples it refuses all the values."""
    return next(filter(None, (_complaint(function, sample, name, parameters, values) for sample in samples)), "")


def _complaint(function: Any, sample: Any, name: str, parameters: list[Any], values: tuple[Any, ...]) -> str:
    """What is said where a call that works is refused with each of the values in the place of one argument."""
    import torch
    from op_samples import tensors_for

    args, kwargs = tensors_for(torch, (sample.args, sample.kwargs), [], grad=False)
    named = dict(zip([p.name for p in parameters], args, strict=False)) | kwargs
    said = ""
    with warnings.catch_warnings(action="ignore"):
        try:
            function(**named)
        except Exception:
            return ""
        for value in values:
            try:
                function(**named | {name: value})
                return ""
            except Exception as error:
                said = str(error)
                if not (isinstance(error, TypeError) and ("must be" in said or "invalid combination" in said)):
                    return ""
    return said
