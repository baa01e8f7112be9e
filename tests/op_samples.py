"""Sample inputs of operators: what every generated test of the operator table runs on.

A sample is one call of one public function under PyTorch's name.  Samples stand in ``op_samples_<family>.py``
beside this file, each with a list ``SAMPLES``; the files are found by listing the folder, so a new family is a new
file.  Arrays among the arguments become tensors of the engine that runs the sample: floating and complex ones require
a gradient, unless they are wrapped in ``Const``; strides are kept.  ``Dtype("float32")`` becomes the engine's dtype.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Const:
    """An array that becomes a tensor without gradient."""

    array: Any


@dataclass(frozen=True)
class Dtype:
    """A dtype by torch's name."""

    name: str


@dataclass(frozen=True)
class Sample:
    """One call: ``torch.<name>(*args, **kwargs)``, or ``call(torch, *args, **kwargs)``."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    note: str = ""
    """Distinguishes several samples of one name in the test's id."""
    grad: bool = True
    """Whether gradients are compared (also off where no argument is differentiable)."""
    numeric: bool = False
    """Whether ``gradcheck`` and ``gradgradcheck`` run; for what torch has no derivative of."""
    second: bool = True
    forward: bool = True
    node: bool = True
    """Whether the name of the recorded node is compared."""
    variants: bool = True
    """Whether the method, in-place, ``out=`` and other-dtype variants are compared."""
    rtol: float = 1e-9
    atol: float = 1e-11


def real(*shape: int, lo: float = -2.0, hi: float = 2.0, start: int = 0) -> Any:
    """Distinct, evenly scattered float64 numbers in ``(lo, hi)``; ``start`` gives other ones."""
    count = int(np.prod(shape))
    steps = np.arange(1 + start * 7, 1 + start * 7 + count)
    return (lo + (hi - lo) * ((steps * GOLDEN + 0.137 * start) % 1.0)).reshape(shape)


def cplx(*shape: int, lo: float = -2.0, hi: float = 2.0, start: int = 0) -> Any:
    """Complex128 numbers with both parts in ``(lo, hi)``."""
    return real(*shape, lo=lo, hi=hi, start=start) + 1j * real(*shape, lo=lo, hi=hi, start=start + 3)


def ints(*shape: int, lo: int = -4, hi: int = 5, start: int = 0) -> Any:
    """Int64 numbers in ``[lo, hi)``."""
    return np.floor(real(*shape, lo=lo, hi=hi, start=start)).astype(np.int64)


def bools(*shape: int, start: int = 0) -> Any:
    """Truth values."""
    return real(*shape, start=start) > 0


def unary_shapes(lo: float = -2.0, hi: float = 2.0) -> dict[str, Any]:
    """One tensor in every form that an element-wise operator must take."""
    return {
        "matrix": real(2, 3, lo=lo, hi=hi),
        "0-d": real(lo=lo, hi=hi, start=1),
        "empty": np.zeros((0, 3)),
        "strided": real(2, 6, lo=lo, hi=hi, start=3)[:, ::2],
    }


def binary_shapes(
    lo: float = -2.0, hi: float = 2.0, lo2: float | None = None, hi2: float | None = None
) -> dict[str, Any]:
    """Pairs of tensors: equal shapes, broadcasting both ways, 0-d, empty, strided."""
    lo2, hi2 = lo if lo2 is None else lo2, hi if hi2 is None else hi2
    return {
        "equal": (real(2, 3, lo=lo, hi=hi), real(2, 3, lo=lo2, hi=hi2, start=1)),
        "broadcast": (real(2, 1, lo=lo, hi=hi), real(3, lo=lo2, hi=hi2, start=1)),
        "0-d right": (real(2, 2, lo=lo, hi=hi), real(lo=lo2, hi=hi2, start=2)),
        "0-d left": (real(lo=lo, hi=hi, start=2), real(2, 2, lo=lo2, hi=hi2)),
        "empty": (np.zeros((0, 3)), real(1, lo=lo2, hi=hi2)),
        "strided": (real(3, 2, lo=lo, hi=hi).T, real(2, 6, lo=lo2, hi=hi2, start=5)[:, ::2]),
    }


def unary(names: str, *, lo: float = -2.0, hi: float = 2.0, **facts: Any) -> list[Sample]:
    """Samples of element-wise functions of one tensor, by names with spaces between."""
    inputs = unary_shapes(lo, hi)
    return [
        Sample(name, (x,), note=note, **_first_order_only(note, facts))
        for name in names.split()
        for note, x in inputs.items()
    ]


