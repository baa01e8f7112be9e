"""The data of events about modules, optimizers and modes; ``event_data`` has the kinds."""

from __future__ import annotations

from typing import TypedDict

# The data of events about modules, optimizers and other training objects; `event_data` has the kinds.


class OwnersData(TypedDict, total=False):
    """Data of ``module`` and ``optimizer``."""

    name: str
    """For a module, its path in the program, from the variable of the outermost one: ``trainer.net.layers.0``."""
    scope: str
    """For a module, its path among modules: ``net/layers/0``."""
    type: str
    parameters: dict[str, int]
    """Name -> tensor; for optimizers the name is ``"group.position"``."""
    frozen: list[str]
    classes: dict[str, str]
    """At level full, the classes of the modules inside a module that can be called, by path."""
    unregistered: dict[str, int]
    """Trainable tensors that a module uses without registering them: name -> tensor."""
    training: bool
    """False if a module was in ``eval()`` at its first call."""
    action: str
    """``"made"``, ``"step"`` or ``"zero_grad"``; for a step with a closure also ``"evaluated"``, after the closure was
    called, and ``"stepped"``, at the end of the step."""
    held_before: dict[str, int]
    """For a step on a rank: a checksum of each parameter's values before it, by tensor as text."""
    held_after: dict[str, int]
    owner: int
    """Number of the optimizer or module, from 0."""
    closure: bool
    """The step was called with a closure."""
    without: list[int]
    """At level full, for a step and ``"evaluated"``: the parameters without a gradient,"""
    zero: list[int]
    """and those whose gradient is zero in every entry."""
    alike: list[int]
    """The parameters, if any, all of whose rows are equal before the step."""
    still: list[int]
    """For a step at level full: the parameters that it left bitwise unchanged."""
    settings: list[dict[str, object]]
    """For each group of an optimizer: ``lr``, ``momentum``, ``weight_decay`` and ``betas``, if they are
    plain numbers."""
    set_at: list[object]
    """``[file, line, function]`` of the last change to the settings after the optimizer was made."""


class ModuleChangeData(TypedDict, total=False):
    """Data of ``mode`` and ``load``; ``Event.op`` is ``train`` or ``eval``, or the class of the module."""

    type: str
    inputs: list[int]
    """The parameters of the module."""
    # mode:
    owner: int
    """Number of the module that was switched, including those inside it."""
    value: bool
    """True for training mode."""
    modules: list[int]
    """Numbers of those that compute something else in the new mode: dropout, batch normalization, ..."""
    names: list[str]
    """Paths and classes of the first of them."""
    # load:
    matched: int
    """How many entries of the state match entries of the module."""
    missing_count: int
    unexpected_count: int
    missing: list[str]
    """The first names that the module has and the state lacks; ``unexpected`` for the reverse."""
    unexpected: list[str]


class ScalingData(TypedDict, total=False):
    """Data of ``scaling``; ``Event.op`` is ``scale``, ``unscale_`` or, when the scaler has stepped it, ``step``."""

    inputs: list[int]
    """Parameters of the optimizer."""


class StrayData(TypedDict, total=False):
    """Data of ``stray``; ``Event.op`` is the attribute, ``Event.source`` the only line that sets one with this name."""

    path: str
    """The object it was set on: a module, or a parameter with its name misspelt."""
    value: bool
    inputs: list[int]
    """The parameters that it was meant to switch."""


class ClipData(TypedDict, total=False):
    """Data of ``clip``; ``Event.op`` is the function's name."""

    inputs: list[int]
    """The parameters whose gradients were to be clipped."""
    bound: float
    """``max_norm`` or ``clip_value``."""
    read_once: bool
    """They were passed as an iterator: those read from it before are not among ``inputs``."""
    run: int


# The data of events about modes that a program switches; `event_data` has the kinds.


class GradModeData(TypedDict, total=False):
    """Data of ``grad-mode``; ``Event.source`` is the ``with``, the statement, or the call of the decorated function."""

    action: str
    """``"entered"`` or ``"left"`` for a block or decorator, ``"set"`` for a statement."""
    grad: bool
    """The new grad mode; ``before`` is the old one."""
    before: bool
    inference: bool
    """Whether inference mode is now on."""
    callee: str
    """The decorated function."""
    declared: list[object]
    """``[file, line, function]`` where the decorators of that function begin."""
    own: bool
    """The engine itself switched, in the function ``callee``; recorded if a call loses its history thereby."""


class AutocastData(TypedDict, total=False):
    """Data of ``autocast``."""

    action: str
    """``"entered"`` or ``"left"``."""
    enabled: bool
    dtype: str
    """The dtype to which calls are now cast, unless they are exempt."""
    callee: str
    """The decorated function; ``declared`` is where its decorators begin."""
    declared: list[object]


class TransformData(TypedDict, total=False):
    """Data of ``transform``; ``Event.op`` is the function of ``torch.func`` applied last, ``Event.source`` its line."""

    action: str
    """``"entered"`` if there are more levels than before, else ``"left"``."""
    levels: list[str]
    """Kind of each open level, outermost first: ``grad`` (also for ``vjp``), ``jvp``, ``vmap``."""
    applied: list[list[object]]
    """``[function, file, line, name]`` of each function of ``torch.func`` around the call, outermost first."""
    # functional_call:
    names: list[str]
    """The parameters that replaced a module's own in the call; they are ``inputs``."""
    inputs: list[int]
