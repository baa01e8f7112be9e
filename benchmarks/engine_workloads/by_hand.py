"""The workloads by hand: forward and backward in plain NumPy, as somebody who knows NumPy writes them.

This is the yardstick: nothing is recorded, formulas are written out, arrays are overwritten where that is natural.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import data as d

Halfway = Callable[[], None]


def make(name: str, v: dict[str, Any]) -> Callable[[Halfway], list[Any]]:
    """One step of a workload."""
    run = globals()[name.lower()]
    if name in ("W2", "W3"):
        v = {**v, "p": [a.copy() for a in v["p"]]}
    return lambda halfway: run(v, halfway)


def w1(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """Four kinds of small operations in turn."""
    x, w, b = v["x"], v["w"], v["b"]
    y, before, after = x, [], []
    for _ in range(d.W1_OPERATIONS // 4):
        before.append(y)
        y = y * w
        y = y + b
        y = y * 0.99
        y = np.tanh(y)
        after.append(y)
    y.sum()
    halfway()
    g, gw, gb = np.ones_like(x), np.zeros_like(w), np.zeros_like(b)
    for y, t in zip(reversed(before), reversed(after), strict=True):
        g = g * (1 - t * t)
        g = g * 0.99
        gb += g
        gw += g * y
        g = g * w
    return [g, gw, gb]


def _entropy(z: Any, labels: Any) -> tuple[Any, Any]:
    """Mean cross entropy, and the softmax."""
    z = z - z.max(1, keepdims=True)
    e = np.exp(z)
    s = e.sum(1, keepdims=True)
    loss = (np.log(s[:, 0]) - z[np.arange(len(labels)), labels]).mean()
    return loss, e / s


def _entropy_slope(softmax: Any, labels: Any) -> Any:
    softmax[np.arange(len(labels)), labels] -= 1
    softmax *= softmax.dtype.type(1 / len(labels))
    return softmax


def w2(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """A step of training."""
    x, labels, p = v["x"], v["labels"], v["p"]
    h1 = x @ p[0]
    h1 += p[1]
    np.maximum(h1, 0, out=h1)
    h2 = h1 @ p[2]
    h2 += p[3]
    np.maximum(h2, 0, out=h2)
    z = h2 @ p[4]
    z += p[5]
    _, softmax = _entropy(z, labels)
    halfway()
    g = _entropy_slope(softmax, labels)
    grads = [h2.T @ g, g.sum(0)]
    for h, below, weights in ((h2, h1, p[4]), (h1, x, p[2])):
        g = g @ weights.T
        g *= h > 0
        grads = [below.T @ g, g.sum(0), *grads]
    for a, slope in zip(p, grads, strict=True):
        a -= a.dtype.type(d.RATE) * slope
    return grads


w3 = w2


def _windows(x: Any) -> Any:
    """3x3 windows of padded images, one per row."""
    n, c, h, w = x.shape
    padded = np.zeros((n, c, h + 2, w + 2), x.dtype)
    padded[:, :, 1:-1, 1:-1] = x
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.ascontiguousarray(view.transpose(0, 2, 3, 1, 4, 5)).reshape(n * h * w, c * 9)


def _conv(x: Any, kernel: Any, bias: Any) -> tuple[Any, Any]:
    n, _, h, w = x.shape
    rows = _windows(x)
    out = rows @ kernel.reshape(len(kernel), -1).T
    out += bias
    return out.reshape(n, h, w, -1).transpose(0, 3, 1, 2), rows


def _conv_slope(g: Any, kernel: Any) -> Any:
    """Gradient of the images."""
    n, o, h, w = g.shape
    c = kernel.shape[1]
    rows = g.transpose(0, 2, 3, 1).reshape(-1, o) @ kernel.reshape(o, -1)
    rows = rows.reshape(n, h, w, c, 3, 3).transpose(0, 3, 1, 2, 4, 5)
    padded = np.zeros((n, c, h + 2, w + 2), g.dtype)
    for i in range(3):
        for j in range(3):
            padded[:, :, i : i + h, j : j + w] += rows[..., i, j]
    return padded[:, :, 1:-1, 1:-1]


def _pool(a: Any) -> tuple[Any, Any]:
    n, c, h, w = a.shape
    cells = a.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
    place = cells.argmax(-1)[..., None]
    return np.take_along_axis(cells, place, -1)[..., 0], place


def _pool_slope(g: Any, place: Any) -> Any:
    n, c, h, w = g.shape
    cells = np.zeros((n, c, h, w, 4), g.dtype)
    np.put_along_axis(cells, place, g[..., None], -1)
    return cells.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)


def w4(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """Two convolutions with pooling, and a linear layer."""
    x, labels, p = v["x"], v["labels"], v["p"]
    h, kept = x, []
    for kernel, bias in ((p[0], p[1]), (p[2], p[3])):
        out, rows = _conv(h, kernel, bias)
        out = np.maximum(out, 0)
        h, place = _pool(out)
        kept.append((rows, out, place))
    flat = h.reshape(len(x), -1)
    _, softmax = _entropy(flat @ p[4] + p[5], labels)
    halfway()
    g = _entropy_slope(softmax, labels)
    grads = [flat.T @ g, g.sum(0)]
    g = (g @ p[4].T).reshape(h.shape)
    for i in (1, 0):
        rows, out, place = kept[i]
        g = _pool_slope(g, place)
        g *= out > 0
        lines = g.transpose(0, 2, 3, 1).reshape(-1, g.shape[1])
        grads = [(lines.T @ rows).reshape(p[2 * i].shape), lines.sum(0), *grads]
        g = _conv_slope(g, p[2 * i]) if i else None
    return grads


def _norm(x: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + x.dtype.type(1e-5))
    centred *= scale
    return centred * weight + bias, (centred, scale)


def _norm_slope(g: Any, kept: Any, weight: Any) -> list[Any]:
    normal, scale = kept
    width = g.shape[-1]
    into_weight, into_bias = (g * normal).reshape(-1, width).sum(0), g.reshape(-1, width).sum(0)
    gx = g * weight
    gx -= gx.mean(-1, keepdims=True) + normal * (gx * normal).mean(-1, keepdims=True)
    gx *= scale
    return [gx, into_weight, into_bias]


def w5(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """Attention and a wide layer, each behind a layer norm."""
    x, p, r = v["x"], v["p"], v["r"]
    n, s, width = x.shape
    heads, kind = d.W5_HEADS, x.dtype.type
    scale, k0, k1 = kind((width // heads) ** -0.5), kind(0.7978845608028654), kind(0.044715)
    a, norm1 = _norm(x, p[0], p[1])
    a = a.reshape(-1, width)
    qkv = a @ p[2]
    qkv += p[3]
    q, k, u = qkv.reshape(n, s, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    w = q @ k.swapaxes(-1, -2)
    w *= scale
    w -= w.max(-1, keepdims=True)
    np.exp(w, out=w)
    w /= w.sum(-1, keepdims=True)
    o = (w @ u).swapaxes(1, 2).reshape(-1, width)
    y = o @ p[4]
    y += p[5]
    y = y.reshape(n, s, width) + x
    m, norm2 = _norm(y, p[6], p[7])
    m = m.reshape(-1, width)
    z = m @ p[8]
    z += p[9]
    square = z * z
    t = np.tanh(k0 * z * (1 + k1 * square))
    act = 0.5 * z * (1 + t)
    ((act @ p[10] + p[11]).reshape(n, s, width) + y).ravel() @ r.ravel()
    halfway()
    g = r.reshape(-1, width)
    grads = [act.T @ g, g.sum(0)]
    g = g @ p[10].T
    g *= 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * (k0 * (1 + 3 * k1 * square))
    grads = [m.T @ g, g.sum(0), *grads]
    gy, *norm = _norm_slope((g @ p[8].T).reshape(n, s, width), norm2, p[6])
    gy += r
    rows = gy.reshape(-1, width)
    grads = [o.T @ rows, rows.sum(0), *norm, *grads]
    go = (rows @ p[4].T).reshape(n, s, heads, width // heads).swapaxes(1, 2)
    gw = go @ u.swapaxes(-1, -2)
    gw -= (gw * w).sum(-1, keepdims=True)
    gw *= w
    gw *= scale
    gqkv = np.empty((n, s, 3, heads, width // heads), x.dtype)
    parts = gqkv.transpose(2, 0, 3, 1, 4)
    parts[0], parts[1], parts[2] = gw @ k, gw.swapaxes(-1, -2) @ q, w.swapaxes(-1, -2) @ go
    rows = gqkv.reshape(-1, 3 * width)
    gx, *norm = _norm_slope((rows @ p[2].T).reshape(n, s, width), norm1, p[0])
    return [gx + gy, *norm, a.T @ rows, rows.sum(0), *grads]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def w6(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """An LSTM written with its gates."""
    x, (wx, wh, b), r = v["x"], v["p"], v["r"]
    n = d.W6_HIDDEN
    h, c, kept = np.zeros_like(r), np.zeros_like(r), []
    for t in range(d.W6_STEPS):
        a = x[t] @ wx
        a += h @ wh
        a += b
        i, f, g, o = (
            _sigmoid(a[:, :n]),
            _sigmoid(a[:, n : 2 * n]),
            np.tanh(a[:, 2 * n : 3 * n]),
            _sigmoid(a[:, 3 * n :]),
        )
        kept.append((h, c, i, f, g, o))
        c = f * c + i * g
        tc = np.tanh(c)
        kept[-1] += (tc,)
        h = o * tc
    (h * r).sum()
    halfway()
    gwx, gwh, gb, gh, gc = np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b), r, np.zeros_like(r)
    for t in range(d.W6_STEPS - 1, -1, -1):
        h, c, i, f, g, o, tc = kept[t]
        ga = np.empty((len(h), 4 * n), h.dtype)
        ga[:, 3 * n :] = gh * tc * o * (1 - o)
        gc = gc + gh * o * (1 - tc * tc)
        ga[:, :n] = gc * g * i * (1 - i)
        ga[:, n : 2 * n] = gc * c * f * (1 - f)
        ga[:, 2 * n : 3 * n] = gc * i * (1 - g * g)
        gc *= f
        gwx += x[t].T @ ga
        gwh += h.T @ ga
        gb += ga.sum(0)
        gh = ga @ wh.T
    return [gwx, gwh, gb]


def chain(v: dict[str, Any], halfway: Halfway, length: int) -> list[Any]:
    """``length`` multiplications by a number."""
    y = v["x"]
    for _ in range(length):
        y = y * 0.99999
    y.sum()
    halfway()
    g = np.ones_like(v["x"])
    for _ in range(length):
        g = g * 0.99999
    return [g]


def w7(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """A long chain."""
    return chain(v, halfway, d.W7_OPERATIONS)


def w8(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """Many consumers of one tensor."""
    x = v["x"]
    factors = [i / d.W8_CONSUMERS for i in range(d.W8_CONSUMERS)]
    np.stack([x * c for c in factors]).sum()
    halfway()
    ones, g = np.ones((len(factors), len(x)), x.dtype), np.zeros_like(x)
    for row, c in zip(ones, factors, strict=True):
        g += row * c
    return [g]


def w9(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """The gradient of a gradient along a direction: derivatives along ``v`` of each line (Pearlmutter 1994)."""
    x, labels, p, along = v["x"], v["labels"], v["p"], v["v"]
    h1 = np.tanh(x @ p[0] + p[1])
    h2 = np.tanh(h1 @ p[2] + p[3])
    s1, s2 = 1 - h1 * h1, 1 - h2 * h2
    r1 = (x @ along[0] + along[1]) * s1
    r2 = (r1 @ p[2] + h1 @ along[2] + along[3]) * s2
    rz = r2 @ p[4] + h2 @ along[4] + along[5]
    _, softmax = _entropy(h2 @ p[4] + p[5], labels)
    rg = softmax * (rz - (softmax * rz).sum(1, keepdims=True))
    rg *= rg.dtype.type(1 / len(labels))
    g = _entropy_slope(softmax, labels)
    halfway()
    grads = [r2.T @ g + h2.T @ rg, rg.sum(0)]
    for h, s, r, below, rbelow, weights, direction in (
        (h2, s2, r2, h1, r1, p[4], along[4]),
        (h1, s1, r1, x, None, p[2], along[2]),
    ):
        q, rq = g @ weights.T, rg @ weights.T + g @ direction.T
        g, rg = q * s, rq * s - q * (2 * h * r)
        into = below.T @ rg if rbelow is None else rbelow.T @ g + below.T @ rg
        grads = [into, rg.sum(0), *grads]
    return grads


def w10(v: dict[str, Any], halfway: Halfway) -> list[Any]:
    """A chain on large arrays, for its peak memory."""
    y, kept = v["x"], []
    for _ in range(d.W10_ROUNDS):
        y = np.tanh(y)
        kept.append(y)
        y = y * 0.9
        y += 0.1
    y.sum()
    halfway()
    g = np.ones_like(y)
    while kept:
        t = kept.pop()
        g *= 0.9
        t *= t
        np.subtract(1, t, out=t)
        g *= t
    return [g]
