"""PyTorch's modules of few names, whose classes are in larger files here: ``optim.sgd`` in ``optim.descent``."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Final

HOMES: Final = {
    "optim": {
        "adadelta": ("adaptive", "Adadelta"),
        "adagrad": ("adaptive", "Adagrad"),
        "adamax": ("adam", "Adamax"),
        "adamw": ("adam", "AdamW"),
        "asgd": ("descent", "ASGD"),
        "nadam": ("adam", "NAdam"),
        "radam": ("adam", "RAdam"),
        "rmsprop": ("adaptive", "RMSprop"),
        "rprop": ("descent", "Rprop"),
        "sgd": ("descent", "SGD"),
        "sparse_adam": ("adam", "SparseAdam"),
    },
    "nn.modules": {
        "channelshuffle": ("shaping", "ChannelShuffle"),
        "distance": ("shaping", "CosineSimilarity PairwiseDistance"),
        "flatten": ("shaping", "Flatten Unflatten"),
        "fold": ("shaping", "Fold Unfold"),
        "instancenorm": ("normalization", "InstanceNorm1d InstanceNorm2d InstanceNorm3d _InstanceNorm"),
        "pixelshuffle": ("shaping", "PixelShuffle PixelUnshuffle"),
        "upsampling": ("shaping", "Upsample UpsamplingBilinear2d UpsamplingNearest2d"),
    },
    "distributions": {
        "beta": ("dirichlet", "Beta"),
        "binomial": ("bernoulli", "Binomial"),
        "cauchy": ("heavy_tails", "Cauchy"),
        "chi2": ("gamma", "Chi2"),
        "geometric": ("bernoulli", "Geometric"),
        "gumbel": ("heavy_tails", "Gumbel"),
        "half_normal": ("normal", "HalfNormal"),
        "laplace": ("exponential", "Laplace"),
        "log_normal": ("normal", "LogNormal"),
        "multinomial": ("categorical", "Multinomial"),
        "one_hot_categorical": ("categorical", "OneHotCategorical"),
        "poisson": ("gamma", "Poisson"),
        "relaxed_bernoulli": ("relaxed", "RelaxedBernoulli"),
        "relaxed_categorical": ("relaxed", "RelaxedOneHotCategorical"),
        "studentT": ("heavy_tails", "StudentT"),
        "transformed_distribution": ("transformed", "TransformedDistribution"),
    },
}
"""Package -> PyTorch's module in it -> the file that has its names, and the names."""


def add_modules(package: str) -> None:
    """Let a package have PyTorch's modules that are listed for it: as attributes, and for ``import``."""
    for name, (home, names) in HOMES[package.partition(".")[2]].items():
        full = f"{package}.{name}"
        made = sys.modules[full] = module_from_spec(ModuleSpec(full, None))
        made.__doc__ = f"``torch.{full.partition('.')[2]}``: re-exports only."
        found = importlib.import_module(f"{package}.{home}")
        made.__file__ = found.__file__  # where the source of its classes is found
        made.__dict__.update({each: getattr(found, each) for each in names.split()}, __all__=names.split())
        setattr(sys.modules[package], name, made)
