"""``Optimizer``: groups of parameters with settings, their state, and the step that subclasses describe."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..engine import observe
from ..engine.core.base import LAZY, PLAIN_CLASSES
from ..engine.core.gradient import clear_gradient
from ..engine.methods import FUNCTIONS
from ..engine.nodes.hooks import RemovableHandle
from ..engine.overriding import overrides
from ..engine.switches import watchers
from ..engine.switches.modes import enable_grad, set_grad_enabled
from ..engine.tensors.tensor import Tensor
from .real_parts import is_complex, update_parts

# Hooks around steps of optimizers: those of one optimizer, and those of all.

Hook = Callable[..., Any]
_BEFORE_ALL: OrderedDict[int, Hook] = OrderedDict()
_AFTER_ALL: OrderedDict[int, Hook] = OrderedDict()


def added(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Put a hook behind the others, or before them."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer."""
    return added(_BEFORE_ALL, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer."""
    return added(_AFTER_ALL, hook)


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a class with hooks around it; those before it may give it other arguments."""

    ours = step.__module__.startswith(__package__)

    @functools.wraps(step)
    def step_with_hooks(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, after = self._hooks["before"], self._hooks["after"]
        given: tuple[Any, ...] = (self, *args)
        for hook in (*_BEFORE_ALL.values(), *before.values()):
            given, kwargs = _replaced(step, hook(self, given, kwargs), given, kwargs)
        self._opt_called = True  # schedules ask for it
        result = step(*given, **kwargs) if ours or not observe.observers else _observed(step, given, kwargs)
        for hook in (*after.values(), *_AFTER_ALL.values()):
            hook(self, given, kwargs)
        return result

    step_with_hooks.hooked = True  # type: ignore[attr-defined]
    return step_with_hooks


def _observed(step: Callable[..., Any], given: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Take a step that a program wrote as observers hear of ours: it is one event, but for what its closure calls."""
    given = tuple(_closure(one) if place == 1 and callable(one) else one for place, one in enumerate(given))
    if callable(kwargs.get("closure")):
        kwargs = {**kwargs, "closure": _closure(kwargs["closure"])}
    with observe.optimizer_call("step", given[0]):
        return step(*given, **kwargs)


def _closure(closure: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(closure, updated=())
    def called() -> Any:
        with observe.closure_call():
            return closure()

    return called


def _replaced(step: Any, answer: Any, given: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments that a hook answers with, or those that were there."""
    if answer is None:
        return given, kwargs
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {answer}.")
    return answer


__all__ = ["Optimizer", "ParamsT", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]


ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
"""What an optimizer is given: parameters, groups of them, or parameters with their names."""


class _Required:
    """What an old optimizer gives as the default of a setting that it must be given."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Updates parameters from their gradients; ``param_groups`` hold parameters and settings as in torch.

    A subclass gives ``_update`` for one parameter, or a ``step`` of its own.
    """

    _by_parts = True
    """Whether the parts of complex parameters are updated each for itself."""
    _no_sparse: str | None = "{} does not support sparse gradients"
    """What is said of sparse gradients; ``None`` where they are taken."""

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            kind = FUNCTIONS["typename"](params)
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {kind}"
            )
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._start_hooks()
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)
        if observe.observers:
            observe.notify("optimizer", "made", self)

    def _start_hooks(self) -> None:
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
        self._hooks: dict[str, OrderedDict[int, Callable[..., Any]]] = {
            when: OrderedDict()
            for when in ("before", "after", "before save", "after save", "before load", "after load")
        }
        self._opt_called = False
        if not hasattr(type(self).step, "hooked"):  # also the step that a program wrote
            type(self).step = hooked(type(self).step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_hooks()

    def __repr__(self) -> str:
        groups = []
        for i, group in enumerate(self.param_groups):
            lines = (f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            groups.append(f"Parameter Group {i}\n" + "".join(lines))
        return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        with observe.optimizer_call("zero_grad", self):
            for p in self._parameters():
                clear_gradient(p, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what ``closure`` (re-evaluation) returned."""
        if type(self)._update is Optimizer._update:
            raise NotImplementedError(f"{type(self).__name__} has no step of its own")
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        differentiable = bool(self.defaults.get("differentiable", False))
        with observe.optimizer_call("step", self), set_grad_enabled(differentiable):
            for group in self.param_groups:
                self._update_group(group)
        return loss

    def _update_group(self, group: dict[str, Any]) -> None:
        """Update the parameters of a group that have a gradient."""
        if watchers.DISPATCHING:
            self._check_gradients(group)
        for p in group["params"]:
            g = _held_grad(p)
            if g is None:
                continue
            g = -g if group.get("maximize") else g
            if self._by_parts and is_complex(p):
                update_parts(self._update, self.state, p, g, group)
            else:
                self._update(p, g, group)

    def _check_gradients(self, group: dict[str, Any]) -> None:
        """``RuntimeError`` for sparse gradients where they are not taken, before anything is updated."""
        if self._no_sparse is not None and any(p.grad is not None and p.grad.is_sparse for p in group["params"]):
            raise RuntimeError(self._no_sparse.format(type(self).__name__))

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step."""
        return added(self._hooks["before"], hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return added(self._hooks["after"], hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before each ``state_dict``."""
        return added(self._hooks["before save"], hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after each ``state_dict``; it may return another one."""
        return added(self._hooks["after save"], hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before each ``load_state_dict``; it may return another one."""
        return added(self._hooks["before load"], hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after each ``load_state_dict``."""
        return added(self._hooks["after load"], hook, prepend)

    def _through(self, when: str, state: dict[str, Any]) -> dict[str, Any]:
        """The state that hooks leave, or put in its place."""
        for hook in list(self._hooks[when].values()):
            replaced = hook(self, state)
            state = state if replaced is None else replaced
        return state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Update further parameters, with settings of their own where given."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = param_group  # filled in place: as in PyTorch, a program may change settings in its own dictionary
        group.update(_named(_as_list(group["params"])))
        _check(group["params"], differentiable=bool(self.defaults.get("differentiable")))
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            without = "with" if "param_names" in group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {without} names to the optimizer"
            )
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, value)
        if len({id(p) for p in group["params"]}) != len(group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        known = {id(p) for p in self._parameters()}
        if any(id(p) in known for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def state_dict(self) -> dict[str, Any]:
        """Settings and state, with parameters as numbers in the order of the groups."""
        for hook in list(self._hooks["before save"].values()):
            hook(self)
        numbers: dict[int, int] = {}
        for p in self._parameters():
            numbers.setdefault(id(p), len(numbers))
        groups = [
            {**{k: v for k, v in g.items() if k != "params"}, "params": [numbers[id(p)] for p in g["params"]]}
            for g in self.param_groups
        ]
        state = {numbers[id(p)] if isinstance(p, Tensor) else p: kept for p, kept in self.state.items()}
        return self._through("after save", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over copies of what ``state_dict`` gave; ``ValueError`` for groups of other sizes."""
        saved = copy.deepcopy(self._through("before load", state_dict.copy()))
        if len(saved["param_groups"]) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if [len(g["params"]) for g in saved["param_groups"]] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        parameters: dict[Any, Any] = {}
        for own, given in zip(self.param_groups, saved["param_groups"], strict=True):
            parameters.update(zip(given["params"], own["params"], strict=True))
            own.update({name: value for name, value in given.items() if name != "params"})
        self.state = defaultdict(dict)
        for number, kept in saved["state"].items():
            p = parameters.get(number)
            self.state[number if p is None else p] = kept if p is None else _fitted(kept, p)
        for hook in list(self._hooks["after load"].values()):
            hook(self)

    def _parameters(self) -> list[Any]:
        return [p for group in self.param_groups for p in group["params"]]

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        raise NotImplementedError


def _held_grad(p: Any) -> Any:
    """``p.grad`` without notifying observers, which see an optimizer's step as a whole."""
    plain = type(p) in PLAIN_CLASSES
    if plain and p._fn is LAZY and p._meta.view is None and not overrides.INSTALLED:
        return p._meta.grad
    return p.grad


def _fitted(kept: Any, p: Any) -> Any:
    """State in the parameter's dtype; the count of steps keeps its own."""
    if not isinstance(kept, dict) or not p.is_floating_point():
        return kept
    return {
        name: value.to(p.dtype) if isinstance(value, Tensor) and name != "step" and value.is_floating_point() else value
        for name, value in kept.items()
    }


def _as_list(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    return list(params)


def _named(params: list[Any]) -> dict[str, list[Any]]:
    """Parameters, and their names where they are pairs of both; ``ValueError`` where only some are."""
    pairs = [isinstance(p, tuple) for p in params]
    if not any(pairs):
        return {"params": params}
    if not all(pairs):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return {"params": [p for _, p in params], "param_names": [name for name, _ in params]}


def _check(params: list[Any], *, differentiable: bool) -> None:
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        if not (differentiable or p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")
