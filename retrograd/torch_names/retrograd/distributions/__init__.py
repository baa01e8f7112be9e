"""``torch.distributions``: probability distributions as objects, with gradients.

A distribution is one file here that offers its classes by name in ``DISTRIBUTIONS``; rules of ``kl_divergence`` stand
beside the first of the two distributions that they compare. The files are found by listing this folder.
"""

import importlib
import pkgutil
from pathlib import Path

from .._elsewhere import add_modules
from . import constraints, transforms
from .constraint_registry import biject_to, transform_to
from .kl import kl_divergence, register_kl
from .transforms import *  # noqa: F403

__all__ = ["biject_to", "constraints", "kl_divergence", "register_kl", "transform_to", "transforms"]
__all__ += transforms.__all__

for _file in pkgutil.iter_modules([str(Path(__file__).parent)]):
    _module = importlib.import_module(f"{__name__}.{_file.name}")
    for _name in getattr(_module, "DISTRIBUTIONS", ()):
        globals()[_name] = getattr(_module, _name)
        __all__.append(_name)

add_modules(__name__)
