"""Write retrograd/engine/calls/torch_signatures.txt: `python docs/make_signatures.py`, with PyTorch installed.

One line for each overload of each public function that both engines have and that PyTorch declares by a schema; and one
for functions that it declares in Python, of what it was seen to insist on there (`python_signatures.py`).  The
engine reads it when a call has failed, to say in PyTorch's words which argument does not fit.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from python_signatures import python_lines

import retrograd
from retrograd.engine.calls.overload_choice import TABLE, fitting
from retrograd.engine.methods import FUNCTIONS
from retrograd.engine.table.public import METHODS, NAMESPACES

PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_", "nn.functional": ""}
KINDS = {"number": "Scalar", "List[int]": "int[]", "List[Tensor]": "Tensor[]", "List[Optional[Tensor]]": "Tensor?[]",
         "List[number]": "Scalar[]", "List[float]": "float[]"}  # fmt: skip
PYTHON = {
    "cpu": ("*", "any memory_format="),
    "cuda": ("any device=", "bool non_blocking=", "*", "any memory_format="),
    "nonzero": ("*", "bool as_tuple="),
}
"""What PyTorch's Python functions take beyond their schemas."""
OF_NUMBERS = ("result_type",)
"""Functions that also take numbers alone; of others such overloads are those of Python's own operators."""
MAY_MISS_DIM = ("aten::size", "aten::stride")
"""Methods written in C++ that take ``dim=None`` beyond their schemas."""
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
        missing = "?" if name == "dim" and schema.name in MAY_MISS_DIM else ""
        yield f"{kind_of(a)}{missing} {name}{'=' if a.has_default_value() else ''}"


def lines() -> Iterator[str]:
    """The table."""
    import torch

    schemas: dict[str, list[Any]] = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if name == schema.name or "Dimname" in str(schema):
            continue
        if "Tensor" in str(schema) or name in OF_NUMBERS:
            schemas[name].append(schema)
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
        rules = {writing[i]: rule for i, rule in rules_of(writing, refusals[public]).items()}
        for text in texts:
            yield f"{public}({text}){rules.get(text, '')}"
    yield from python_lines(schemas, kind_of)


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


Refusals = list[tuple[tuple[Any, ...], dict[str, Any], list[str]]]
"""Arguments of sample calls of one function, and the rule that each of its results showed."""


def sampled_refusals() -> dict[str, Refusals]:
    """By function, what the sample calls of the tests tell."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from op_samples import all_samples, tensors_for

    refusals: dict[str, Refusals] = defaultdict(list)
    for sample in all_samples():
        if sample.call is None and not {"out", "dtype"} & set(sample.kwargs):
            args, kwargs = tensors_for(retrograd, (sample.args, sample.kwargs), [], grad=False)
            refusals[sample.name].append((args, kwargs, list(refused_outs(sample))))
    return refusals


def rules_of(overloads: list[str], refusals: Refusals) -> dict[int, str]:
    """What all sample calls of an overload showed; without samples of its own one goes as all together."""
    own: dict[int | None, list[str]] = defaultdict(list)
    for args, kwargs, found in refusals:
        own[fitting(overloads, args, kwargs)] += found
    together = [one for found in own.values() for one in found]
    shown = {i: set(own[i] or together) for i in range(len(overloads))}
    return {i: rules.pop() if len(rules) == 1 else " out" for i, rules in shown.items()}


def refused_outs(sample: Any) -> Iterator[str]:
    """For each result: another dtype of its kind is refused (``exact``), one of a lower kind is taken (``free``)."""
    import torch
    from op_samples import function_of, tensors_for
    from torch.utils._pytree import tree_map

    single = lambda v: v.float() if isinstance(v, torch.Tensor) and v.dtype == torch.float64 else v  # noqa: E731
    args, kwargs = tree_map(single, tensors_for(torch, (sample.args, sample.kwargs), [], grad=False))
    function, others = function_of(torch, sample), {
        torch.float32: torch.float64, torch.float64: torch.float32, torch.int64: torch.int32, torch.bool: torch.float32,
        torch.complex64: torch.complex128, torch.complex128: torch.complex64,
    }  # fmt: skip
    lower = {
        torch.float32: torch.int64, torch.float64: torch.int64, torch.complex64: torch.float32,
        torch.complex128: torch.float64,
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
            if r.dtype not in others:
                continue

            def refusal(dtype: Any, i: int = i) -> str:
                outs = [*exact[:i], torch.empty(0, dtype=dtype), *exact[i + 1 :]]
                try:
                    function(*args, **kwargs, out=tuple(outs) if result is not results[0] else outs[0])
                except Exception as error:
                    return str(error) or "refused"
                return ""

            said = refusal(others[r.dtype])
            if "type" in said or "bool" in said:
                yield " exact out"
            elif r.dtype in lower:
                yield " out" if refusal(lower[r.dtype]) else " free out"


def _of(torch: Any, space: str, name: str) -> Any:
    found = torch
    for part in space.split("."):
        found = getattr(found, part)
    return getattr(found, name, None)


if __name__ == "__main__":
    text = "".join(f"{line}\n" for line in dict.fromkeys(lines()))
    TABLE.write_text(text, encoding="utf-8")
    print(f"{TABLE.name}: {text.count(chr(10))} overloads")
