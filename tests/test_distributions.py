"""``torch.distributions``: densities, moments, gradients, divergences, texts and refusals as in PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree, differential

import retrograd

# What makes a distribution of parameters `a` and `b` (positive, below 1), and values of its support.
MADE = {
    "Normal(a, b)": "[[-1., 2.], [0., .3]]",
    "Normal(a, 2)": "[[-1., 2.], [0., .3]]",
    "LogNormal(a, b)": "[[.5, 2.], [1., .3]]",
    "HalfNormal(b)": "[[.5, 2.], [1., 0.]]",
    "Uniform(-a, b)": "[[0., .1], [-.1, -.2]]",
    "Bernoulli(a)": "[[0., 1.], [1., 0.]]",
    "Bernoulli(logits=a)": "[[0., 1.], [1., 0.]]",
    "Geometric(a)": "[[0., 1.], [4., 2.]]",
    "Binomial(3, a)": "[[0., 1.], [3., 2.]]",
    "NegativeBinomial(a * 4, b)": "[[0., 1.], [4., 2.]]",
    "NegativeBinomial(a * 4, logits=b)": "[[0., 1.], [4., 2.]]",
    "Categorical(torch.stack([a, b], -1))": "[[0, 1], [1, 0]]",
    "Categorical(logits=torch.stack([a, b, a * b], -1))": "[[0, 1], [2, 0]]",
    "OneHotCategorical(torch.stack([a, b], -1))": "[[0., 1.], [1., 0.]]",
    "Multinomial(3, torch.stack([a, b], -1))": "[[0., 3.], [1., 2.]]",
    "Exponential(a)": "[[.5, 2.], [1., .3]]",
    "Laplace(a, b)": "[[.5, -2.], [1., .3]]",
    "Gamma(a, b)": "[[.5, 2.], [1., .3]]",
    "Chi2(a)": "[[.5, 2.], [1., .3]]",
    "Poisson(a)": "[[0., 2.], [1., 3.]]",
    "Beta(a, b)": "[[.5, .2], [.1, .3]]",
    "Dirichlet(torch.stack([a, b, a + b], -1))": "[[.5, .2, .3], [.1, .3, .6]]",
    "Cauchy(a, b)": "[[.5, -2.], [1., .3]]",
    "Gumbel(a, b)": "[[.5, .2], [1., .3]]",
    "StudentT(a + 2, a, b)": "[[.5, -2.], [1., .3]]",
    "MultivariateNormal(a, torch.diag(b) + .1)": "[[.5, -2.], [1., .3]]",
    "MultivariateNormal(a, precision_matrix=torch.diag(b) + .1)": "[[.5, -2.], [1., .3]]",
    "MultivariateNormal(a, scale_tril=torch.diag(b))": "[[.5, -2.], [1., .3]]",
    "Independent(Normal(a, b), 1)": "[[.5, -2.], [1., .3]]",
    "TransformedDistribution(Normal(a, b), [ExpTransform(), AffineTransform(1., 2.)])": "[[1.5, 2.], [5., 1.3]]",
    "TransformedDistribution(Uniform(a * 0, b), [SigmoidTransform().inv])": "[[-1., -2.], [-.5, -1.]]",
    "TransformedDistribution(Normal(a, b), TanhTransform())": "[[.1, -.2], [.5, -.9]]",
    "TransformedDistribution(Normal(a, b), StickBreakingTransform())": "[[.1, .2, .7], [.5, .2, .3]]",
    "RelaxedBernoulli(torch.tensor(.5), a)": "[[.1, .2], [.5, .9]]",
    "RelaxedOneHotCategorical(torch.tensor(.5), torch.stack([a, b], -1))": "[[.1, .9], [.5, .5]]",
    "MixtureSameFamily(Categorical(a), Normal(a, b))": "[.1, .9]",
    "ContinuousBernoulli(a.double())": "[[.5, .2], [0., 1.]]",
    "ContinuousBernoulli(logits=a - .2)": "[[.5, .2], [.1, .3]]",
    "FisherSnedecor(a.double() * 9, b * 20)": "[[.5, 2.], [1., .3]]",
    "GeneralizedPareto(a, b, a - .2)": "[[.5, 2.], [1., .7]]",
    "GeneralizedPareto(a, b, -a)": "[[.5, 1.2], [1., .7]]",
    "HalfCauchy(a)": "[[.5, 2.], [1., 0.]]",
    "InverseGamma(a * 4, b)": "[[.5, 2.], [1., .3]]",
    "Kumaraswamy(a, b)": "[[.5, .2], [.1, .3]]",
    "LKJCholesky(2, a)": "[[1., 0.], [.6, .8]]",
    "LogisticNormal(a, b)": "[[.5, .2, .3], [.1, .3, .6]]",
    "LowRankMultivariateNormal(a, torch.stack([a, b, a * b], -1), b)": "[[.5, -2.], [1., .3]]",
    "LowRankMultivariateNormal(torch.stack([a, b]), a.unsqueeze(-1), b)": "[[.5, -2.], [1., .3]]",
    "Pareto(a, b + 2)": "[[.5, 2.], [1., .7]]",
    "VonMises(a, b * 9)": "[[.5, -2.], [1., .3]]",
    "Weibull(a, b + 1)": "[[.5, 2.], [1., .3]]",
    "Wishart(b + 2, torch.diag(b) + .1)": "[[2., .5], [.5, 1.]]",
    "Wishart(b[0] + 2, scale_tril=torch.diag(b))": "[[2., .5], [.5, 1.]]",
    "Wishart(b[0] + 2, precision_matrix=torch.diag(b) + .1)": "[[2., .5], [.5, 1.]]",
    "TransformedDistribution(Normal(a, b), [AffineTransform(0., 2.), StickBreakingTransform()])": "[.1, .2, .7]",
    "TransformedDistribution(Normal(a[0], b[0]), [AffineTransform(a, b)])": "[[.5, -2.], [1., .3]]",
    "TransformedDistribution(Normal(a, b), CumulativeDistributionTransform(Normal(0., 2.)))": "[[.5, .2], [.1, .3]]",
    "TransformedDistribution(Normal(a, b), ReshapeTransform((2,), (2, 1)))": "[[[.5], [.2]], [[.1], [.3]]]",
}


def made(torch: Any, text: str, dtype: str = "float32") -> tuple[Any, Any, Any]:
    """A distribution and its parameters."""
    given = ([0.2, 0.6], [0.9, 0.4])
    a, b = (torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=True) for values in given)
    names = {name: getattr(torch.distributions, name) for name in dir(torch.distributions)}
    return eval(text, {**names, "torch": torch, "a": a, "b": b}), a, b


@pytest.mark.parametrize("text", MADE)
def test_a_distribution(text: str) -> None:
    """Texts, shapes, moments, density, distribution function, entropy, and their gradients."""

    def program(torch: Any) -> Any:
        d, a, b = made(torch, text)
        seen: list[Any] = [repr(d), tuple(d.batch_shape), tuple(d.event_shape), d.has_rsample, repr(d.support)]
        wider = d.expand(torch.Size([3, *d.batch_shape]))
        value = torch.tensor(eval(MADE[text]))
        for name in ("mean", "variance", "stddev", "mode", "entropy", "cdf", "icdf", "log_prob"):
            try:
                found = getattr(d, name)
                if callable(found):
                    found = (
                        found()
                        if name == "entropy"
                        else found(torch.full_like(value, 0.3) if name == "icdf" else value)
                    )
                seen += [name, found.detach()]
                if found.requires_grad and name not in ("mode", "stddev"):
                    seen.append(torch.autograd.grad(found.sum(), [a, b], retain_graph=True, allow_unused=True))
            except NotImplementedError:
                seen += [name, "none"]
        drawn = d.sample((4,))
        return [*seen, wider.log_prob(value[0]).detach(), tuple(wider.sample((2,)).shape), tuple(drawn.shape),
                drawn.dtype, drawn.requires_grad, d.rsample().requires_grad if d.has_rsample else None]  # fmt: skip

    assert_agree(program)


DIVERGENCES = """
Normal(a, b) | Normal(b, a)
LogNormal(a, b) | LogNormal(b, a)
HalfNormal(a) | HalfNormal(b)
Uniform(a, a + 1) | Uniform(a - 1, a + b + 2)
Uniform(a, a + 1) | Normal(b, a)
Normal(b, a) | Uniform(a, a + 1)
Bernoulli(a) | Bernoulli(logits=b)
Bernoulli(a) | Bernoulli(torch.tensor([0., 1.]))
Geometric(a) | Geometric(b)
Binomial(3, a) | Binomial(3, b)
Categorical(a) | Categorical(b)
OneHotCategorical(a) | OneHotCategorical(b)
Exponential(a) | Exponential(b)
Exponential(a) | Gamma(a, b)
Gamma(a, b) | Gamma(b, a)
Gamma(a, b) | Exponential(b)
Chi2(a) | Gamma(a, b)
Laplace(a, b) | Laplace(b, a)
Poisson(a) | Poisson(b)
Beta(a, b) | Beta(b, a)
Dirichlet(a) | Dirichlet(b)
MultivariateNormal(a, torch.diag(b)) | MultivariateNormal(b, torch.diag(a) + .1)
Independent(Normal(a, b), 1) | Independent(Normal(b, a), 1)
TransformedDistribution(Normal(a, b), ExpTransform()) | TransformedDistribution(Normal(b, a), ExpTransform())
Normal(a, b) | Categorical(a)
Cauchy(a, b) | Cauchy(b, a)
Gumbel(a, b) | Gumbel(b, a)
ContinuousBernoulli(a.double()) | ContinuousBernoulli(logits=b.double())
Pareto(a, b) | Pareto(b, a)
Wishart(b + 2, torch.diag(b)) | Wishart(a + 2, torch.diag(a))
Wishart(b[0] + 2, torch.diag(b)) | Wishart(a[0] + 2, torch.diag(a))
LowRankMultivariateNormal(a, a.unsqueeze(-1), b) | LowRankMultivariateNormal(b, b.unsqueeze(-1), a)
LowRankMultivariateNormal(a, a.unsqueeze(-1), b) | MultivariateNormal(b, torch.diag(a) + .1)
MultivariateNormal(a, torch.diag(b) + .1) | LowRankMultivariateNormal(b, b.unsqueeze(-1), a)
Bernoulli(a) | Poisson(b)
Poisson(b) | Bernoulli(a)
Normal(a, b) | Laplace(b, a)
Uniform(a * 0 + 1, b + 2) | Pareto(a + .3, b)
Pareto(b, a * 4) | Exponential(a)
Pareto(b, a * 4) | Gamma(a, b)
Pareto(b, a * 6) | Normal(a, b)
Uniform(a / 2, b + .1) | Beta(a, b)
Uniform(a / 2, b * 0 + 1) | ContinuousBernoulli(b)
Uniform(a / 2, b) | ContinuousBernoulli(b)
Uniform(a - .3, b + .5) | Gamma(a, b)
Uniform(a - .3, b + .5) | Exponential(a)
Beta(a, b) | Uniform(a - .5, b + .5)
ContinuousBernoulli(a) | Uniform(a - .5, b + .5)
"""


@pytest.mark.parametrize("pair", DIVERGENCES.strip().splitlines())
def test_divergences(pair: str) -> None:
    """``kl_divergence`` and its gradients."""

    def program(torch: Any) -> Any:
        both, a, b = made(torch, f"({pair.replace('|', ',')})")
        found = torch.distributions.kl_divergence(*both)
        return found.detach(), torch.autograd.grad(found.sum(), [a, b], allow_unused=True)

    assert_agree(program, phrase="is implemented for" if "Categorical" in pair.split("|")[1] and "Norm" in pair else "")


@pytest.mark.parametrize("second", ["Normal(b, a)", "Gumbel(b, a)", "Exponential(a)", "Gamma(b, a)", "Beta(a, b)",
                                    "ContinuousBernoulli(b)", "Pareto(b, a)", "Uniform(a, b + 1)"])  # fmt: skip
def test_divergences_of_families(second: str) -> None:
    """Those for which PyTorch has a rule have its values and gradients, finite or not; the others are refused."""
    firsts = ("Beta(a, b)", "ContinuousBernoulli(a)", "Exponential(a)", "Gamma(a, b)", "Gumbel(a, b)", "Laplace(a, b)",
              "Normal(a, b)", "Uniform(a, a + 1)", "Pareto(a, b + 2)")  # fmt: skip

    def program(torch: Any) -> Any:
        seen: list[Any] = []
        for first in firsts:
            both, a, b = made(torch, f"({first}, {second})", "float64")
            try:
                found = torch.distributions.kl_divergence(*both)
            except NotImplementedError:
                seen += [first, "none"]
                continue
            seen += [first, found.detach()]
            if bool(found.isfinite().all()):
                seen.append(torch.autograd.grad(found.sum(), [a, b], allow_unused=True))
        return seen

    assert_agree(program)


@differential
def test_an_exponential_family(torch: Any) -> Any:
    """Entropy and divergence of a user's family follow from its log normalizer, with gradients."""

    class Waiting(torch.distributions.ExponentialFamily):
        arg_constraints: dict[str, Any] = {}
        _mean_carrier_measure = 0

        def __init__(self, rate: Any) -> None:
            self.rate = rate
            super().__init__(rate.shape)

        _natural_params = property(lambda self: (-self.rate,))

        def _log_normalizer(self, x: Any) -> Any:
            return -torch.log(-x)

    rate = torch.tensor([0.5, 2.0], requires_grad=True)
    one, other = Waiting(rate), Waiting(torch.tensor([1.0, 3.0], requires_grad=True))
    divergence = torch.distributions.kl_divergence(one, other)
    return one.entropy().detach(), divergence.detach(), torch.autograd.grad(divergence.sum(), other.rate)


