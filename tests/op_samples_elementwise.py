"""Samples of element-wise functions: arithmetic, powers, exponentials, trigonometry, rounding, bounds, complex parts."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, binary, bools, calls, cplx, ints, program, real, unary

EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan])
EDGE_PAIRS = (np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES)))

UNARY = [
    *unary("sin cos tan sinh cosh tanh asinh atan exp exp2 expm1 sigmoid square neg abs sgn sign sinc"),
    *unary("deg2rad rad2deg floor ceil trunc round frac relu reciprocal nan_to_num angle conj_physical positive real"),
    *calls("sin exp neg abs", [real(3, 2).T], [np.broadcast_to(real(1, 3), (2, 3))], note="transposed, expanded"),
    *unary("isnan isinf isfinite isneginf isposinf isreal signbit logical_not"),
    *unary("asin acos atanh", lo=-0.95, hi=0.95),
    *unary("log log2 log10 log1p sqrt rsqrt", lo=0.1, hi=3.0),
    *unary("acosh", lo=1.1, hi=3.0),
    *unary("logit", lo=0.05, hi=0.95),
    *calls(
        "sin cos tan sinh cosh tanh asinh atan exp exp2 expm1 log log1p log2 log10 sqrt rsqrt reciprocal sigmoid neg "
        "sgn angle conj_physical asin acos atanh acosh square real imag abs positive conj resolve_conj sinc isreal "
        "isnan view_as_real",
        [cplx(2, 3)], note="complex",
    ),
    *calls(
        "sin exp log sqrt abs sgn sign sinc sigmoid tanh frac floor ceil trunc round asin acos atan asinh acosh "
        "atanh reciprocal rsqrt square nan_to_num angle signbit log1p expm1 isposinf isneginf isnan isinf isfinite "
        "deg2rad log2 log10 exp2 cosh sinh cos",
        [EDGES], note="edges", second=False,
    ),
    *calls(
        "sin exp log abs neg sgn sign square floor ceil trunc round sigmoid rsqrt reciprocal logit sinc deg2rad angle "
        "nan_to_num isneginf isreal positive relu signbit",
        [ints(2, 3)], note="integers",
    ),
    *calls("logit", [real(5, lo=-0.2, hi=1.2), 0.1], [real(5, lo=-0.2, hi=1.2), {"eps": 0.1}], [real(3, lo=-1, hi=2)]),
    *calls("round", [real(4, lo=-30, hi=30), {"decimals": 1}], [real(4, lo=-300, hi=300), {"decimals": -1}]),
    *calls("special.round", [real(4, lo=-30, hi=30), {"decimals": 2}]),
    *calls("nan_to_num", [EDGES, 1.0, 2.0, -2.0], [EDGES, {"posinf": 3.0}], [EDGES, {"nan": 5.0}]),
    *calls("view_as_complex", [real(3, 2)], [real(2)]),
    *calls("frexp", [real(2, 3)], [real()], [np.array([0.0, 1.0, -4.0, np.inf])]),
    *calls("relu logit", [np.array([0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf])], note="edges", second=False),
    *calls("bitwise_not", [ints(2, 3)], [bools(4)]),
    *calls("sgn abs angle", [np.array([0j, 1j, -1 + 0j, 3 - 4j])], note="zeros", second=False),
]  # fmt: skip

BINARY = [
    *binary("add sub mul div atan2 hypot logaddexp logaddexp2 fmax fmin maximum minimum copysign true_divide"),
    *binary("eq ne lt le gt ge logical_and logical_or logical_xor isclose"),
    *binary("nextafter", forward=False, second=False, variants=False),
    *binary("fmod remainder", lo=-5.0, hi=5.0, lo2=0.6, hi2=1.9),
    *binary("pow float_power", lo=0.2, hi=2.0, lo2=-2.0, hi2=2.0),
    *binary("xlogy", lo=-2.0, hi=2.0, lo2=0.2, hi2=3.0),
    *binary("special.xlog1py", lo=-2.0, hi=2.0, lo2=-0.5, hi2=3.0),
    *binary("ldexp", lo=-2.0, hi=2.0),
    *binary("rsub subtract multiply divide"),
    *calls("clamp_min clamp_max", [real(2, 3), real(3, start=1)], [real(2, 3), 0.3], [real(), -0.3], [ints(4), 1]),
    *calls(
        "atan2 hypot fmax fmin maximum minimum copysign xlogy fmod remainder pow logaddexp logaddexp2 eq "
        "add mul div",
        [*EDGE_PAIRS], note="edges", second=False, forward=False,
    ),
    *calls("special.xlog1py", [*EDGE_PAIRS], note="edges", second=False, forward=False),
    *calls("add sub mul div pow eq ne float_power", [cplx(2, 3, lo=0.5), cplx(3, lo=0.3, start=2)], note="complex"),
    *calls("add sub mul div", [real(2, 3), cplx(3)], [cplx(2), real(2, 2)], note="mixed"),
    *calls("add sub mul div pow fmod remainder copysign xlogy eq lt float_power", [real(2, 3), 2.5], [real(3), 3],
           note="number"),
    *calls("ne gt ge le", [real(2, 3), 0.3], note="number"),
    *calls("special.xlog1py", [real(2, 3), 0.7], [real(3), -1.0], note="number"),
    *calls("add sub mul div", [real(3), 2.0 + 1.0j], [cplx(3), 2.0], note="complex number"),
    *calls("add sub mul div pow fmod remainder floor_divide true_divide gcd lcm maximum minimum fmax fmin atan2 xlogy "
           "bitwise_and bitwise_or bitwise_xor copysign float_power bitwise_left_shift bitwise_right_shift",
           [ints(2, 3, lo=1, hi=9), ints(3, lo=1, hi=4)], note="integers"),
    *calls("add mul div floor_divide remainder fmod sub", [ints(2, 3), 2], [ints(2, 3), 2.5], [ints(2, 3), -3],
           note="integer number"),
    *calls("add sub", [real(2, 3), real(3), {"alpha": 0.5}], [cplx(2), cplx(2), {"alpha": 2j}]),
    *calls("xlogy special.xlog1py", [2.5, real(2, 3, lo=0.1)], [0.0, real(3)], note="number first"),
    *calls("pow float_power", [2.5, real(2, 3)], [-1.5, Const(real(2))], note="base"),
    *calls("pow float_power", [0.0, real(3, lo=0.1)], note="base 0", second=False),
    *calls("pow", [real(4), 2], [real(4), 0], [real(4), 1], [real(4), 3], [real(4, lo=0.1), -0.5],
           [real(4, lo=0.1), 0.5], [np.array([0.0, 1.0]), 2], [cplx(3), 2], [cplx(3), 0.5 + 1j], [ints(3), 2]),
    *calls("div", [real(2, 3, lo=-9, hi=9), real(3, lo=1, hi=2), {"rounding_mode": "floor"}],
           [real(2, 3, lo=-9, hi=9), 2, {"rounding_mode": "trunc"}], [ints(5), 3, {"rounding_mode": "trunc"}],
           [ints(5), 3, {"rounding_mode": "floor"}], [real(3), 1.5, {"rounding_mode": "floor"}]),
    *calls("heaviside nextafter", [Const(EDGE_PAIRS[0]), Const(EDGE_PAIRS[1])], note="edges", variants=False),
    *calls("heaviside", [Const(real(2, 3)), Const(real(3))], [Const(np.array([0.0, -1.0, 2.0])), Const(real())]),
    *calls("ldexp", [real(2, 3), ints(3, lo=0)], [real(3), np.array(2)]),
    *calls("floor_divide", [Const(real(2, 3)), Const(real(3, lo=0.5))], [Const(real(4, lo=-9, hi=9)), 2]),
    *calls("floor_divide fmod remainder", [Const(real(3)), 0], note="by zero", variants=False),
    *calls("add sub mul div floor_divide bitwise_and", [2, ints(3, lo=1)], [2, np.array(3)], note="number first",
           variants=False),
    *calls("add mul sub", [2.5, real(3)], [1 + 2j, real(3)], note="number first", variants=False),
    *calls("add mul lt pow", [ints(3, lo=1).astype(np.uint8), 3], note="bytes", variants=False),
    *calls("add mul lt ge", [ints(3, lo=1).astype(np.uint8), -1], note="wrapping", variants=False),
    *calls("pow rsub", [ints(3, lo=1), 2.5], note="promoted", variants=False),
    *calls("float_power", [1 + 2j, real(3)], note="complex base", variants=False),
    *calls("pow", [-1.5, cplx(3)], note="complex exponent", variants=False),
    *calls("add mul", [real(3).astype(np.float32), np.array(1 + 2j)], note="0-d complex", variants=False),
    program("number - tensor", lambda torch, x: 2 - x, real(3), node=True),
    program("number / tensor", lambda torch, x: 2 / x, real(3, lo=0.3), node=True),
    program("number % tensor", lambda torch, x: 7 % x, Const(real(3, lo=0.8))),
    program("tensor % number", lambda torch, x: x % 0.75, real(3), node=True),
    program("number ** tensor", lambda torch, x: 2**x, real(3), node=True),
    program("number // tensor", lambda torch, x: 7 // x, Const(real(3, lo=0.8))),
    program("in-place powers", lambda torch, x: (x * 1).pow_(3).mul_(2).div_(5).add_(x).sub_(1), real(3)),
    program("mod in place", lambda torch, x: (x * 2).remainder_(0.75), real(3)),
    program("float_power_", lambda torch, x: (x * 1).float_power_(3), real(3)),
    program("where with a number", lambda torch, x: torch.where(x > 0, x, 2.0), real(2, 3), node=True),
]  # fmt: skip

OTHERS = [
    *calls("clamp clip", [real(2, 3), -0.5, 0.5], [real(2, 3), {"min": 0.0}], [real(2, 3), {"max": 0.3}],
           [real(2, 3), real(3), real(2, 1, start=2)], [real(2, 3), {"min": real(3, start=1)}], [real(2, 3), {"max": real(3, start=1)}],
           [np.array([-1.0, 0.0, 1.0]), -1.0, 1.0], [ints(4), 0, 2], [real(3), 1.0, -1.0], [np.zeros((0, 2)), 0, 1],
           [real(), -0.5, 0.5], [ints(4), 0.5, 2.5], [EDGES, -0.5, 0.5]),
    *calls("lerp", [real(2, 3), real(2, 3, start=1), 0.3], [real(2, 3), real(3, start=1), 0.8],
           [real(2, 3), real(2, 3, start=1), real(3, lo=0, hi=1)], [real(), real(start=1), real(start=2)],
           [cplx(3), cplx(3, start=1), 0.25], [cplx(3), cplx(3, start=1), cplx(3, start=2)]),
    *calls("addcmul", [real(2, 3), real(3), real(2, 1)], [real(2), real(2), real(2), {"value": 0.5}],
           [cplx(2), cplx(2), cplx(2), {"value": 0.5}], [ints(3), ints(3), ints(3), {"value": 2}]),
    *calls("addcdiv", [real(2, 3), real(3), real(2, 1, lo=0.5)], [real(2), real(2), real(2, lo=0.5), {"value": 0.5}],
           [cplx(2), cplx(2), cplx(2, lo=0.5), {"value": 0.5}]),
    *calls("where", [bools(2, 3), real(2, 3), real(3)], [bools(3), real(2, 1), real()], [bools(2), 1.0, real(2)],
           [bools(4), ints(4), real(4)], [bools(2, 2)], [bools(2), 1, 2], [bools(2), True, False], [bools(2), 1, 2.5]),
    *calls("masked_fill", [real(2, 3), bools(2, 3), 0.5], [real(2, 3), bools(3), real()], [cplx(3), bools(3), 1.0],
           [real(3), bools(3), 2]),
    *calls("complex", [real(2, 3), real(2, 3, start=1)], [real(2, 1), real(3, start=1)], [real(), real(start=1)]),
    *calls("polar", [real(2, 3, lo=0.2), real(2, 3, start=1)], [real(2, 1, lo=0.1), real(3, start=1)]),
    *calls("isclose", [Const(EDGE_PAIRS[0]), Const(EDGE_PAIRS[1])],
           [Const(EDGE_PAIRS[0]), Const(EDGE_PAIRS[1]), {"equal_nan": True}],
           [Const(real(3)), Const(real(3) + 1e-6), 1e-5, 1e-8], [ints(4), ints(4, start=1)]),
]  # fmt: skip

SAMPLES: list[Sample] = [*UNARY, *BINARY, *OTHERS]
