"""Window functions: ``torch.hann_window`` and its like, and ``torch.signal.windows``."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ....calls.refusals import refuse, refuse_kind
from ....core.layouts import strided
from ....core.narrow import kind_of
from ....table.public import public
from ...creation.functions.creating import finish, numpy_of

SIGNAL = "signal.windows"


def _angles(count: int, periodic: bool) -> Any:
    """From 0 to 2π over a window; a periodic one stops one step before."""
    steps = count if periodic else count - 1
    return 2 * np.pi * np.arange(count) / max(steps, 1)


def cosine_sum(count: int, periodic: bool, weights: Any) -> Any:
    """``sum_k (-1)^k weights[k] cos(k angle)``."""
    angle = _angles(count, periodic)
    return sum((-1) ** k * w * np.cos(k * angle) for k, w in enumerate(weights))


def _kaiser(count: int, periodic: bool, beta: float) -> Any:
    steps = count if periodic else count - 1
    x = 2 * np.arange(count) / max(steps, 1) - 1
    return np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta)


def _bartlett(count: int, periodic: bool) -> Any:
    steps = count if periodic else count - 1
    return 1 - np.abs(2 * np.arange(count) / max(steps, 1) - 1)


def _gaussian(count: int, periodic: bool, std: float) -> Any:
    steps = count if periodic else count - 1
    return np.exp(-(((np.arange(count) - steps / 2) / std) ** 2) / 2)


def _cosine(count: int, periodic: bool) -> Any:
    steps = count if periodic else count - 1
    return np.sin(np.pi * (np.arange(count) + 0.5) / (steps + 1))


def _exponential(count: int, periodic: bool, center: Any, tau: float) -> Any:
    steps = count if periodic else count - 1
    centre = steps / 2 if center is None else center
    return np.exp(-np.abs(np.arange(count) - centre) / tau)


def _made(name: str, count: int, values: Any, dtype: Any, requires_grad: bool) -> Any:
    refuse(count < 0, f"requires non-negative window_length, got window_length={count}")
    numpy = numpy_of(dtype)
    refuse_kind("arange_cpu", numpy, "fiub")
    refuse(kind_of(numpy) != "f", f"{name} expects floating point dtypes, got: {dtype}")
    window = np.ones(count) if count <= 1 else values()
    return finish(np.asarray(window).astype(numpy), requires_grad)


def _old(name: str, compute: Any, defaults: dict[str, Any]) -> None:
    """``torch.<name>(window_length, periodic, …)``: periodic unless said otherwise."""

    def window(
        window_length: int, periodic: bool = True, *numbers: float, dtype: Any = None, layout: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False, **named: Any,
    ) -> Any:  # fmt: skip
        """A window of ``window_length`` elements."""
        values = {**defaults, **dict(zip(defaults, numbers, strict=False)), **named}
        refuse(set(values) != set(defaults), f"{name}() got an unexpected keyword argument")
        return _made(name, window_length, lambda: compute(window_length, periodic, **values), dtype, requires_grad)

    window.__name__ = window.__qualname__ = name
    public(name, method=False)(window)


_old("hann_window", lambda n, p: cosine_sum(n, p, (0.5, 0.5)), {})
_old("hamming_window", lambda n, p, alpha, beta: cosine_sum(n, p, (alpha, beta)), {"alpha": 0.54, "beta": 0.46})
_old("blackman_window", lambda n, p: cosine_sum(n, p, (0.42, 0.5, 0.08)), {})
_old("bartlett_window", _bartlett, {})
_old("kaiser_window", _kaiser, {"beta": 12.0})


def _check_shape(values: dict[str, Any], sym: bool) -> None:
    """Raise for the parameters of a window that cannot be, in torch's words."""
    if values.get("center") is not None and sym:
        raise ValueError("Center must be None for symmetric windows")
    if values.get("tau", 1) <= 0:
        raise ValueError(f"Tau must be positive, got: {values['tau']} instead.")
    if values.get("std", 1) <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {values['std']} instead.")
    if values.get("beta", 0) < 0:
        raise ValueError(f"beta must be non-negative, got: {values['beta']} instead.")
    if "a" not in values:
        return
    if not isinstance(values["a"], (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not values["a"]:
        raise ValueError("Coefficients cannot be empty")


def _new(name: str, compute: Any, defaults: dict[str, Any]) -> None:
    """``torch.signal.windows.<name>(M, *, sym=True, …)``: symmetric unless said otherwise."""

    def window(
        M: int, *numbers: Any, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,  # noqa: N803
        requires_grad: bool = False, **named: Any,
    ) -> Any:  # fmt: skip
        """A window of ``M`` elements."""
        values = {**defaults, **dict(zip(defaults, numbers, strict=False)), **named}
        M = index(M)  # noqa: N806 - a tensor of one element will do, too
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if numpy_of(dtype).name not in ("float32", "float64"):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        if layout not in (None, strided):
            raise ValueError(f"{_REPORTED.get(name, name)} is implemented for strided tensors only, got: {layout}")
        _check_shape(values, sym)
        return _made(name, M, lambda: compute(M, not sym, **values), dtype, requires_grad)

    window.__name__ = window.__qualname__ = name
    public(name, namespace=SIGNAL)(window)


_REPORTED = dict.fromkeys(("hann", "hamming", "nuttall", "general_hamming"), "general_cosine")
"""Windows that are sums of cosines, and speak as what computes these."""
_NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
_new("hann", lambda n, p: cosine_sum(n, p, (0.5, 0.5)), {})
_new("hamming", lambda n, p: cosine_sum(n, p, (0.54, 0.46)), {})
_new("blackman", lambda n, p: cosine_sum(n, p, (0.42, 0.5, 0.08)), {})
_new("bartlett", _bartlett, {})
_new("kaiser", _kaiser, {"beta": 12.0})
_new("nuttall", lambda n, p: cosine_sum(n, p, _NUTTALL), {})
_new("gaussian", _gaussian, {"std": 1.0})
_new("cosine", _cosine, {})
_new("exponential", _exponential, {"center": None, "tau": 1.0})
_new("general_cosine", lambda n, p, a: cosine_sum(n, p, a), {"a": (0.5, 0.5)})
_new("general_hamming", lambda n, p, alpha: cosine_sum(n, p, (alpha, 1 - alpha)), {"alpha": 0.54})
