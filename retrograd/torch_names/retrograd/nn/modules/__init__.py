"""``torch.nn.modules``: every layer class, gathered from the files of this folder."""

from __future__ import annotations

from typing import Any

from ..._elsewhere import add_modules
from ..module import Module
from . import (
    activation,
    adaptive,
    attention,
    container,
    conv,
    dropout,
    lazy,
    linear,
    linear_cross_entropy,
    loss,
    module,
    normalization,
    padding,
    pooling,
    recurrent_cells,
    rnn,
    shaping,
    sparse,
    transformer,
    utils,
)

_FAMILIES = (
    activation, adaptive, attention, container, conv, dropout, lazy, linear, linear_cross_entropy, loss, normalization,
    padding, pooling, recurrent_cells, rnn, shaping, sparse, transformer,
)  # fmt: skip
LAYERS: dict[str, Any] = {
    name: made
    for family in _FAMILIES
    for name, made in vars(family).items()
    if isinstance(made, type) and issubclass(made, Module) and name[0] != "_" and name not in ("Module", "Layer")
}
"""Public name -> class."""

globals().update(LAYERS)
__all__ = ["Module", "module", "utils", *LAYERS]  # noqa: PLE0604

add_modules(__name__)
