"""Samples of activations."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, calls, program, real, unary

NN = "nn.functional."
BENDS = np.array([0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 25.0, -25.0])
PLAIN = " ".join(
    NN + n
    for n in (
        "relu relu6 leaky_relu elu selu celu gelu silu mish hardswish hardtanh logsigmoid softplus "
        "softsign softshrink hardshrink tanhshrink rrelu tanh sigmoid"
    ).split()
)


def numbers(name: str, *argument_lists: object) -> list[Sample]:
    """An activation with its parameters, by position and by name."""
    return calls(NN + name, *argument_lists, note="parameters")


X = real(2, 3, lo=-4.0, hi=4.0)

SAMPLES: list[Sample] = [
    *unary(PLAIN, lo=-4.0, hi=4.0),
    # torch's slope is 1/6 in single precision
    *unary(NN + "hardsigmoid", lo=-4.0, hi=4.0, rtol=1e-7),
    *calls(NN + "hardsigmoid", [BENDS], note="bends", second=False, rtol=1e-7),
    *calls(PLAIN, [BENDS], note="bends", second=False),
    *calls("selu celu rrelu hardshrink", [X], note="torch"),
    *numbers("leaky_relu", [X, 0.2], [X, {"negative_slope": -0.3}], [BENDS, 0.0]),
    *numbers("elu", [X, 0.7], [X, {"alpha": 1.3}]),
    *numbers("celu", [X, 0.75], [X, {"alpha": 2.0}]),
    *numbers("gelu", [X, {"approximate": "tanh"}], [X, {"approximate": "none"}], [BENDS, {"approximate": "tanh"}]),
    *numbers("hardtanh", [X, -0.5, 2.0], [X, {"min_val": -2.0}], [X, {"max_val": 0.3}]),
    *numbers("softplus", [X, 2.0], [X, 1.0, 1.5], [X, {"beta": 0.5, "threshold": 1.0}]),
    *numbers("softshrink", [X, 1.0], [X, {"lambd": 0.0}]),
    *numbers("hardshrink", [X, 1.0], [X, {"lambd": 0.0}]),
    *numbers("threshold", [X, 0.5, 2.0], [X, -1.0, 0.0], [X, {"threshold": 0.3, "value": -3.0}]),
    *numbers("rrelu", [X, 0.1, 0.5], [X, {"lower": 0.2, "upper": 0.2, "training": True}]),
    *numbers("glu", [real(2, 4)], [real(4, 3), 0], [real(2, 4, 3), -2], [np.zeros((0, 2))]),
    *numbers("prelu", [X, real(1, lo=0, hi=1)], [X, real(3, lo=0, hi=1)], [real(2, 3, 4), real(3, start=1)],
             [real(4), real(1, start=2)], [X, real(start=3)]),
    *calls("threshold", [X, 0.5, 2.0]),
    *calls("prelu", [X, real(3, lo=0, hi=1)]),
    *calls("relu", [BENDS]),
    *calls("softmax log_softmax nn.functional.softmax nn.functional.log_softmax nn.functional.softmin "
           "special.softmax special.log_softmax",
           [real(2, 3), 1], [real(2, 3, 4), -2], [real(5), 0], [real(), 0], [np.zeros((0, 3)), 1],
           [real(2, 3), {"dim": 0}], [real(2, 3).T, 0], [real(2, 3) * 200, 1], [np.zeros((0, 3)), 0]),
    *calls("softmax log_softmax", [real(2, 3).astype(np.float32), 1], note="dtype argument"),
    *calls("nn.functional.softmax", [np.array([[0.0, -np.inf, 1.0], [2.0, 2.0, -np.inf]]), 1], note="masked",
           second=False),
    *[
        program(f"{name} in place", lambda torch, x, name=name: getattr(torch.nn.functional, name)(x * 1, inplace=True),
                X, node=True)
        for name in ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardswish",
                     "hardtanh", "rrelu")
    ],
    *[
        program(f"{name}_", lambda torch, x, name=name: getattr(torch.nn.functional, name + "_")(x * 1), X, node=True)
        for name in ("relu", "leaky_relu", "elu", "selu", "celu", "hardtanh", "rrelu")
    ],
    program("threshold_", lambda torch, x: torch.nn.functional.threshold_(x * 1, 0.5, 3.0), X, node=True),
    program("no gradient", lambda torch, x: torch.nn.functional.gelu(x), Const(X)),
]  # fmt: skip
