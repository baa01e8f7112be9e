"""Samples of normalisations."""

from __future__ import annotations

from op_samples import Const, calls, program, real

NN = "nn.functional."
X = real(3, 4, 2, 2)
C = real(4, lo=0.3, hi=1.6, start=4)
B = real(4, start=2)
MEAN, VAR = Const(real(4, start=5)), Const(real(4, lo=0.5, hi=1.5))


def running(torch, x, weight):  # type: ignore[no-untyped-def]
    """A batch norm in training moves its running statistics."""
    mean, var = torch.zeros(4, dtype=x.dtype), torch.ones(4, dtype=x.dtype)
    out = torch.nn.functional.batch_norm(x, mean, var, weight, None, True, 0.3)
    return out, mean, var, mean._version, var._version


def running_instances(torch, x):  # type: ignore[no-untyped-def]
    """An instance norm in training moves its running statistics."""
    mean, var = torch.zeros(4, dtype=x.dtype), torch.ones(4, dtype=x.dtype)
    return torch.nn.functional.instance_norm(x, mean, var), mean, var, mean._version


SAMPLES = [
    *calls(
        NN + "batch_norm",
        [X, None, None, {"training": True}],
        [X, None, None, C, B, True, 0.1, 1e-3],
        [real(5, 4), MEAN, VAR, C, B],
        [X, MEAN, VAR, C, {"eps": 0.1}],
        [X, MEAN, VAR],
        [real(5, 4, 3), None, None, C, None, True],
        variants=False,
    ),
    *calls("batch_norm", [X, C, B, None, None, True, 0.1, 1e-3, False], variants=False),
    program(NN + "batch_norm", running, X, C, note="running"),
    *calls(
        NN + "layer_norm",
        [X, (2,)],
        [X, (2, 2), real(2, 2, start=1), real(2, 2)],
        [real(5, 4), [4], C, B, 0.1],
        [real(4), (4,), C],
        [real(5, 4), (5, 4), {"bias": real(5, 4, start=2)}],
        [real(0, 4), (4,), C, B],
    ),
    *calls("layer_norm", [real(5, 4), [4], C, B, 0.1]),
    *calls(
        NN + "group_norm", [X, 2], [X, 4, C, B], [X, 1, C, B, 0.1], [real(3, 4), 2, C]
    ),
    *calls("group_norm", [X, 2, C]),
    *calls(NN + "instance_norm", [X], [X, None, None, C, B], [X, MEAN, VAR, C, B, False], [real(2, 4, 5), {"eps": 0.1}],
           variants=False),
    program(NN + "instance_norm", running_instances, X, note="running"),
    *calls(NN + "rms_norm", [X, (2,)], [X, (2, 2), real(2, 2, start=1), 0.1], [real(5, 4), [4], C]),
    *calls(NN + "local_response_norm", [real(2, 5, 3), 3], [real(2, 5, 3, 2), 2, 0.3, 0.5, 2.0],
           [real(1, 4, 2, 2, 2), 3]),
]  # fmt: skip
