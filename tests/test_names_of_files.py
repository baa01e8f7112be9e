"""Modules by the names that they have in PyTorch, and the share of one of several processes."""

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


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_share_of_a_process(drop_last: bool, shuffle: bool) -> None:
    """Every sample goes to one process; short ends are filled from the beginning, or left out; epochs differ."""

    def program(engine: Any) -> Any:
        shares: list[Any] = []
        for rank in range(3):
            sampler = engine.utils.data.DistributedSampler(range(10), 3, rank, shuffle, seed=5, drop_last=drop_last)
            shares += [list(sampler), len(sampler)]
            sampler.set_epoch(2)
            shares.append(list(sampler))
        return [*shares, list(engine.utils.data.DistributedSampler(range(2), 5, 4, shuffle=False))]

    assert_agree(program)


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