REFUSED = """
Normal(a, -b)
Normal(0., -1.)
Bernoulli(a + 1)
Bernoulli()
Bernoulli(a, b)
Uniform(1., 0.)
Uniform(b, a)
Categorical(torch.tensor(.5))
Categorical(-a)
MultivariateNormal(a, torch.tensor([[1., 2.], [2., 1.]]))
MultivariateNormal(a)
Gamma(-a, b)
Dirichlet(-a)
Normal('a', 1.)
Normal(a, torch.ones(3))
Normal(a, b).log_prob(1.)
Normal(a, b).log_prob(a / 0 - a / 0)
Normal(a, b).log_prob(torch.ones(3))
MultivariateNormal(a, torch.eye(2)).log_prob(torch.ones(3))
Bernoulli(a).log_prob(a)
Categorical(a).log_prob(torch.tensor(3))
Independent(Normal(a, b), 2)
Normal(a, b).mean_of
MixtureSameFamily(Normal(a, b), Normal(a, b))
TransformedDistribution(Normal(a, b), [3])
Poisson(a).rsample()
Normal(0., 1., validate_args=False).log_prob(torch.tensor(float('inf')))
LKJCholesky(1)
Wishart(torch.tensor(1.), torch.eye(2))
Wishart(torch.tensor(3.))
Wishart(torch.tensor(3.), torch.ones(2))
LowRankMultivariateNormal(a, a, b)
LowRankMultivariateNormal(a, torch.ones(3, 1), b)
LowRankMultivariateNormal(a, torch.ones(2, 1), torch.ones(3))
LowRankMultivariateNormal(torch.tensor(1.), torch.ones(2, 1), b)
LowRankMultivariateNormal(torch.ones(3, 2), torch.ones(4, 2, 1), b)
Pareto(a, b).log_prob(a / 2)
ContinuousBernoulli()
ContinuousBernoulli(a + 1, validate_args=True)
ReshapeTransform((2, 3), (5,))
CorrCholeskyTransform().forward_shape((2,))
CorrCholeskyTransform().inverse_shape((2, 3))
"""


