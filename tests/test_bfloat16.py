"""bfloat16 and the floats of eight bits: dtype, casts, operators, training, and what is refused."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_engines import differential, raises
from op_samples import Const, Dtype, Sample, all_samples, function_of, tensors_for

import retrograd

pytest.importorskip("ml_dtypes")

EIGHT_BITS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")


def numbers(t: Any) -> Any:
    """A tensor's numbers as an array of doubles, or of complex ones."""
    t = t.detach().resolve_conj()
    return np.asarray((t if t.is_complex() else t.double()).tolist())


def shown(t: Any) -> Any:
    """What both engines must have in common: dtype, shape, exact numbers, and whether it requires grad."""
    return [str(t.dtype), tuple(t.shape), numbers(t), bool(t.requires_grad)]


# -- the dtype


def _floats() -> Any:
    """Numbers of all magnitudes, those between two of bfloat16 and those that lie halfway, infinities and NaN."""
    bits = np.random.default_rng(0).integers(0, 1 << 32, 60_000, dtype=np.uint32)
    halfway = (np.arange(0, 1 << 16, 7, dtype=np.uint32) << 16) | 0x8000
    return np.concatenate([bits, halfway, halfway - 1, halfway + 1]).view(np.float32)


def test_casts_round_as_in_pytorch() -> None:
    """Few and many numbers of single precision come to PyTorch's bits, and every bfloat16 comes back exactly."""
    torch = pytest.importorskip("torch")
    values = _floats()
    for part in (values, values[:100], values[: len(values) // 2 * 2].reshape(2, -1).T):
        wanted = torch.from_numpy(part).bfloat16()
        found = retrograd.from_numpy(part).bfloat16()
        theirs, ours = wanted.view(torch.int16).numpy(), found.view(retrograd.int16).numpy()
        known = ~np.isnan(part)
        np.testing.assert_array_equal(ours[known], theirs[known])
        assert bool(found.isnan()[retrograd.from_numpy(~known)].all())
        np.testing.assert_array_equal(found.float().numpy(), wanted.float().numpy())


@differential
def test_casts_from_and_to_other_dtypes(torch: Any) -> Any:
    """Doubles, halves, integers, truth values and complex numbers, both ways."""
    b = torch.bfloat16
    x = torch.tensor([1.1, -2.7, 300.0, 0.0], dtype=b)
    others = (torch.float64, torch.float16, torch.float32, torch.int64, torch.int8, torch.bool, torch.complex64)
    there = [shown(x[:2].to(dtype)) for dtype in others]
    back = [shown(torch.tensor([1, 257, 65537]).to(dtype).to(b)) for dtype in others[:4]]
    doubles = torch.tensor([1.00390625000001, 1e300, -1e-300], dtype=torch.float64).to(b)
    return there, back, shown(doubles), shown(x.type("torch.BFloat16Tensor")), x.type(), shown(x.bfloat16())


@differential
def test_what_the_dtype_says_of_itself(torch: Any) -> Any:
    """Size, kind, name, limits, promotion with each dtype and with numbers."""
    b = torch.bfloat16
    limits = [
        getattr(torch.finfo(b), n)
        for n in ["bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"]
    ]
    others = ["float16", "float32", "float64", "complex64", "complex128", "int8", "int64", "uint8", "bool", "bfloat16"]
    one = torch.ones(2, dtype=b)
    return (
        [b.itemsize, b.is_floating_point, b.is_complex, b.is_signed, str(b), str(b.to_complex()), str(b.to_real())],
        limits,
        [str(torch.promote_types(b, getattr(torch, name))) for name in others],
        [torch.can_cast(b, torch.float32), torch.can_cast(b, torch.int32), torch.can_cast(torch.float64, b)],
        [shown(one + other) for other in (1, 0.1, torch.tensor(1.5), torch.ones(2), torch.ones(2, dtype=torch.int64))],
        shown(one + torch.ones(2, dtype=torch.float16)),
        raises("have the same dtype", torch.mm, torch.ones(2, 2, dtype=b), torch.ones(2, 2)),
        raises("unsupported ScalarType BFloat16", one.numpy),
        raises("can't be cast", torch.ones(2, dtype=torch.int64).mul_, one),
    )


@differential
def test_printing(torch: Any) -> Any:
    """Texts of tensors, of their gradients, and of single numbers."""
    b = torch.bfloat16
    x = torch.tensor([1.1, -2.2, float("inf"), float("nan"), 3e38, 1e-40], dtype=b)
    leaf = torch.ones(2, dtype=b, requires_grad=True)
    return [repr(x), repr(torch.arange(6, dtype=b).reshape(2, 3)), repr(leaf), repr(leaf * 2), repr(x[0]),
            f"{x[0]:.3f}", x.tolist()[:2], x[1].item(), float(x[0]), bool(x[0]), 1.1 in x]  # fmt: skip


@differential
def test_memory(torch: Any) -> Any:
    """Bytes, reinterpreting, storages, copies, pickles and files."""
    x = torch.tensor([1.5, -2.25, 3.0], dtype=torch.bfloat16)
    file = io.BytesIO()
    torch.save({"x": x, "state": torch.nn.Linear(2, 1).bfloat16().state_dict()}, file)
    file.seek(0)
    loaded = torch.load(file)
    return (
        x.element_size(), x.untyped_storage().nbytes(), x.view(torch.int16).tolist(),
        shown(torch.tensor([16320, 16448], dtype=torch.int16).view(torch.bfloat16)),
        shown(copy.deepcopy(x)), shown(pickle.loads(pickle.dumps(x))), shown(loaded["x"]),
        [str(v.dtype) for v in loaded["state"].values()], pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16,
    )  # fmt: skip


@differential
def test_random_numbers(torch: Any) -> Any:
    """Streams give PyTorch's numbers, rounded."""
    b = torch.bfloat16
    draws: list[Callable[[], Any]] = [
        lambda: torch.rand(20, dtype=b),
        lambda: torch.randint(0, 9, (8,), dtype=b),
        lambda: torch.zeros(8, dtype=b).uniform_(-1, 1),
        lambda: torch.bernoulli(torch.full((8,), 0.5, dtype=b)),
        lambda: torch.nn.functional.dropout(torch.ones(8, dtype=b)),
        lambda: torch.zeros(8, dtype=b).random_(),
        lambda: torch.nn.init.kaiming_uniform_(torch.empty(3, 3, dtype=b)),
        lambda: torch.randn(8, dtype=b),
        lambda: torch.randn(20, dtype=b),
        lambda: torch.zeros(8, dtype=b).exponential_(),
    ]
    found = []
    for draw in draws:
        torch.manual_seed(3)
        found.append(shown(draw()))
    return found


# -- operators

COMPOSED = {
    "arctan2", "atan2", "batch_norm", "native_batch_norm", "_native_batch_norm_legit", "instance_norm",
    "nn.functional.batch_norm", "nn.functional.instance_norm", "nn.functional.layer_norm", "nn.functional.group_norm",
    "layer_norm", "group_norm", "native_layer_norm", "native_group_norm",
    "nn.functional.softmax", "nn.functional.softmin", "softmax", "special.softmax", "sinc", "special.entr", "xlogy",
    "special.xlogy", "igamma", "igammac", "special.gammainc", "special.gammaincc",
    "nn.functional.binary_cross_entropy_with_logits", "nn.functional.scaled_dot_product_attention",
}  # fmt: skip
"""Their gradients are differences of near numbers, each of which PyTorch rounds; ours are rounded once."""
OTHERWISE = {
    "matrix_exp", "linalg.matrix_exp", "_softmax_backward_data", "_log_softmax_backward_data", "as_strided_scatter",
    "_unsafe_masked_index_put_accumulate", "histc", "vander", "linalg.vander", "special.logit", "scatter",
    "scatter_add", "special.i1", "special.i1e", "nn.functional.grid_sample", "grid_sampler",
}  # fmt: skip
"""Samples that PyTorch computes wrong, refuses the gradient of, or rounds in the midst, or that name another dtype."""


def _in_bfloat16(engine: Any, value: Any, leaves: list[Any], grad: bool = True) -> Any:
    if isinstance(value, Const):
        return _in_bfloat16(engine, value.array, leaves, False)
    if isinstance(value, Dtype):
        return getattr(engine, value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        t = tensors_for(engine, Const(value), [], grad=False)
        if t.dtype.is_floating_point:
            t = t.to(engine.bfloat16)
            if grad:
                leaves.append(t.requires_grad_())
        return t
    if isinstance(value, (list, tuple)):
        return type(value)([_in_bfloat16(engine, entry, leaves, grad) for entry in value])
    return value


def _outcome(engine: Any, sample: Sample) -> Any:
    """Results and gradients of a sample, or the error."""
    leaves: list[Any] = []
    args = _in_bfloat16(engine, list(sample.args), leaves)
    kwargs = {name: _in_bfloat16(engine, value, leaves) for name, value in sample.kwargs.items()}
    engine.manual_seed(0)
    try:
        return _results(engine, function_of(engine, sample)(*args, **kwargs), leaves if sample.grad else [])
    except Exception as error:
        return error


def _results(engine: Any, found: Any, leaves: list[Any]) -> Any:
    results = [t for t in (found if isinstance(found, (tuple, list)) else [found]) if hasattr(t, "requires_grad")]
    made = [(str(t.dtype), tuple(t.shape), numbers(t)) for t in results]
    roots = [t for t in results if t.requires_grad]
    if not roots or not leaves:
        return made, []
    seeds = [engine.ones_like(t) for t in roots]
    grads = engine.autograd.grad(roots, leaves, seeds, allow_unused=True)
    return made, [g if g is None else (str(g.dtype), tuple(g.shape), numbers(g)) for g in grads]


def _near(wanted: Any, found: Any, rounding: float) -> bool:
    if wanted is None or found is None or wanted[:2] != found[:2]:
        return wanted is found
    finite = np.abs(wanted[2][np.isfinite(wanted[2])])
    scale = finite.max(initial=0.0)
    return bool(np.isclose(found[2], wanted[2], rtol=rounding, atol=rounding * scale, equal_nan=True).all())


def _elsewhere(name: str) -> bool:
    """Whether a sample is of sparse tensors, or of random numbers, which have tests of their own."""
    return any(word in name for word in ("sparse", "random", "to_dense", "hspmm", "smm", "sspaddmm"))


def _samples() -> list[Sample]:
    """The first sample of each name, and those of other forms of a few."""
    first = {sample.name: sample for sample in reversed(all_samples())}
    return [s for name, s in first.items() if name not in OTHERWISE and not _elsewhere(name)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_operators(part: int) -> None:
    """Every operator gives PyTorch's dtypes, its numbers to one rounding and its gradients to two, or refuses, too."""
    torch = pytest.importorskip("torch")
    wrong: dict[str, Any] = {}
    for sample in _samples()[part::4]:
        theirs, ours = _outcome(torch, sample), _outcome(retrograd, sample)
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            if not (isinstance(theirs, Exception) and isinstance(ours, Exception)) and sample.name not in TAKEN:
                wrong[sample.name] = (theirs, ours)
            continue
        if not all(_near(a, b, 2**-7) for a, b in zip(theirs[0], ours[0], strict=True)):
            wrong[sample.name] = (theirs[0], ours[0])
        if sample.name not in COMPOSED and not all(
            _near(a, b, 2**-6) for a, b in zip(*(theirs[1], ours[1]), strict=True)
        ):
            wrong[f"gradient of {sample.name}"] = (theirs[1], ours[1])
    assert not wrong


TAKEN = {
    "cholesky_inverse", "cholesky_inverse of a triangle", "cholesky_inverse of an upper triangle", "cholesky_solve",
    "geqrf", "linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve", "linalg.solve_triangular",
    "triangular_solve", "stft", "nn.functional.affine_grid", "nn.functional.interpolate", "nn.functional.grouped_mm",
}  # fmt: skip
"""What PyTorch has no kernel for in bfloat16, and is computed here."""


@differential
def test_sums_do_not_stop_at_256(torch: Any) -> Any:
    """What is added up is rounded once: PyTorch's reductions, running sums, products, norms and means."""
    b = torch.bfloat16
    ones, tenths = torch.ones(1000, dtype=b), torch.full((1000,), 0.1, dtype=b)
    rows = torch.ones(600, 3, dtype=b)
    return [shown(t) for t in (ones.sum(), tenths.sum(), tenths.mean(), rows.sum(0), rows.mean(0), ones.cumsum(0)[-1],
            ones.norm(), rows.t() @ rows, ones.sum(dtype=torch.float32), torch.arange(9, dtype=b).var(),
            torch.einsum("ij,ik->jk", rows, rows))]  # fmt: skip


# -- training


def _trained(torch: Any, optimizer: Callable[[Any], Any]) -> Any:
    torch.manual_seed(0)
    x = torch.rand(16, 4, dtype=torch.bfloat16)
    y = (x[:, 0] > x[:, 1]).long()
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 2)
    ).bfloat16()
    step = optimizer(model.parameters())
    losses = []
    for _ in range(12):
        step.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        step.step()
        losses.append(loss.item())
    return losses, {str(v.dtype) for v in model.state_dict().values()}, str(model[0].weight.grad.dtype)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_training(name: str) -> None:
    """A classifier trained in bfloat16 loses as in PyTorch, to a few roundings of the loss."""
    torch = pytest.importorskip("torch")
    wanted = _trained(torch, lambda p: getattr(torch.optim, name)(p, lr=0.05))
    found = _trained(retrograd, lambda p: getattr(retrograd.optim, name)(p, lr=0.05))
    np.testing.assert_allclose(found[0], wanted[0], rtol=2**-5)
    assert found[1:] == ({"torch.bfloat16"}, "torch.bfloat16")
    assert wanted[1:] == found[1:]


@differential
def test_gradients_come_in_the_dtype_of_their_leaf(torch: Any) -> Any:
    """Gradients through casts, promoted operands and wider parameters; a gradient of another dtype is refused."""
    b = torch.bfloat16
    x = torch.tensor([1.5, 2.0], dtype=b, requires_grad=True)
    w = torch.tensor([0.5, 3.0], requires_grad=True)
    (x.float() * w).sum().backward()
    (x * w).sum().backward()
    norm = torch.nn.functional.layer_norm(x, (2,), torch.ones(2), torch.zeros(2))
    batch = torch.nn.BatchNorm1d(2)(torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=b))
    return shown(x.grad), shown(w.grad), shown(norm), shown(batch)


@differential
def test_second_order_and_directions(torch: Any) -> Any:
    """Gradients of gradients, Hessians, forward mode and batches."""
    func = __import__(f"{torch.__name__}.func", fromlist=["func"])
    x = torch.tensor([0.5, -1.5], dtype=torch.bfloat16)

    def f(v: Any) -> Any:
        return (v**3).sum()

    leaf = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), leaf)
    return [shown(t) for t in (g, gg, func.hessian(f)(x), *func.jvp(torch.exp, (x,), (torch.ones_like(x),)),
            func.vmap(lambda v: v * v)(x), func.grad(f)(x))]  # fmt: skip


