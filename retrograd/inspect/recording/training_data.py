"""The data of events about modules, optimizers and modes; ``event_data`` has the kinds."""

from __future__ import annotations

from typing import TypedDict

# The data of events about modules, optimizers and other training objects; `event_data` has the kinds.


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


# The data of events about modes that a program switches; `event_data` has the kinds.


class GradModeData(TypedDict, total=False):
    """Data of ``grad-mode``; ``Event.source`` is the ``with``, the statement, or the call of the decorated function."""

    action: str
    """``"entered"`` or ``"left"`` of a block or decorator, ``"set"`` of a statement."""
    grad: bool
    """Grad mode from now on, and ``before``."""
    before: bool
    inference: bool
    """Inference mode is on from now on."""
    callee: str
    """The decorated function."""
    declared: list[object]
    """``[file, line, function]`` where the decorators of that function begin."""
    own: bool
    """The engine itself switched, in the function ``callee``; recorded if a call loses its history by that."""


class AutocastData(TypedDict, total=False):
    """Data of ``autocast``."""

    action: str
    """``"entered"`` or ``"left"``."""
    enabled: bool
    dtype: str
    """The dtype that calls are made in from now on, where they are not left as they are."""
    callee: str
    """The function that is decorated with it, and ``declared`` where its decorators begin."""
    declared: list[object]


class TransformData(TypedDict, total=False):
    """Data of ``transform``; ``Event.op`` is the function of ``torch.func`` applied last, ``Event.source`` its line."""

    action: str
    """``"entered"`` if there are more levels than before, else ``"left"``."""
    levels: list[str]
    """What each open level does, outermost first: ``grad`` (also that of ``vjp``), ``jvp``, ``vmap``."""
    applied: list[list[object]]
    """``[function, file, line, name]`` of each function of ``torch.func`` around the call, outermost first."""
    # functional_call:
    names: list[str]
    """The parameters that a module was called with in place of its own, which are ``inputs``."""
    inputs: list[int]