@pytest.mark.parametrize("text", REFUSED.strip().splitlines())
def test_refusals(text: str) -> None:
    """The same errors in the same words (or, without validation, the same values)."""

    def program(torch: Any) -> Any:
        try:
            return made(torch, text)[0].detach()
        except Exception as error:
            return type(error).__name__, str(error)

    assert_agree(program)


# Those without moments, or with heavy tails, or slow to draw: test_random_streams.py has them.
STREAMED = ("FisherS", "General", "HalfC", "InverseG", "LKJ", "Logistic", "Pareto", "VonM", "Wish", "LowRank", "Cont",
            "Kumar", "Weib")  # fmt: skip


def draws(torch: Any, text: str) -> tuple[Any, Any]:
    """A distribution and 20,000 samples from a fixed seed."""
    torch.manual_seed(3)
    d = made(torch, text)[0]
    return d, (d.rsample if d.has_rsample else d.sample)((20_000,)).detach().double()


@pytest.mark.parametrize(
    "text", [t for t in MADE if not t.startswith(("Cauchy", "Transf", "Relaxed", "Categ", "Chi2", *STREAMED))]
)
def test_samples_have_the_mean_and_variance(text: str) -> None:
    """Within six standard errors, from one seed."""
    d, x = draws(retrograd, text)
    mean, variance = d.mean.detach().double(), d.variance.detach().double()
    error = (variance / 20_000).sqrt()
    assert bool(((x.mean(0) - mean).abs() <= 6 * error).all())
    if not text.startswith(("StudentT", "LogNormal")):  # whose fourth moments are large or none
        assert bool((x.var(0) / variance - 1).abs().max() < 0.15)


