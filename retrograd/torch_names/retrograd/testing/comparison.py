"""``assert_close``: whether two values agree, and if not, where and by how much, in torch's words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..engine.core.layouts import strided
from ..engine.core.narrow import kind_of
from ..engine.methods import FUNCTIONS
from ..engine.tensors.tensor import Tensor

_TOLERANCES: Final = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""Relative and absolute tolerance by dtype name; the widest of the compared dtypes counts, others are exact."""
_NUMBERS: Final = (bool, int, float, complex, np.generic)
Message = str | Callable[[str], str] | None


class _Rules:
    """What one call of ``assert_close`` asks for."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict[str, bool]) -> None:
        if (rtol is None) is not (atol is None):
            raise ValueError(
                "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                + ("rtol." if rtol is None else "atol.")
            )
        self.rtol, self.atol, self.equal_nan, self.checks = rtol, atol, equal_nan, checks

    def tolerances(self, *dtypes: str) -> tuple[float, float]:
        """Relative and absolute tolerance for values of these dtypes."""
        if self.rtol is not None and self.atol is not None:
            return float(self.rtol), float(self.atol)
        known = [_TOLERANCES.get(name, (0.0, 0.0)) for name in dtypes]
        return max(r for r, _ in known), max(a for _, a in known)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """``AssertionError`` unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Takes tensors, numbers, ``None``, and sequences and mappings of them.  Without ``rtol`` and ``atol`` both follow
    from the dtypes.  ``ValueError`` for only one of them, ``TypeError`` for values that cannot be compared.
    """
    checks = {
        "layout": check_layout, "stride": check_stride, "device": check_device, "dtype": check_dtype,
        "same": not allow_subclasses,
    }  # fmt: skip
    rules = _Rules(rtol, atol, equal_nan, checks)
    pending: list[tuple[Any, Any, str]] = [(actual, expected, "")]
    while pending:
        ours, theirs, place = pending.pop()
        inner = _pairs_inside(ours, theirs, place)
        if inner is not None:
            pending.extend(reversed(inner))
            continue
        fault = _fault(ours, theirs, rules)
        if fault is not None:
            text = f"{fault}\n\nThe failure occurred for item {place}" if place else fault
            raise AssertionError(_worded(msg, text))


def _worded(msg: Message, text: str) -> str:
    if msg is None:
        return text
    return msg(text) if callable(msg) else msg


def _pairs_inside(actual: Any, expected: Any, place: str) -> list[tuple[Any, Any, str]] | None:
    """The pairs of two containers; ``None`` for what is not a container."""
    if isinstance(actual, Sequence) and isinstance(expected, Sequence) and not isinstance(actual, str):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        pairs = zip(actual, expected, strict=True)
        return [(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(pairs)]
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, extra = sorted(expected.keys() - actual.keys()), sorted(actual.keys() - expected.keys())
        if missing or extra:
            raise AssertionError(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {extra}"
            )
        return [(actual[key], expected[key], f"{place}[{key!r}]") for key in actual]
    return None


def _fault(actual: Any, expected: Any, rules: _Rules) -> str | None:
    """The difference between two values that are not containers."""
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if rules.checks["same"] and type(actual) is not type(expected):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        return _number_fault(actual, expected, rules)
    for kind in (Tensor, np.ndarray):
        if isinstance(actual, kind) and isinstance(expected, kind):
            return _array_fault(FUNCTIONS["as_tensor"](actual), FUNCTIONS["as_tensor"](expected), rules)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _number_fault(actual: Any, expected: Any, rules: _Rules) -> str | None:
    if isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        return None if actual == expected else f"Booleans mismatch: {actual} is not {expected}"
    if rules.checks["dtype"] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    kinds = [_kind_of(v) for v in (actual, expected)]
    rtol, atol = rules.tolerances(*kinds)
    if _close(np.asarray(actual), np.asarray(expected), rtol, atol, rules.equal_nan).all():
        return None
    if atol == rtol == 0:
        return f"Scalars are not equal!\n\nExpected {expected} but got {actual}.\n" + _gaps(actual, expected, None)
    return f"Scalars are not close!\n\nExpected {expected} but got {actual}.\n" + _gaps(actual, expected, (rtol, atol))


def _kind_of(number: Any) -> str:
    if isinstance(number, (complex, np.complexfloating)):
        return "complex128"
    return "float64" if isinstance(number, (float, np.floating)) else "int64"


def _gaps(actual: Any, expected: Any, allowed: tuple[float, float] | None) -> str:
    gap = abs(actual - expected)
    ratio = gap / abs(expected) if expected else float("inf")
    rtol, atol = (f" (up to {v} allowed)" if allowed else "" for v in (allowed or (0.0, 0.0)))
    return f"Absolute difference: {gap}{atol}\nRelative difference: {ratio}{rtol}"


def _array_fault(actual: Any, expected: Any, rules: _Rules) -> str | None:
    if actual.shape != expected.shape:
        return f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}."
    for name, value in _ATTRIBUTES.items():
        ours, theirs = value(actual), value(expected)
        if rules.checks[name.removesuffix("()")] and ours != theirs:
            return f"The values for attribute '{name}' do not match: {ours} != {theirs}."
    if "meta" in (actual.device.type, expected.device.type):
        return None  # there are no values
    if actual.layout != expected.layout:
        actual, expected = (t if t.layout == strided else t.to_dense() for t in (actual, expected))
    if actual.layout != strided:
        return _entries_fault(actual.detach(), expected.detach(), rules)
    return _values_fault(actual, expected, rules, "Tensor-likes")


_ATTRIBUTES: Final[dict[str, Callable[[Any], Any]]] = {
    "layout": lambda t: t.layout,
    "stride()": lambda t: t.stride() if t.layout == strided else (),
    "device": lambda t: t.device,
    "dtype": lambda t: t.dtype,
}
"""What is compared before values are, in this order."""


def _entries_fault(actual: Any, expected: Any, rules: _Rules) -> str | None:
    """What differs between two sparse tensors: how many entries there are, where they stand, what they are."""
    kind = "Sparse COO" if actual.is_sparse else "Sparse CSR"
    counts = actual._nnz(), expected._nnz()
    if counts[0] != counts[1]:
        kind = kind.replace("Sparse", "sparse")
        return f"The number of specified values in {kind} tensors does not match: {counts[0]} != {counts[1]}"
    names = ("_indices", "_values") if actual.is_sparse else ("crow_indices", "col_indices", "values")
    for name in names:
        ours, theirs = getattr(actual, name)(), getattr(expected, name)()
        fault = _values_fault(ours, theirs, rules, f"{kind} {name.removeprefix('_')}")
        if fault is not None:
            return fault
    return None


def _values_fault(actual: Any, expected: Any, rules: _Rules, what: str) -> str | None:
    rtol, atol = rules.tolerances(actual.dtype.name, expected.dtype.name)
    ours, theirs = actual._array, expected._array
    close = _close(ours, theirs, rtol, atol, rules.equal_nan)
    return None if close.all() else _mismatch(ours, theirs, ~close, (rtol, atol), what)


def _close(ours: Any, theirs: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    common = np.result_type(ours, theirs)
    with np.errstate(all="ignore"):
        if kind_of(common) not in "fc":
            exact = np.asarray(ours == theirs)
            if not (rtol or atol):
                return exact
        ours, theirs = ours.astype(_wide(common)), theirs.astype(_wide(common))
        return np.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.complex128 if kind_of(dtype) == "c" else np.float64


def _mismatch(ours: Any, theirs: Any, wrong: Any, allowed: tuple[float, float], what: str) -> str:
    """How many elements differ, and the greatest differences with their places."""
    rtol, atol = allowed
    common = np.result_type(ours, theirs)
    kind = common if kind_of(common) in "fc" else np.int64
    a, b = ours.astype(kind), theirs.astype(kind)
    with np.errstate(all="ignore"):
        gaps = np.where(wrong, np.abs(a - b), 0)
        ratios = np.where(wrong, np.divide(gaps, np.abs(b), dtype=gaps.dtype if kind is common else np.float32), 0)
    word = "close" if rtol or atol else "equal"
    if not ours.ndim:
        return f"Scalars are not {word}!\n\nExpected {theirs} but got {ours}.\n" + _gaps(
            ours.item(), theirs.item(), (rtol, atol) if rtol or atol else None
        )
    total, count = wrong.size, int(wrong.sum())
    return (
        f"{what} are not {word}!\n\nMismatched elements: {count} / {total} ({count / total:.1%})\n"
        + _greatest("absolute", gaps, atol, word)
        + "\n"
        + _greatest("relative", ratios, rtol, word)
    )


def _greatest(name: str, gaps: Any, allowed: float, word: str) -> str:
    place = np.unravel_index(int(np.argmax(np.nan_to_num(gaps, nan=np.inf))), gaps.shape)
    limit = f" (up to {allowed} allowed)" if word == "close" else ""
    return f"Greatest {name} difference: {gaps[place].item()} at index {tuple(int(i) for i in place)}{limit}"


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """``assert_close`` under its old name, with numbers and sequences taken for tensors and any dtypes."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    pair = [v if isinstance(v, Tensor) else Tensor(v) for v in (actual, expected)]
    assert_close(*pair, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
