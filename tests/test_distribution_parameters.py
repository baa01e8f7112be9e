"""``torch.distributions``: every parameter of every distribution is checked, and named when it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_agree, differential, graph_of

import retrograd

INVALID = """
Bernoulli(minus)
Bernoulli(logits=nan)
Beta(minus, one)
Beta(one, minus)
Binomial(minus, one)
Binomial(2, minus)
Binomial(2, logits=nan)
Categorical(torch.tensor([-1., 3.]))
Categorical(logits=nan)
Cauchy(nan, one)
Cauchy(one, minus)
Chi2(minus)
Dirichlet(minus)
Exponential(minus)
Gamma(minus, one)
Gamma(one, minus)
Geometric(minus)
Geometric(0 * one)
Geometric(logits=nan)
Gumbel(nan, one)
Gumbel(one, minus)
HalfNormal(minus)
Laplace(nan, one)
Laplace(one, minus)
LogNormal(nan, one)
LogNormal(one, minus)
Multinomial(3, torch.tensor([-1., 3.]))
Multinomial(3, logits=nan)
Multinomial(-1, one)
MultivariateNormal(nan, torch.eye(1))
MultivariateNormal(one, -torch.eye(1))
MultivariateNormal(one, precision_matrix=-torch.eye(1))
MultivariateNormal(one, scale_tril=-torch.eye(1))
NegativeBinomial(minus, one / 2)
NegativeBinomial(one, minus)
NegativeBinomial(one, logits=nan)
Normal(nan, one)
Normal(one, minus)
OneHotCategorical(torch.tensor([-1., 3.]))
OneHotCategorical(logits=nan)
OneHotCategoricalStraightThrough(torch.tensor([-1., 3.]))
OneHotCategoricalStraightThrough(logits=nan)
Poisson(minus)
RelaxedBernoulli(one, minus)
RelaxedBernoulli(one, logits=nan)
RelaxedOneHotCategorical(one, torch.tensor([-1., 3.]))
RelaxedOneHotCategorical(one, logits=nan)
StudentT(minus, one, one)
StudentT(one, nan, one)
StudentT(one, one, minus)
Uniform(one, minus)
HalfNormal(minus, validate_args=False)
ContinuousBernoulli(minus)
ContinuousBernoulli(logits=nan)
FisherSnedecor(minus, one)
FisherSnedecor(one, minus)
GeneralizedPareto(nan, one, one)
GeneralizedPareto(one, minus, one)
GeneralizedPareto(one, one, nan)
HalfCauchy(minus)
InverseGamma(minus, one)
InverseGamma(one, minus)
Kumaraswamy(minus, one)
Kumaraswamy(one, minus)
LKJCholesky(3, minus)
LogisticNormal(nan, one)
LogisticNormal(one, minus)
LowRankMultivariateNormal(nan, torch.eye(1), one)
LowRankMultivariateNormal(one, torch.eye(1), minus * 2)
Pareto(minus, one)
Pareto(one, minus)
VonMises(nan, one)
VonMises(one, minus)
Weibull(minus, one)
Weibull(one, minus)
Wishart(minus, torch.eye(1))
Wishart(one, -torch.eye(1))
Wishart(one, precision_matrix=-torch.eye(1))
Wishart(one, scale_tril=-torch.eye(1))
Chi2(minus, validate_args=False)
""".strip().splitlines()


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_parameter(text: str) -> None:
    """The same error about the same parameter (or, without validation, none)."""

    def program(torch: Any) -> Any:
        names = {"minus": torch.tensor([-1.0]), "nan": torch.tensor([float("nan")]), "one": torch.tensor([1.0])}
        try:
            return type(eval(f"torch.distributions.{text}", {"torch": torch, **names})).__name__
        except Exception as error:
            return type(error).__name__, str(error).partition(" of distribution ")[0]

    assert_agree(program)


def test_no_distribution_is_left_out() -> None:
    """Each class with constraints on its parameters stands above."""
    offered = (getattr(retrograd.distributions, name) for name in retrograd.distributions.__all__)
    constrained = {kind.__name__ for kind in offered if getattr(kind, "arg_constraints", None)}
    assert constrained <= {text.partition("(")[0] for text in INVALID}


@differential
def test_graph_of_a_point_of_the_simplex(torch: Any) -> Any:
    """``transform_to(simplex)`` is made of PyTorch's operations, with the same gradients."""
    x = torch.tensor([[0.5, -1.0, 2.0], [0.0, 100.0, 0.0]], requires_grad=True)
    found = torch.distributions.transform_to(torch.distributions.constraints.simplex)(x)
    (found * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return found, graph_of(found.grad_fn), x.grad