def test_categories_are_drawn_by_their_weights() -> None:
    """Frequencies within six standard errors."""
    d, x = draws(retrograd, "Categorical(torch.stack([a, b, a * b], -1))")
    p = d.probs[0].detach().numpy()
    found = np.bincount(x[:, 0].long().numpy(), minlength=3) / 20_000
    assert np.all(np.abs(found - p) < 6 * np.sqrt(p * (1 - p) / 20_000))


def test_the_gradient_of_gamma_samples() -> None:
    """As PyTorch's, whose polynomials are good to about three digits."""
    torch = pytest.importorskip("torch")

    def slope(engine: Any) -> Any:
        a = engine.tensor([0.01, 0.1, 0.5, 1.0, 3.0, 30.0, 300.0], dtype=engine.float64)
        x = a * engine.tensor([[0.2], [1.0], [1.7]], dtype=engine.float64)
        return engine._standard_gamma_grad(a.expand(3, -1), x).numpy()

    np.testing.assert_allclose(slope(retrograd), slope(torch), rtol=2e-3)


def test_the_gradient_of_many_gamma_samples() -> None:
    """Near the mean of large concentrations; PyTorch's expansion is good to four digits there."""
    torch = pytest.importorskip("torch")

    def slope(engine: Any) -> Any:
        a = engine.tensor([1e3, 9e3, 1.1e4, 1e5, 1e6], dtype=engine.float64)
        x = a + a.sqrt() * engine.tensor([[-3.0], [-1.0], [0.0], [0.5], [3.0]], dtype=engine.float64)
        return engine._standard_gamma_grad(a.expand(5, -1), x).numpy()

    np.testing.assert_allclose(slope(retrograd), slope(torch), rtol=1e-4)


