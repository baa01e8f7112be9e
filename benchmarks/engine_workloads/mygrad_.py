"""The workloads on MyGrad."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import data as d


class Programs:
    """First-order workloads that MyGrad can express."""

    def __init__(self) -> None:
        self.mg = importlib.import_module("mygrad")
        self.losses = importlib.import_module("mygrad.nnet.losses")

    def make(self, name: str, v: dict[str, Any]) -> Callable[[Callable[[], None]], list[Any]]:
        """One step of a workload; ``KeyError`` for one that is not written."""
        loss = {"W1": self._w1, "W2": self._w2, "W3": self._w2, "W7": self._w7}[name]
        arrays = [v["x"], v["w"], v["b"]] if name == "W1" else [v["x"]] if name == "W7" else v["p"]
        p = [self.mg.tensor(np.array(a)) for a in arrays]

        def run(halfway: Callable[[], None]) -> list[Any]:
            value = loss(p, v)
            halfway()
            value.backward()
            grads = [t.grad for t in p]
            if name in ("W2", "W3"):
                for t, g in zip(p, grads, strict=True):
                    t.data -= t.dtype.type(d.RATE) * g
            return grads

        return run

    def _w1(self, p: list[Any], v: Any) -> Any:
        y, w, b = p
        for _ in range(d.W1_OPERATIONS // 4):
            y = y * w
            y = y + b
            y = y * 0.99
            y = self.mg.tanh(y)
        return y.sum()

    def _w2(self, p: list[Any], v: Any) -> Any:
        h = self.mg.maximum(self.mg.matmul(v["x"], p[0]) + p[1], 0)
        h = self.mg.maximum(self.mg.matmul(h, p[2]) + p[3], 0)
        return self.losses.softmax_crossentropy(self.mg.matmul(h, p[4]) + p[5], v["labels"])

    def _w7(self, p: list[Any], v: Any) -> Any:
        (y,) = p
        for _ in range(d.W7_OPERATIONS):
            y = y * 0.99999
        return y.sum()
