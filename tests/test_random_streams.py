"""Random streams from one seed, held against PyTorch's on the CPU: values, and how far the generator has moved."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SIZES = ((0,), (1,), (2,), (15,), (16,), (17,), (31,), (100,), (3, 5), (2, 3, 4))
Draw = Callable[[Any, Any, tuple[int, ...]], Any]


def filled(method: str, *args: Any) -> Draw:
    """A method that overwrites a tensor."""
    return lambda torch, dtype, size: getattr(torch.empty(size, dtype=dtype), method)(*args)


def steps(torch: Any, dtype: Any, size: tuple[int, ...]) -> Any:
    """Numbers around zero, exact in every dtype."""
    return torch.arange(-5, math.prod(size) - 5, dtype=dtype).reshape(size)


def weights(torch: Any, dtype: Any) -> Any:
    return torch.arange(1, 36, dtype=dtype).reshape(5, 7)


EXACT: dict[str, tuple[tuple[str, ...], Draw]] = {
    "rand": ((*FLOATS, "complex64", "complex128"), lambda torch, dtype, size: torch.rand(size, dtype=dtype)),
    "uniform_": (FLOATS, filled("uniform_", -0.3, 0.3)),
    "uniform_, few values": (FLOATS, filled("uniform_", 5, 9)),
    "bernoulli_": ((*FLOATS, *INTEGERS, "bool"), filled("bernoulli_", 0.3)),
    "bernoulli": (FLOATS, lambda torch, dtype, size: torch.bernoulli(torch.full(size, 0.3, dtype=dtype))),
    "bernoulli p": (FLOATS, lambda torch, dtype, size: torch.bernoulli(torch.ones(size, dtype=dtype), 0.3)),
    "bernoulli_ of a tensor": (FLOATS, lambda t, dtype, size: t.empty(size).bernoulli_(t.full(size, 0.3, dtype=dtype))),
    "random_": ((*FLOATS, *INTEGERS, "bool"), filled("random_")),
    "random_ from": (("int64", "int32"), filled("random_", -7, None)),
    "random_ everything": (("int64",), filled("random_", -(2**63), None)),
    "randint": ((*FLOATS, *INTEGERS), lambda torch, dtype, size: torch.randint(1, 9, size, dtype=dtype)),
    "randint, 28 bits": (("int64",), lambda torch, dtype, size: torch.randint(2**28, size, dtype=dtype)),
    "randint, below": (("int64",), lambda torch, dtype, size: torch.randint(2**28 - 1, size, dtype=dtype)),
    "randint, wide": (("int64",), lambda torch, dtype, size: torch.randint(-(2**60), 2**62, size, dtype=dtype)),
    "randint_like": (("float32",), lambda t, dtype, size: t.randint_like(t.empty(size, dtype=dtype), 9)),
    "randperm": (("int64", "int32", "float32"), lambda torch, dtype, size: torch.randperm(size[0], dtype=dtype)),
    "geometric_": ((*FLOATS, *INTEGERS), filled("geometric_", 0.3)),
    "dropout": (FLOATS, lambda t, dtype, size: t.nn.functional.dropout(t.ones(size, dtype=dtype), 0.123)),
    "native_dropout": (FLOATS, lambda t, dtype, size: t.native_dropout(t.ones(size, dtype=dtype), 0.123, True)[0]),
    "dropout2d": (("float32",), lambda t, dtype, size: t.nn.functional.dropout2d(t.ones(2, 9, 2, 2, dtype=dtype), 0.4)),
    "alpha_dropout": (FLOATS, lambda t, dtype, size: t.nn.functional.alpha_dropout(steps(t, dtype, size), 0.4, True)),
    "multinomial": (FLOATS, lambda torch, dtype, size: torch.multinomial(weights(torch, dtype), 4)),
    "multinomial, one": (FLOATS, lambda torch, dtype, size: torch.multinomial(weights(torch, dtype), 1, True)),
    "multinomial, replaced": (FLOATS, lambda torch, dtype, size: torch.multinomial(weights(torch, dtype), 20, True)),
    "make_tensor": (
        ("float32", "float64", "complex64", "int64", "bool"),
        lambda torch, dtype, size: torch.testing.make_tensor(size, dtype=dtype, device="cpu"),
    ),
}
"""Integer arithmetic and exact steps of floats."""

CLOSE: dict[str, tuple[tuple[str, ...], Draw]] = {
    "randn": ((*FLOATS, "complex64", "complex128"), lambda torch, dtype, size: torch.randn(size, dtype=dtype)),
    "normal_": ((*FLOATS, "complex64", "complex128"), filled("normal_", 0.3, 1.7)),
    "normal": (("float32",), lambda torch, dtype, size: torch.normal(0.3, 1.7, size)),
    "normal, means": (FLOATS, lambda torch, dtype, size: torch.normal(steps(torch, dtype, size), 1.7)),
    "normal, deviations": (FLOATS, lambda torch, dtype, size: torch.normal(0.3, steps(torch, dtype, size).abs())),
    "normal, both": (FLOATS, lambda t, dtype, size: t.normal(steps(t, dtype, size), steps(t, dtype, size).abs())),
    "exponential_": (FLOATS, filled("exponential_", 1.5)),
    "cauchy_": (FLOATS, filled("cauchy_", 0.3, 1.5)),
    "log_normal_": (FLOATS, filled("log_normal_", 0.3, 0.5)),
    "rrelu": (FLOATS[1:], lambda t, dtype, size: t.nn.functional.rrelu(steps(t, dtype, size), 0.1, 0.3, True)),
    "gumbel_softmax": (FLOATS[1:], lambda t, dtype, size: t.nn.functional.gumbel_softmax(steps(t, dtype, size) / 100)),
}
"""Logarithms, roots and angles are between the words and the numbers."""


def drawn(torch: Any, seed: int, draw: Callable[[Any], Any]) -> tuple[np.ndarray[Any, Any], bytes]:
    """What a function draws from a seed, and the state of the generator afterwards."""
    torch.manual_seed(seed)
    torch.rand(seed % 7)
    values = draw(torch).detach().resolve_conj().numpy()
    return values, torch.get_rng_state().numpy().tobytes()


def agree(seed: int, draw: Callable[[Any], Any], ulps: int) -> None:
    """Both engines draw the same, up to some units in the last place of the largest number."""
    torch = pytest.importorskip("torch")
    (wanted, state), (found, own_state) = drawn(torch, seed, draw), drawn(retrograd, seed, draw)
    assert own_state == state
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if ulps and wanted.size and wanted.dtype.kind in "fc":
        unit = float(np.finfo(wanted.dtype).eps) * max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=ulps * unit)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", EXACT)
def test_draws_that_are_equal(name: str) -> None:
    """Draws by integer arithmetic have PyTorch's values to the bit, and leave the generator in its state."""
    dtypes, draw = EXACT[name]
    for dtype in dtypes:
        for size in SIZES:
            agree(math.prod(size), lambda torch, d=dtype, s=size: draw(torch, getattr(torch, d), s), 0)