def _first_order_only(note: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Second order and forward mode do not depend on strides, and cost most of the time."""
    return {**facts, "second": False, "forward": False} if note in ("empty", "strided", "0-d left") else facts


def binary(
    names: str,
    *,
    lo: float = -2.0,
    hi: float = 2.0,
    lo2: float | None = None,
    hi2: float | None = None,
    **facts: Any,
) -> list[Sample]:
    """Samples of element-wise functions of two tensors."""
    inputs = binary_shapes(lo, hi, lo2, hi2)
    return [
        Sample(name, pair, note=note, **_first_order_only(note, facts))
        for name in names.split()
        for note, pair in inputs.items()
    ]


def calls(names: str, *argument_lists: Sequence[Any], note: str = "", **facts: Any) -> list[Sample]:
    """One sample for each name and each argument list; a dict at the end of a list holds keyword arguments."""
    made = []
    for name in names.split():
        for i, arguments in enumerate(argument_lists):
            args = tuple(arguments)
            kwargs = args[-1] if args and isinstance(args[-1], dict) else {}
            args = args[:-1] if kwargs or (args and isinstance(args[-1], dict)) else args
            made.append(Sample(name, args, kwargs, note=f"{note} {i}".strip(), **facts))
    return made


def program(name: str, call: Callable[..., Any], *args: Any, **facts: Any) -> Sample:
    """A sample that calls more than one function: ``call(torch, *tensors)``."""
    facts.setdefault("variants", False)
    facts.setdefault("node", False)
    return Sample(name, args, call=call, **facts)


def function_of(engine: Any, sample: Sample) -> Callable[..., Any]:
    """What a sample calls, on one engine."""
    if sample.call is not None:
        call = sample.call
        return lambda *args, **kwargs: call(engine, *args, **kwargs)
    return look_up(engine, sample.name)


def look_up(engine: Any, path: str) -> Any:
    """``"nn.functional.gelu"`` in an engine."""
    found = engine
    for part in path.split("."):
        found = getattr(found, part)
    return found


def tensors_for(engine: Any, value: Any, leaves: list[Any], *, grad: bool = True) -> Any:
    """Arguments for one engine; the differentiable tensors are appended to ``leaves``."""
    if isinstance(value, Const):
        return tensors_for(engine, value.array, leaves, grad=False)
    if isinstance(value, Dtype):
        return getattr(engine, value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        t = _with_strides(engine, np.asarray(value))
        if grad and t.dtype in _differentiable(engine):
            t.requires_grad_()
            leaves.append(t)
        return t
    if isinstance(value, (list, tuple)):
        return type(value)([tensors_for(engine, entry, leaves, grad=grad) for entry in value])
    if isinstance(value, dict):
        return {key: tensors_for(engine, entry, leaves, grad=grad) for key, entry in value.items()}
    return value


def _with_strides(engine: Any, array: Any) -> Any:
    """A leaf with its own memory and the strides of ``array``: transposed, every second element, expanded."""
    if array.size > 1 and 0 in array.strides:
        small = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
        return engine.from_numpy(small.copy()).expand(array.shape)
    if array.ndim == 2 and array.shape[0] > 1 and array.strides[0] == array.itemsize < array.strides[1]:
        return engine.from_numpy(array.T.copy()).t()
    if array.ndim and array.strides[-1] == 2 * array.itemsize:
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        wide[..., ::2] = array
        return engine.from_numpy(wide)[..., ::2]
    return engine.from_numpy(np.array(array, order="C"))


@cache
def _differentiable(engine: Any) -> frozenset[Any]:
    return frozenset(getattr(engine, n) for n in ("float16", "float32", "float64", "complex64", "complex128"))


@cache
def all_samples() -> tuple[Sample, ...]:
    """The samples of all families, with ids that are unique."""
    found: list[Sample] = []
    for path in sorted(Path(__file__).parent.glob("op_samples_*.py")):
        found.extend(importlib.import_module(path.stem).SAMPLES)
    return tuple(_unique(found))


def _unique(samples: Iterable[Sample]) -> Iterable[Sample]:
    seen: dict[str, int] = {}
    for sample in samples:
        key = identity(sample)
        seen[key] = seen.get(key, 0) + 1
        yield sample if seen[key] == 1 else replace(sample, note=f"{sample.note} #{seen[key]}")


def identity(sample: Sample) -> str:
    """The test id of a sample."""
    return f"{sample.name} {sample.note}".strip().replace(" ", "_")
