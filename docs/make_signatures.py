"""Write retrograd/engine/calls/torch_signatures.txt: `python docs/make_signatures.py`, with PyTorch installed.

One line for each overload of each public function that both engines have and that PyTorch declares by a schema.  The
engine reads it when a call has failed, to say in PyTorch's words which argument does not fit.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import retrograd
from retrograd.engine.calls.signatures import TABLE, fitting
from retrograd.engine.table.methods import FUNCTIONS
from retrograd.engine.table.public import METHODS, NAMESPACES

PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_", "nn.functional": ""}
KINDS = {"number": "Scalar", "List[int]": "int[]", "List[Tensor]": "Tensor[]", "List[Optional[Tensor]]": "Tensor?[]",
         "List[number]": "Scalar[]", "List[float]": "float[]"}  # fmt: skip
PYTHON = {"cpu": ("*", "any memory_format="), "nonzero": ("*", "bool as_tuple=")}
"""What PyTorch's Python functions take beyond their schemas."""
FREE = ("dtype", "input_dtype", "out_dtype", "layout", "device", "memory_format", "generator")
"""Arguments whose schema type says nothing of what Python passes."""


def kind_of(argument: Any) -> str:
    """The type of an argument as the table writes it; ``any`` where it is not judged."""
    written = str(argument.type)
    optional = written.startswith("Optional[")
    inner = written[len("Optional[") : -1] if optional else written
    inner = KINDS.get(inner, inner)
    if argument.name in FREE or "[" in inner.replace("[]", "") or inner not in (
        *KINDS.values(), "Tensor", "int", "float", "bool", "str"
    ):  # fmt: skip
        return "any"
    if inner == "int[]" and argument.N is not None:
        inner = "int[n]"
    return inner + ("?" if optional or (argument.has_default_value() and argument.default_value == []) else "")


def parameters(schema: Any) -> Iterator[str]:
    """The arguments of one overload as written in the table."""
    keywords = False
    for a in schema.arguments:
        if a.kwarg_only and not keywords:
            keywords = True
            yield "*"
        name = "input" if a.name == "self" else a.name
        yield f"{kind_of(a)} {name}{'=' if a.has_default_value() else ''}"


def lines() -> Iterator[str]:
    """The table."""
    import torch

    schemas: dict[str, list[Any]] = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::") and "Dimname" not in str(schema) and "Tensor" in str(schema):
            schemas[schema.name.removeprefix("aten::")].append(schema)
    names = {name: name for name in {**FUNCTIONS, **METHODS} if not isinstance(getattr(torch, name, None), type(lines))}
    for space, prefix in PREFIXES.items():
        builtin = [n for n in NAMESPACES.get(space, ()) if type(_of(torch, space, n)).__name__.startswith("builtin")]
        names |= {f"{space}.{name}": prefix + name for name in builtin}
    refusals = sampled_refusals()
    for public, aten in sorted(names.items()):
        found = schemas.get(aten, [])
        plain = [s for s in found if not any(a.is_out for a in s.arguments)]
        written = {given(s) for s in found if any(a.is_out for a in s.arguments) and not is_generated(s)}
        texts = [", ".join([*parameters(s), *PYTHON.get(public, ())]) for s in plain]
        writing = [text for s, text in zip(plain, texts, strict=True) if given(s) in written]
        exact = {writing[i] for i in exact_overloads(writing, refusals[public])}
        for text in texts:
            mark = (" exact out" if text in exact else " out") if text in writing else ""
            yield f"{public}({text}){mark}"


def given(schema: Any) -> tuple[Any, ...]:
    """What tells an overload from others: its arguments but for results and what a result already has."""
    return tuple(
        (a.name, str(a.type)) for a in schema.arguments if not a.is_out and a.name not in (*FREE, "pin_memory")
    )


def is_generated(schema: Any) -> bool:
    """Whether PyTorch made an ``out=`` form for its compiler alone: Python takes those of copies only."""
    import torch

    name = schema.name.removeprefix("aten::")
    overloads = getattr(torch.ops.aten, name)
    taken = name.endswith("_copy") or name == "slice_scatter"
    return not taken and torch.Tag.generated in getattr(overloads, schema.overload_name or "default").tags


Refusals = list[tuple[tuple[Any, ...], dict[str, Any], list[bool]]]
"""Arguments of sample calls of one function, and whether each refused an ``out=`` of another dtype of the same kind."""


def sampled_refusals() -> dict[str, Refusals]:
    """By function, what the sample calls of the tests tell."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from op_samples import all_samples, tensors_for

    refusals: dict[str, Refusals] = defaultdict(list)
    for sample in all_samples():
        if sample.call is None and "out" not in sample.kwargs:
            args, kwargs = tensors_for(retrograd, (sample.args, sample.kwargs), [], grad=False)
            refusals[sample.name].append((args, kwargs, list(refused_outs(sample))))
    return refusals


def exact_overloads(overloads: list[str], refusals: Refusals) -> set[int]:
    """The overloads of which all sample calls were refused; without samples of its own one goes as all together."""
    own: dict[int | None, list[bool]] = defaultdict(list)
    for args, kwargs, found in refusals:
        own[fitting(overloads, args, kwargs)] += found
    together = [one for found in own.values() for one in found]
    return {i for i in range(len(overloads)) if (own[i] or together) and all(own[i] or together)}


def refused_outs(sample: Any) -> Iterator[bool]:
    """Whether PyTorch refuses another dtype, for each result of float32 or int64."""
    import torch
    from op_samples import function_of, tensors_for
    from torch.utils._pytree import tree_map

    single = lambda v: v.float() if isinstance(v, torch.Tensor) and v.dtype == torch.float64 else v  # noqa: E731
    args, kwargs = tree_map(single, tensors_for(torch, (sample.args, sample.kwargs), [], grad=False))
    function, others = function_of(torch, sample), {
        torch.float32: torch.float64, torch.int64: torch.int32, torch.bool: torch.float32,
    }  # fmt: skip
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        try:
            result = function(*args, **kwargs)
            results = [result] if isinstance(result, torch.Tensor) else list(result)
            exact = [torch.empty(0, dtype=r.dtype) for r in results]
            function(*args, **kwargs, out=tuple(exact) if result is not results[0] else exact[0])
        except Exception:  # no such form, or no such kernel for float32
            return
        for i, r in enumerate(results):
            if r.dtype in others:
                outs = [*exact[:i], torch.empty(0, dtype=others[r.dtype]), *exact[i + 1 :]]
                try:
                    function(*args, **kwargs, out=tuple(outs) if result is not results[0] else outs[0])
                    yield False
                except RuntimeError as error:
                    yield "type" in str(error) or "bool" in str(error)


def _of(torch: Any, space: str, name: str) -> Any:
    found = torch
    for part in space.split("."):
        found = getattr(found, part)
    return getattr(found, name, None)


if __name__ == "__main__":
    text = "".join(f"{line}\n" for line in dict.fromkeys(lines()))
    TABLE.write_text(text, encoding="utf-8")
    print(f"{TABLE.name}: {text.count(chr(10))} overloads")
