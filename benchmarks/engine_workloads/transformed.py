"""The workloads as functions that a transformation differentiates: HIPS autograd, JAX eager and JAX compiled."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import data as d


def _w1(xp: Any, p: list[Any], v: Any) -> Any:
    y, w, b = p
    for _ in range(d.W1_OPERATIONS // 4):
        y = y * w
        y = y + b
        y = y * 0.99
        y = xp.tanh(y)
    return xp.sum(y)


def _entropy(xp: Any, z: Any, labels: Any) -> Any:
    z = z - xp.max(z, 1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(z), 1)) - z[np.arange(len(labels)), labels])


def _mlp(xp: Any, p: list[Any], v: Any, act: Callable[[Any], Any]) -> Any:
    h = act(xp.dot(v["x"], p[0]) + p[1])
    h = act(xp.dot(h, p[2]) + p[3])
    return _entropy(xp, xp.dot(h, p[4]) + p[5], v["labels"])


def _w2(xp: Any, p: list[Any], v: Any) -> Any:
    return _mlp(xp, p, v, lambda h: xp.maximum(h, 0))


def _w9(xp: Any, p: list[Any], v: Any) -> Any:
    return _mlp(xp, p, v, xp.tanh)


def _w6(xp: Any, p: list[Any], v: Any) -> Any:
    n = d.W6_HIDDEN
    h = c = np.zeros_like(v["r"])
    for t in range(d.W6_STEPS):
        a = xp.dot(v["x"][t], p[0]) + xp.dot(h, p[1]) + p[2]
        i, f, o = (1 / (1 + xp.exp(-a[:, k * n : k * n + n])) for k in (0, 1, 3))
        c = f * c + i * xp.tanh(a[:, 2 * n : 3 * n])
        h = o * xp.tanh(c)
    return xp.sum(h * v["r"])


def _w7(xp: Any, p: list[Any], v: Any) -> Any:
    (y,) = p
    for _ in range(d.W7_OPERATIONS):
        y = y * 0.99999
    return xp.sum(y)


LOSSES = {"W1": _w1, "W2": _w2, "W3": _w2, "W6": _w6, "W7": _w7, "W9": _w9}


class Programs:
    """The workloads through ``autograd`` or ``jax``; others than ``LOSSES`` are not written for them."""

    def __init__(self, engine: str, compiled: bool = False) -> None:
        self.xp = importlib.import_module(engine + ".numpy")
        self.engine = importlib.import_module(engine)
        self.compiled = compiled

    def make(self, name: str, v: dict[str, Any]) -> Callable[[Callable[[], None]], list[Any]]:
        """One step of a workload; ``KeyError`` for one that is not written."""
        loss, xp = LOSSES[name], self.xp
        if self.engine.__name__ == "jax" and name == "W7":
            raise KeyError(name)  # tracing 100,000 operations does not end in a minute
        p = [v["x"], v["w"], v["b"]] if name == "W1" else [v["x"]] if name == "W7" else [a.copy() for a in v["p"]]

        def plain(p: list[Any]) -> Any:
            return loss(xp, p, v)

        def along(p: list[Any]) -> Any:
            return sum(xp.sum(a * b) for a, b in zip(self.engine.grad(plain)(p), v["v"], strict=True))

        slope = self.engine.grad(along if name == "W9" else plain)
        slope = self.engine.jit(slope) if self.compiled else slope

        def run(halfway: Callable[[], None]) -> list[Any]:
            grads = [np.asarray(g) for g in slope(p)]
            if name in ("W2", "W3"):
                for i, g in enumerate(grads):
                    p[i] = p[i] - p[i].dtype.type(d.RATE) * g
            return grads

        return run
