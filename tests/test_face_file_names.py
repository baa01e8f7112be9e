"""Modules by the names of PyTorch's files: what each offers is what the package above it offers."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from both_engines import assert_agree

torch = pytest.importorskip("torch")

PLACES = """
distributions.beta Beta
distributions.binomial Binomial
distributions.cauchy Cauchy
distributions.chi2 Chi2
distributions.exp_family ExponentialFamily
distributions.fishersnedecor FisherSnedecor
distributions.geometric Geometric
distributions.lowrank_multivariate_normal LowRankMultivariateNormal
distributions.gumbel Gumbel
distributions.half_normal HalfNormal
distributions.laplace Laplace
distributions.log_normal LogNormal
distributions.multinomial Multinomial
distributions.one_hot_categorical OneHotCategorical
distributions.poisson Poisson
distributions.relaxed_bernoulli RelaxedBernoulli
distributions.relaxed_categorical RelaxedOneHotCategorical
distributions.studentT StudentT
distributions.transformed_distribution TransformedDistribution
optim.sgd SGD
optim.adam Adam
optim.adamw AdamW
optim.rmsprop RMSprop
optim.adagrad Adagrad
utils.data.distributed DistributedSampler
utils.data._utils.collate default_collate
"""


@pytest.mark.parametrize("row", PLACES.strip().splitlines())
def test_a_name_in_its_place(row: str) -> None:
    """What a module of PyTorch's offers is the same as what the room offers."""
    path, name = row.split()

    def program(engine: Any) -> Any:
        room = importlib.import_module(f"{engine.__name__}.{path.split('._utils')[0].rpartition('.')[0]}")
        room = importlib.import_module(f"{engine.__name__}.utils.data") if path.startswith("utils") else room
        return getattr(importlib.import_module(f"{engine.__name__}.{path}"), name) is getattr(room, name)

    assert_agree(program)