@differential
def test_gradcheck_refuses(torch: Any) -> Any:
    """Finite differences of such numbers are no check."""
    x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    warnings.filterwarnings("ignore", "Input #0 requires gradient")
    return raises("Jacobian mismatch", torch.autograd.gradcheck, lambda v: v * v, (x,))


# -- eight bits


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_eight_bits_are_cast_both_ways(name: str) -> None:
    """Every code means PyTorch's number, and numbers come to its codes, also beyond the range."""
    torch = pytest.importorskip("torch")
    codes = np.arange(256, dtype=np.uint8)
    wanted = torch.from_numpy(codes).view(getattr(torch, name)).float().numpy()
    found = retrograd.from_numpy(codes).view(getattr(retrograd, name)).float().numpy()
    np.testing.assert_array_equal(found, wanted)
    values = np.concatenate([np.linspace(-700, 700, 2801), np.float32([np.inf, -np.inf, 1e9, -1e9, 1e-3, 1e-9, 0.75])])
    for kind in (np.float32, np.float64):
        theirs = torch.from_numpy(values.astype(kind)).to(getattr(torch, name)).float().numpy()
        ours = retrograd.from_numpy(values.astype(kind)).to(getattr(retrograd, name)).float().numpy()
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_eight_bits_are_stored_and_not_computed_with(name: str) -> None:
    """They are copied, viewed, joined, indexed and saved; arithmetic, promotion and random numbers are refused."""
    torch = pytest.importorskip("torch")

    def program(engine: Any) -> Any:
        d = getattr(engine, name)
        x = engine.tensor([1.0, 2.0, 0.25, 4.0]).to(d)
        file = io.BytesIO()
        engine.save(x, file)
        file.seek(0)
        kept = [x.clone(), x.reshape(2, 2).t(), engine.cat([x, x]), engine.stack([x, x]), x[1:3], x[x.float() > 1],
                x.index_select(0, engine.tensor([0])), engine.load(file), x.clone().fill_(2.0), x.repeat(2),
                copy.deepcopy(x), engine.ones(2, dtype=d), x.to(engine.bfloat16), x.view(engine.uint8)]  # fmt: skip
        refused = []
        for call in (lambda: x + x, lambda: x * 2, lambda: -x, x.sum, x.exp, lambda: x < x, x.sort,
                     lambda: engine.promote_types(d, engine.float32), x.numpy, lambda: x.clamp(0, 1),
                     lambda: x + x.float()):  # fmt: skip
            with pytest.raises((RuntimeError, TypeError)) as caught:
                call()
            refused.append(caught.type.__name__)
        leaf = x.clone().requires_grad_()
        leaf.float().sum().backward()
        return [(str(t.dtype), numbers(t).tolist()) for t in kept], refused, str(leaf.grad.dtype), repr(x), x.type()

    assert program(retrograd) == program(torch)