@differential
def test_small_concentrations_rarely_draw_the_middle(torch: Any) -> Any:
    """Gamma numbers below what single precision holds still say which of both is larger."""
    torch.manual_seed(0)
    c = torch.tensor(0.01, requires_grad=True)
    drawn = torch.distributions.Beta(c, c).rsample((5_000,))
    (slope,) = torch.autograd.grad(drawn.sum(), c)
    middle, low = ((drawn == 0.5).float().mean(), (drawn < 0.5).float().mean())
    return drawn.dtype, slope.dtype, bool(slope.isfinite()), bool(middle < 1e-3), bool((low - 0.5).abs() < 0.05)


@differential
def test_maps(torch: Any) -> Any:
    """There, back, and the determinant; what ``biject_to`` and ``transform_to`` choose."""
    c, t, x = torch.distributions.constraints, torch.distributions.transforms, torch.tensor([[0.3, -1.2, 2.0]])
    seen = []
    for constraint in (c.real, c.positive, c.unit_interval, c.interval(-1, 3), c.less_than(2.0), c.greater_than(1.0),
                       c.simplex, c.real_vector, c.half_open_interval(0.0, 2.0)):  # fmt: skip
        for chosen in (torch.distributions.biject_to, torch.distributions.transform_to):
            f = chosen(constraint)
            y = f(x)
            seen += [y, constraint.check(y), f.inv(y).shape]
    for f in (t.ExpTransform(), t.SigmoidTransform(), t.TanhTransform(), t.SoftplusTransform(), t.PowerTransform(2.0),
              t.AffineTransform(1.0, -2.0), t.ComposeTransform([t.AffineTransform(0.0, 0.5), t.SigmoidTransform()]),
              t.IndependentTransform(t.ExpTransform(), 1), t.StickBreakingTransform(),
              t.ExpTransform().inv):  # fmt: skip
        y = f(x.abs())
        seen += [y, f.inv(y), f.log_abs_det_jacobian(x.abs(), y), f.bijective]
    return seen


