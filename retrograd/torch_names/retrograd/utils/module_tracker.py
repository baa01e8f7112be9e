"""``torch.utils.module_tracker``: which modules are at work now, in forward and in backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..engine.execution.introspection import queue_callback
from ..engine.graph.hooks import register_multi_grad_hook
from ..engine.pytree.trees import tree_leaves
from ..engine.tensors.tensor import Tensor
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook


class ModuleTracker:
    """A context in which ``parents`` holds the names of the modules that are computing, ``"Global"`` always.

    In backward a module works from the gradient of its results to those of its operands, or to the end of the run
    if these require none.  ``is_bw`` says whether a backward passes.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self.is_bw = False
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._begin), register_module_forward_hook(self._end)]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _name(self, module: Module) -> str:
        """The class of the outermost module that was called, and where below it this one is."""
        if module not in self._names:
            self._names[module] = root = type(module).__name__
            for path, child in module.named_modules():
                if path:
                    self._names.setdefault(child, f"{root}.{path}")
        return self._names[module]

    def _begin(self, module: Module, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        operands = _derived(args)
        if operands:
            self._handles.append(register_multi_grad_hook(operands, self._leaving(name)))

    def _end(self, module: Module, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        results = _derived(output)
        if results:
            self._handles.append(register_multi_grad_hook(results, self._entering(name), mode="any"))

    def _entering(self, name: str) -> Callable[[Any], None]:
        def enter(grad: Any) -> None:
            if not self.is_bw:
                self.is_bw = True
                queue_callback(self._after_backward)
            self.parents.add(name)

        return enter

    def _leaving(self, name: str) -> Callable[[Any], None]:
        def leave(grads: Any) -> None:
            self.parents.discard(name)

        return leave

    def _after_backward(self) -> None:
        self.parents, self.is_bw = {"Global"}, False


def _derived(values: Any) -> list[Tensor]:
    """The tensors among them that require grad."""
    return [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]


__all__ = ["ModuleTracker"]
