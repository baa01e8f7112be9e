"""Where functions are flat and where they have poles, by the names that recordings use."""

from __future__ import annotations

_NOTHING = 2.0**-24
"""How near 0 a sigmoid is no steeper than where single precision rounds it to 1."""

FLAT = {
    "tanh": (-1.0, 1.0),
    "tanh_": (-1.0, 1.0),
    "sigmoid": (_NOTHING, 1.0),
    "sigmoid_": (_NOTHING, 1.0),
    "softmax": (0.0, 1.0),
    "relu": (0.0, None),
    "relu_": (0.0, None),
    "relu6": (0.0, 6.0),
    "hardtanh": (-1.0, 1.0),
    "hardsigmoid": (0.0, 1.0),
    "threshold": (0.0, None),
}
"""Function -> results up to which and from which on its slope is zero, or next to it."""

POLES = {
    "log": (0, 0.0),
    "log2": (0, 0.0),
    "log10": (0, 0.0),
    "log1p": (0, -1.0),
    "sqrt": (0, 0.0),
    "rsqrt": (0, 0.0),
    "reciprocal": (0, 0.0),
    "pow": (0, 0.0),
    "div": (1, 0.0),
    "rdiv": (0, 0.0),
    "atan2": (1, 0.0),
    "acos": (0, None),
    "asin": (0, None),
    "norm": (0, 0.0),
    "vector_norm": (0, 0.0),
    "xlogy": (1, 0.0),
}
"""Function -> which argument has an infinite or undefined slope at which value (None: at 1 and -1)."""