@differential
def test_maps_into_matrices_and_parts(torch: Any) -> Any:
    """There, back, shapes and determinant of the maps that treat several numbers together."""
    c, t = torch.distributions.constraints, torch.distributions.transforms
    x, square = torch.tensor([[0.3, -1.2, 2.0]]), torch.tensor([[0.5, -1.0], [2.0, 0.3]])
    seen: list[Any] = []
    exp, halve = t.ExpTransform(), t.AffineTransform(1.0, 0.5)
    for f, given in ((t.CorrCholeskyTransform(), x), (t.ReshapeTransform((3,), (3, 1)), x),
                     (t.CatTransform([exp, halve], -1, [1, 2]), x), (t.CatTransform([exp, exp, halve], 1), x),
                     (t.StackTransform([exp, halve, exp], dim=1), x), (t.ComposeTransform([halve, exp]), x),
                     (t.ComposeTransform([halve, t.StickBreakingTransform()]), x),
                     (t.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0)), x)):  # fmt: skip
        y = f(given)
        seen += [y, f.inv(y), f.log_abs_det_jacobian(given, y), f.bijective, f.domain.event_dim, f.codomain.event_dim]
        seen += [tuple(f.forward_shape(given.shape)), tuple(f.inverse_shape(y.shape)), bool(f.codomain.check(y).all())]
    for f in (t.LowerCholeskyTransform(), t.PositiveDefiniteTransform()):
        seen += [f(square), f.inv(f(square)), f == type(f)(), bool(f.codomain.check(f(square)).all())]
    for constraint in (c.corr_cholesky, c.positive_definite, c.lower_cholesky, c.cat([c.real, c.positive], 1, [1, 2]),
                       c.stack([c.real, c.positive, c.unit_interval], 1)):  # fmt: skip
        given = square if constraint.event_dim == 2 and constraint is not c.corr_cholesky else x
        y = torch.distributions.transform_to(constraint)(given)
        seen += [y, constraint.check(y), constraint.event_dim, constraint.is_discrete]
    seen += [c.symmetric.check(square), c.positive_semidefinite.check(square @ square.mT), c.square.check(x.mT)]
    return seen


@differential
def test_maps_that_remember(torch: Any) -> Any:
    """``with_cache`` makes a map that gives back what a result came from; equal maps are equal."""
    t = torch.distributions.transforms
    x = torch.tensor([50.0, -3.0])
    seen: list[Any] = []
    for f in (t.TanhTransform(), t.ComposeTransform([t.TanhTransform(), t.ExpTransform()])):
        kept = f.with_cache()
        seen += [kept.inv(kept(x)) is x, kept.with_cache() is kept, f.with_cache(0) is f]
    return [*seen, t.PowerTransform(torch.tensor(2.0)) == t.PowerTransform(2.0),
            t.AffineTransform(0, 1) == t.AffineTransform(0, 1),
            t.AffineTransform(0, 1) == t.AffineTransform(0, 2)]  # fmt: skip


def test_probabilities_and_log_odds() -> None:
    """``torch.distributions.utils``."""

    def program(engine: Any) -> Any:
        utils = importlib.import_module(f"{engine.__name__}.distributions.utils")
        probs, logits = engine.tensor([0.2, 0.8]), engine.tensor([0.5, -1.0])
        return [
            utils.probs_to_logits(probs), utils.probs_to_logits(probs, is_binary=True), utils.logits_to_probs(logits),
            utils.logits_to_probs(logits, is_binary=True), utils.clamp_probs(engine.tensor([0.0, 1.0])),
        ]  # fmt: skip

    assert_agree(program)


def test_one_file_a_family_found_by_listing() -> None:
    """Every class that a file offers is in the face."""
    assert {"Normal", "Categorical", "Dirichlet", "MixtureSameFamily"} <= set(retrograd.distributions.__all__)


@differential
def test_parameters_worked_out_unrecorded_have_gradients(torch: Any) -> Any:
    """Probabilities that a sample, drawn without recording, was the first to need can still be differentiated."""
    d = torch.distributions
    x, m = torch.tensor([0.3, -0.2], requires_grad=True), torch.eye(2).requires_grad_()
    made = [d.Bernoulli(logits=x), d.Categorical(logits=x), d.ContinuousBernoulli(logits=x)]
    with torch.no_grad():
        early = [one.probs for one in made]
    normal = d.MultivariateNormal(torch.zeros(2), scale_tril=m)
    with torch.no_grad():
        covariance = normal.covariance_matrix
    sum(p.sum() for p in (*early, covariance)).backward()
    return [p.requires_grad for p in early], x.grad, m.grad, type(torch.distributions.utils.lazy_property(len)).__name__