# -- without ml_dtypes


def test_without_ml_dtypes_the_command_is_told() -> None:
    """A program that asks for bfloat16 where ``ml_dtypes`` is not installed gets the command that installs it."""
    program = textwrap.dedent("""
        import sys
        sys.modules["ml_dtypes"] = None
        import retrograd
        assert not hasattr(retrograd, "bfloat16")
        for ask in (lambda: retrograd.bfloat16, lambda: retrograd.ones(2).bfloat16(), lambda: retrograd.float8_e5m2):
            try:
                ask()
            except AttributeError as error:
                print(error)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'retrograd[bfloat16]'") == 3, done.stdout + done.stderr


BY_NUMBERS: dict[str, Any] = {
    "add": lambda t, x, n: x + n, "sub": lambda t, x, n: x - n, "rsub": lambda t, x, n: n - x,
    "mul": lambda t, x, n: x * n, "div": lambda t, x, n: x / n, "reciprocal": lambda t, x, n: n / x,
    "fmod": lambda t, x, n: t.fmod(x, n), "remainder": lambda t, x, n: x % n, "power": lambda t, x, n: abs(x) ** n,
    "trunc": lambda t, x, n: t.div(x, n, rounding_mode="trunc"), "eq": lambda t, x, n: x == n,
    "ge": lambda t, x, n: x >= n, "where": lambda t, x, n: t.where(x > 0, x, n),
    "alpha": lambda t, x, n: t.add(x, x.flip(0), alpha=n), "step": lambda t, x, n: x.clone().sub_(x.flip(0), alpha=n),
    "mul_": lambda t, x, n: x.clone().mul_(n), "div_": lambda t, x, n: x.clone().div_(n),
    "add_": lambda t, x, n: x.clone().add_(n),
    "by one": lambda t, x, n: x * t.tensor(n), "over one": lambda t, x, n: x / t.tensor(n, dtype=t.float64),
    "plus one": lambda t, x, n: x + t.tensor(n), "by one, in place": lambda t, x, n: x.clone().mul_(t.tensor(n)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", BY_NUMBERS)
def test_numbers_beside_narrow_tensors(name: str, dtype: str) -> None:
    """A number, or a tensor of one, is rounded to the narrow dtype first where PyTorch does so; factors are exact."""
    torch = pytest.importorskip("torch")
    values = np.linspace(-9, 9, 1024, dtype=np.float32)
    for number in (1.001, 3.14159, 0.3333):
        made = [
            BY_NUMBERS[name](engine, engine.from_numpy(values).to(getattr(engine, dtype)), number)
            for engine in (torch, retrograd)
        ]
        wanted, found = (t.float().numpy() for t in made)
        np.testing.assert_array_equal(found, wanted)
