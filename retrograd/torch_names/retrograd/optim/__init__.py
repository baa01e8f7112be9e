"""``torch.optim``: optimizers by family, and schedules of their learning rates (``lr_scheduler``)."""

from .._elsewhere import add_modules
from . import lr_scheduler, swa_utils
from .adafactor import Adafactor
from .adam import Adam, Adamax, AdamW, NAdam, RAdam, SparseAdam
from .adaptive import Adadelta, Adagrad, RMSprop
from .descent import ASGD, SGD, Rprop
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip

add_modules(__name__)
