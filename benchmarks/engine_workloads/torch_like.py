"""The workloads as PyTorch users write them: the same program for PyTorch and for retrograd."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import data as d


class Programs:
    """The workloads on one engine (``torch`` or ``retrograd``)."""

    def __init__(self, engine: str) -> None:
        self.torch = importlib.import_module(engine)
        self.F = importlib.import_module(engine + ".nn.functional")
        if engine == "torch":
            self.torch.set_num_threads(1)

    def make(self, name: str, values: dict[str, Any]) -> Callable[[Callable[[], None]], list[Any]]:
        """One step of a workload."""
        return getattr(self, name.lower())(values)

    def leaves(self, arrays: list[Any]) -> list[Any]:
        """Tensors that require grad."""
        return [self.torch.from_numpy(np.array(a)).requires_grad_() for a in arrays]

    def step(self, loss: Callable[[], Any], leaves: list[Any], update: bool = False) -> Any:
        """Forward and backward, with a step of gradient descent where asked for."""

        def run(halfway: Callable[[], None]) -> list[Any]:
            value = loss()
            halfway()
            for leaf in leaves:
                leaf.grad = None
            value.backward()
            if update:
                with self.torch.no_grad():
                    for leaf in leaves:
                        leaf.sub_(leaf.grad, alpha=d.RATE)
            return [leaf.grad.numpy() for leaf in leaves]

        return run

    def w1(self, v: dict[str, Any]) -> Any:
        """Four kinds of small operations in turn."""
        x, w, b = leaves = self.leaves([v["x"], v["w"], v["b"]])

        def loss() -> Any:
            y = x
            for _ in range(d.W1_OPERATIONS // 4):
                y = y * w
                y = y + b
                y = y * 0.99
                y = self.torch.tanh(y)
            return y.sum()

        return self.step(loss, leaves)

    def w2(self, v: dict[str, Any]) -> Any:
        """A step of training."""
        torch, F = self.torch, self.F
        x, labels, p = torch.from_numpy(v["x"]), torch.from_numpy(v["labels"]), self.leaves(v["p"])

        def loss() -> Any:
            h = F.relu(torch.addmm(p[1], x, p[0]))
            h = F.relu(torch.addmm(p[3], h, p[2]))
            return F.cross_entropy(torch.addmm(p[5], h, p[4]), labels)

        return self.step(loss, p, update=True)

    w3 = w2

    def w4(self, v: dict[str, Any]) -> Any:
        """Two convolutions with pooling, and a linear layer."""
        torch, F = self.torch, self.F
        x, labels, p = torch.from_numpy(v["x"]), torch.from_numpy(v["labels"]), self.leaves(v["p"])

        def loss() -> Any:
            h = F.max_pool2d(F.relu(F.conv2d(x, p[0], p[1], padding=1)), 2)
            h = F.max_pool2d(F.relu(F.conv2d(h, p[2], p[3], padding=1)), 2)
            return F.cross_entropy(torch.addmm(p[5], h.flatten(1), p[4]), labels)

        return self.step(loss, p)

    def w5(self, v: dict[str, Any]) -> Any:
        """Attention and a wide layer, each behind a layer norm."""
        torch, F = self.torch, self.F
        x, *p = leaves = self.leaves([v["x"], *v["p"]])
        r = torch.from_numpy(v["r"])
        n, s, width = x.shape
        heads = d.W5_HEADS

        def loss() -> Any:
            a = F.layer_norm(x, (width,), p[0], p[1])
            q, k, u = (a @ p[2] + p[3]).view(n, s, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            weights = torch.softmax(q @ k.transpose(-1, -2) * (width // heads) ** -0.5, -1)
            y = x + ((weights @ u).transpose(1, 2).reshape(n, s, width) @ p[4] + p[5])
            m = F.layer_norm(y, (width,), p[6], p[7])
            y = y + (F.gelu(m @ p[8] + p[9], approximate="tanh") @ p[10] + p[11])
            return (y * r).sum()

        return self.step(loss, leaves)

    def w6(self, v: dict[str, Any]) -> Any:
        """An LSTM written with its gates."""
        torch = self.torch
        x, r, p = torch.from_numpy(v["x"]), torch.from_numpy(v["r"]), self.leaves(v["p"])

        def loss() -> Any:
            h = x.new_zeros(d.W6_BATCH, d.W6_HIDDEN)
            c = x.new_zeros(d.W6_BATCH, d.W6_HIDDEN)
            for t in range(d.W6_STEPS):
                i, f, g, o = (x[t] @ p[0] + h @ p[1] + p[2]).chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            return (h * r).sum()

        return self.step(loss, p)

    def chain(self, v: dict[str, Any], length: int) -> Any:
        """``length`` multiplications by a number."""
        (x,) = leaves = self.leaves([v["x"]])

        def loss() -> Any:
            y = x
            for _ in range(length):
                y = y * 0.99999
            return y.sum()

        return self.step(loss, leaves)

    def w7(self, v: dict[str, Any]) -> Any:
        """A long chain."""
        return self.chain(v, d.W7_OPERATIONS)

    def w8(self, v: dict[str, Any]) -> Any:
        """Many consumers of one tensor."""
        (x,) = leaves = self.leaves([v["x"]])
        factors = [i / d.W8_CONSUMERS for i in range(d.W8_CONSUMERS)]
        return self.step(lambda: self.torch.stack([x * c for c in factors]).sum(), leaves)

    def w9(self, v: dict[str, Any]) -> Any:
        """The gradient of a gradient along a direction."""
        torch, F = self.torch, self.F
        x, labels, p = torch.from_numpy(v["x"]), torch.from_numpy(v["labels"]), self.leaves(v["p"])
        along = [torch.from_numpy(a) for a in v["v"]]

        def run(halfway: Callable[[], None]) -> list[Any]:
            h = torch.tanh(torch.addmm(p[1], x, p[0]))
            h = torch.tanh(torch.addmm(p[3], h, p[2]))
            loss = F.cross_entropy(torch.addmm(p[5], h, p[4]), labels)
            first = torch.autograd.grad(loss, p, create_graph=True)
            halfway()
            product = sum((a * b).sum() for a, b in zip(first, along, strict=True))
            return [g.numpy() for g in torch.autograd.grad(product, p)]

        return run

    def w10(self, v: dict[str, Any]) -> Any:
        """A chain on large arrays, for its peak memory."""
        (x,) = leaves = self.leaves([v["x"]])

        def loss() -> Any:
            y = x
            for _ in range(d.W10_ROUNDS):
                y = self.torch.tanh(y)
                y = y * 0.9
                y = y + 0.1
            return y.sum()

        return self.step(loss, leaves)
