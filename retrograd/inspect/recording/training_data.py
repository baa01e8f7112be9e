"""The data of events about modules, optimizers and other training objects; ``event_data`` has the kinds."""

from __future__ import annotations

from typing import TypedDict


class OwnersData(TypedDict, total=False):
    """Data of ``module`` and ``optimizer``."""

    name: str
    """Of a module as the program spells it, from the variable of the outermost one on: ``trainer.net.layers.0``."""
    scope: str
    """Of a module its place among modules: ``net/layers/0``."""
    type: str
    parameters: dict[str, int]
    """Name -> tensor; optimizers number theirs ``"group.position"``."""
    frozen: list[str]
    unregistered: dict[str, int]
    """Tensors to train that a module uses without registering them: name -> tensor."""
    training: bool
    """False of a module that was in ``eval()`` at its first call."""
    action: str
    """``"made"``, ``"step"`` or ``"zero_grad"``; of a step with a closure also ``"evaluated"``, when the closure has
    been called, and ``"stepped"``, when the step is over."""
    held_before: dict[str, int]
    """For a step of a rank: a checksum of each parameter's values before it, by tensor as text."""
    held_after: dict[str, int]
    owner: int
    """Number of the optimizer or module, from 0."""
    closure: bool
    """The step was given a closure."""
    without: list[int]
    """At level full, of a step and of ``"evaluated"``: the parameters without a gradient,"""
    zero: list[int]
    """and those whose gradient is zero in every entry."""
    alike: list[int]
    """Those, if there are any, all of whose rows are equal before the step."""
    still: list[int]
    """Of a step at level full: the parameters that it left as they were, bit by bit."""
    settings: list[dict[str, object]]
    """Of an optimizer's groups: ``lr``, ``momentum``, ``weight_decay`` and ``betas``, where they are plain numbers."""
    set_at: list[object]
    """``[file, line, function]`` of what last changed these, if it was not what made the optimizer."""


class ModuleChangeData(TypedDict, total=False):
    """Data of ``mode`` and ``load``; ``Event.op`` is ``train`` or ``eval``, or the class of the module."""

    type: str
    inputs: list[int]
    """The parameters of the module."""
    # mode:
    owner: int
    """Number of the module that was switched, with those inside it."""
    value: bool
    """It is to train."""
    modules: list[int]
    """Numbers of those that compute something else from now on: dropout, batch normalization, ..."""
    names: list[str]
    """Paths and classes of the first of them."""
    # load:
    matched: int
    """How many entries of the state the module has."""
    missing_count: int
    unexpected_count: int
    missing: list[str]
    """The first names that the module has and the state has not; ``unexpected`` the other way round."""
    unexpected: list[str]


class ScalingData(TypedDict, total=False):
    """Data of ``scaling``; ``Event.op`` is ``scale``, ``unscale_`` or, when the scaler has stepped it, ``step``."""

    inputs: list[int]
    """Parameters of the optimizer that was given."""


class StrayData(TypedDict, total=False):
    """Data of ``stray``; ``Event.op`` is the attribute, ``Event.source`` the one line that sets one of this name."""

    path: str
    """What it was set on: a module, or a parameter with its name misspelt."""
    value: bool
    inputs: list[int]
    """The parameters that it was to switch."""


class ClipData(TypedDict, total=False):
    """Data of ``clip``; ``Event.op`` is the function's name."""

    inputs: list[int]
    """Those whose gradients it was to clip."""
    bound: float
    """``max_norm`` or ``clip_value``."""
    read_once: bool
    """They were given as an iterator: what had been read before is not among ``inputs``."""
    run: int
