"""What PyTorch says of arguments to functions that it declares in Python, and that hand them on to others.

Those others judge flags, sizes and numbers.  Which arguments come to them is found by trying: a sample call of the
tests is made with one argument of the wrong kind.
"""

from __future__ import annotations

import inspect
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
        kinds = {
            p.name: f"{kind}{'?' if p.default is None else ''}"
            for p in parameters
            if (kind := declared.get(p.name, "").rstrip("?")) in WRONG
            and any(insists(function, sample, p.name, parameters, WRONG[kind]) for sample in samples[:3])
        }
        if kinds:
            taken = [f"{kinds.get(p.name, 'any')} {p.name}{'' if p.default is p.empty else '='}" for p in parameters]
            yield f"{NN}.{name}({', '.join(taken)}){' out' if any(p.name == 'out' for p in parameters) else ''}"


def insists(function: Any, sample: Any, name: str, parameters: list[Any], values: tuple[Any, ...]) -> bool:
    """Whether a call that works is refused with each of the values in the place of one argument."""
    import torch
    from op_samples import tensors_for

    args, kwargs = tensors_for(torch, (sample.args, sample.kwargs), [], grad=False)
    named = dict(zip([p.name for p in parameters], args, strict=False)) | kwargs
    with warnings.catch_warnings(action="ignore"):
        try:
            function(**named)
        except Exception:
            return False
        for value in values:
            try:
                function(**named | {name: value})
            except TypeError as error:
                if "must be" in str(error) or "invalid combination" in str(error):
                    continue
            except Exception:
                return False
            return False
    return True
