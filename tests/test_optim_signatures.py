"""What optimizers say that they take, as programs ask before they pass ``fused``."""

from __future__ import annotations

import inspect
from typing import Any

from both_engines import differential

NAMES = (
    "Adam",
    "AdamW",
    "SGD",
    "RMSprop",
    "Adadelta",
    "NAdam",
    "RAdam",
    "LBFGS",
    "Adamax",
    "ASGD",
    "Rprop",
    "Adafactor",
    "Adagrad",
    "SparseAdam",
    "Muon",
)


@differential
def test_settings_are_listed(torch: Any) -> Any:
    """``inspect.signature`` names PyTorch's settings, with their defaults; a subclass says its own."""

    class Mine(torch.optim.SGD):  # type: ignore[misc]
        def __init__(self, params: Any, rate: float = 0.5) -> None:
            super().__init__(params, lr=rate)

    taken = [inspect.signature(getattr(torch.optim, name)).parameters.values() for name in NAMES]
    mine = Mine([torch.ones(1, requires_grad=True)])
    return [[(p.name, p.default) for p in each if p.default is not p.empty] for each in taken], mine.param_groups[0][
        "lr"
    ]