@pytest.mark.parametrize("name", CLOSE)
def test_draws_that_are_close(name: str) -> None:
    """Draws by way of logarithms and angles agree to the last places, and leave the generator in PyTorch's state."""
    dtypes, draw = CLOSE[name]
    for dtype in dtypes:
        for size in SIZES:
            agree(math.prod(size), lambda torch, d=dtype, s=size: draw(torch, getattr(torch, d), s), 4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_many_standard_normal_numbers(dtype: str) -> None:
    """``randn`` of more numbers than are computed at a time has PyTorch's values to the last places."""
    agree(5, lambda engine: engine.randn(20_003, dtype=getattr(engine, dtype)), 4)


@pytest.mark.parametrize("count", [19_999, 20_000, 20_001, 70_000])
def test_permutations_of_many(count: int) -> None:
    """Long permutations are found in another way, with the same result."""
    agree(3, lambda torch: torch.randperm(count), 0)


PROPOSED: dict[str, Callable[[Any, Any], Any]] = {
    "gamma": lambda torch, dtype: torch._standard_gamma(torch.arange(60, dtype=dtype).reshape(6, 10).t() / 8),
    "gamma, few": lambda torch, dtype: torch._standard_gamma(torch.tensor([0.3, 1.0, 2.5], dtype=dtype)),
    "poisson": lambda torch, dtype: torch.poisson(torch.arange(90, dtype=dtype).reshape(9, 10).t() / 3),
    "poisson, few": lambda torch, dtype: torch.poisson(torch.tensor([0.3, 9.9, 10.0, 40.0], dtype=dtype)),
    "binomial": lambda torch, dtype: torch.binomial(
        torch.arange(90, dtype=dtype).reshape(9, 10), torch.arange(90, dtype=dtype).reshape(9, 10).flip(0, 1) / 89
    ),
    "binomial, one": lambda t, dtype: t.binomial(t.tensor([50.0], dtype=dtype), t.tensor([0.7], dtype=dtype)),
}
"""Numbers that are proposed until one is accepted."""


@pytest.mark.parametrize("dtype", FLOATS[1:])
@pytest.mark.parametrize("name", PROPOSED)
def test_draws_by_rejection(name: str, dtype: str) -> None:
    """As many proposals are refused as in PyTorch, with the same numbers accepted, an odd normal number being kept."""
    for seed in range(3):
        agree(seed, lambda torch, s=seed: (torch.randn(s), PROPOSED[name](torch, getattr(torch, dtype)))[1], 4)


DISTRIBUTIONS: dict[str, tuple[Any, ...]] = {
    "Normal": ([0.0, 1.0], [1.0, 2.0]), "Uniform": ([0.0, 1.0], [1.0, 3.0]), "Bernoulli": ([0.3, 0.6],),
    "Categorical": ([0.2, 0.3, 0.5],), "OneHotCategorical": ([0.2, 0.3, 0.5],), "Exponential": ([1.0, 2.0],),
    "Gamma": ([0.5, 2.0], [1.0, 2.0]), "Beta": ([0.5, 2.0], [1.0, 2.0]), "Dirichlet": ([0.5, 2.0, 3.0],),
    "Poisson": ([0.5, 20.0],), "Binomial": ([5.0, 20.0], [0.3, 0.4]), "Geometric": ([0.3, 0.6],),
    "Laplace": ([0.0, 1.0], [1.0, 2.0]), "Gumbel": ([0.0, 1.0], [1.0, 2.0]), "Cauchy": ([0.0, 1.0], [1.0, 2.0]),
    "HalfNormal": ([1.0, 2.0],), "LogNormal": ([0.0, 1.0], [1.0, 2.0]), "StudentT": ([3.0, 4.0],),
    "Chi2": ([3.0, 4.0],), "MultivariateNormal": ([0.0, 1.0], [[1.0, 0.2], [0.2, 1.0]]),
    "RelaxedBernoulli": (0.5, [0.3, 0.6]), "RelaxedOneHotCategorical": (0.5, [0.3, 0.6]),
    "ContinuousBernoulli": ([0.3, 0.6],), "FisherSnedecor": ([3.0, 4.0], [5.0, 9.0]), "HalfCauchy": ([1.0, 2.0],),
    "GeneralizedPareto": ([0.0, 1.0], [1.0, 2.0], [0.2, -0.3]), "InverseGamma": ([3.0, 4.0], [1.0, 2.0]),
    "Kumaraswamy": ([0.5, 2.0], [1.0, 2.0]), "LKJCholesky": (3, [0.5, 2.0]), "LogisticNormal": ([0.0, 1.0], [1.0, 2.0]),
    "LowRankMultivariateNormal": ([0.0, 1.0], [[1.0], [0.2]], [0.5, 0.3]), "Pareto": ([1.0, 2.0], [3.0, 4.0]),
    "VonMises": ([0.0, 1.0], [0.3, 9.0]), "Weibull": ([1.0, 2.0], [3.0, 4.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_of_distributions(name: str) -> None:
    """Distributions draw their samples as PyTorch's do, which for most means the same calls in the same order."""

    def sample(torch: Any, shape: tuple[int, ...]) -> Any:
        return getattr(torch.distributions, name)(*map(torch.tensor, DISTRIBUTIONS[name])).sample(shape)

    for shape in ((), (20,)):
        agree(4, lambda torch, shape=shape: sample(torch, shape), 100)


def test_samples_of_wishart() -> None:
    """Each matrix is drawn a second time, with PyTorch's warning, also where the first was positive definite."""

    def sample(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            drawn = torch.distributions.Wishart(torch.tensor([3.0, 4.0]), torch.eye(2) + 0.1).sample((5,))
        assert "Singular sample detected." in str(caught[0].message)
        return drawn

    agree(4, sample, 100)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "columns": lambda torch: torch.zeros(4, 5).t(),
    "gaps": lambda torch: torch.zeros(6, 10)[:, ::2],
    "channels last": lambda torch: torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    "permuted gaps": lambda torch: torch.zeros(6, 4, 10)[:, 1:3, ::2].permute(2, 0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", ["uniform_", "normal_", "random_", "exponential_", "bernoulli_"])
def test_order_in_memory(layout: str, method: str) -> None:
    """Tensors that do not lie in rows are filled in the order of their memory; normal numbers come in pairs then."""
    agree(1, lambda torch: getattr(LAYOUTS[layout](torch), method)(), 4 if method in ("normal_", "exponential_") else 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_order_in_memory_of_results(layout: str) -> None:
    """New tensors like others, and dropout, draw in the order in which their own elements lie."""
    made: list[Callable[[Any, Any], Any]] = [
        lambda torch, x: torch.rand_like(x),
        lambda torch, x: torch.randint_like(x, 9),
        lambda torch, x: torch.bernoulli(x + 0.5),
        lambda torch, x: torch.nn.functional.dropout(x + 1, 0.25),
    ]
    for make in made:
        agree(1, lambda torch, make=make: make(torch, LAYOUTS[layout](torch)), 0)


CALLS = st.sampled_from([*EXACT, *(name for name in CLOSE if name not in ("rrelu", "gumbel_softmax"))])


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    calls=st.lists(st.tuples(CALLS, st.integers(0, 4), st.integers(0, 40)), max_size=8),
)
def test_calls_one_after_the_other(seed: int, calls: list[tuple[str, int, int]]) -> None:
    """Whatever is drawn before, in whatever order, the next call agrees, for every seed."""
    torch = pytest.importorskip("torch")
    for engine in (torch, retrograd):
        engine.manual_seed(seed)
    for name, choice, count in calls:
        dtypes, draw = (EXACT if name in EXACT else CLOSE)[name]
        dtype = dtypes[choice % len(dtypes)]
        wanted, found = [draw(e, getattr(e, dtype), (count,)).resolve_conj().numpy() for e in (torch, retrograd)]
        tolerance = 0.0 if name in EXACT else 1e-2 if dtype == "float16" else 1e-4
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    assert torch.get_rng_state().numpy().tobytes() == retrograd.get_rng_state().numpy().tobytes()
    assert torch.initial_seed() == retrograd.initial_seed()


def test_states_are_exchanged() -> None:
    """A state that PyTorch wrote goes on here with its numbers, and one of ours there; a kept number goes with it."""
    torch = pytest.importorskip("torch")
    theirs, ours = torch.Generator().manual_seed(11), retrograd.Generator().manual_seed(12)
    torch.randn(3, generator=theirs)
    retrograd.randn(301, generator=ours)
    retrograd.randn(5, generator=ours)
    read = retrograd.Generator()
    read.set_state(retrograd.tensor(theirs.get_state().numpy()))
    given = torch.Generator()
    given.set_state(torch.tensor(ours.get_state().numpy()))
    for mine, other in ((read, theirs), (ours, given)):
        assert retrograd.randn(4, generator=mine).tolist() == torch.randn(4, generator=other).tolist()
        assert mine.initial_seed() == other.initial_seed()
