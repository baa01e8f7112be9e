"""Finds the original function of a call where the program has patched it.

A mode is not given the function that was called, but what its public name currently refers to: PyTorch's functions
written in Python pass on ``softmax`` of their module, its methods written in C ``getattr(torch.Tensor, "mul")``. If
that is a patch of the program, it has already run (it called the function that asks) or was never called: calling it
again would compute something other than the program does alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    MethodWrapperType,
    SimpleNamespace,
)
from typing import Any

from ....program.frames import read_locals
from ..library import LIBRARY
from ..own_work import is_of_torch
from .rules import Rule, judge

Run = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function and its arguments."""

_VARARGS, _VARKEYWORDS = 4, 8  # inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
_BINDINGS = ("_nn", "_fft", "_linalg", "_special", "_sparse", "_nested")
"""Modules of ``torch._C`` in which functions written in C are looked up."""


class Pristine:
    """Distinguishes PyTorch's functions from the program's replacements."""

    def __init__(self) -> None:
        torch: Any = LIBRARY.torch
        self._torch = torch
        bindings = [getattr(torch._C, name) for name in _BINDINGS if hasattr(torch._C, name)]
        self._seen = {module: dict(vars(module)) for module in bindings}
        self.rules: dict[Any, Rule] = {}
        """Rules of PyTorch's functions; the program's are not kept."""
        self._asking: dict[int, tuple[CodeType, Any, Rule]] = {}
        """id of a code object of PyTorch -> (the code, the function that it looks up, its rule)."""
        self._again: dict[int, tuple[CodeType, FunctionType]] = {}
        """id of a code object -> (the code, a function with it)."""
        self._names: dict[int, tuple[Any, str]] = {}
        """id of a patch -> its location and its name."""

    # -- asked for in C
    def of_c(self, func: Any) -> tuple[Rule, Any]:
        """Return the rule of a function that C code looked up, and the function to run."""
        if is_of_torch(func):
            found = self.rules[func] = judge(func)
            return found, func
        original = self._patched(func)
        run = func if original is None else original
        return judge(run), run

    def _patched(self, func: Any) -> Any:
        """Return the C function that an object of the program replaces, None if there is none."""
        held = getattr(func, "__self__", None) if getattr(func, "__name__", "") in ("__get__", "__set__") else func
        holder, name = self._names.get(id(held), (None, ""))
        if holder is None or _held(holder, name) is not held:
            holder, name = self._place_of(held)
        if holder is None:
            return None
        self._names[id(held)] = holder, name
        if holder is not self._torch.Tensor:
            return self._bound(holder, name)
        original = vars(self._torch._C.TensorBase).get(name)
        return original if held is func or original is None else getattr(original, func.__name__)

    def _place_of(self, held: Any) -> tuple[Any, str]:
        """Return where, and under which name, an object replaces a function written in C."""
        in_c = vars(self._torch._C.TensorBase)
        for name in vars(self._torch.Tensor):
            if name in in_c and _held(self._torch.Tensor, name) is held:
                return self._torch.Tensor, name
        for module in self._seen:
            for name, value in vars(module).items():
                if value is held:
                    return module, name
        return None, ""

    def _bound(self, module: Any, name: str) -> Any:
        """Return the function that a module in C had under a name, as seen before or as PyTorch holds it elsewhere."""
        for holder in (self._seen[module], *map(vars, self._modules())):
            for one in (holder.get(name), *holder.values()):
                if type(one) is BuiltinFunctionType and one.__name__ == name and one.__self__ is module:
                    return one
        return None

    def _modules(self) -> list[Any]:
        """Return the modules of PyTorch."""
        return [module for name, module in list(sys.modules.items()) if name.startswith("torch.") and module]

    # -- asked for in Python
    def of_python(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], caller: FrameType
    ) -> tuple[Rule, Run]:
        """Return the rule of a function that a frame looked up with these arguments, and what to run.

        In place of a patch it is the function of that frame, from the start, with its original arguments: it then
        looks up nothing.
        """
        code = caller.f_code
        known = self._asking.get(id(code))
        if known is not None and known[1] is func:
            return known[2], (func, args, kwargs)
        of_torch = is_of_torch(func)
        if _code_of(func) is code or (of_torch and func.__name__ in code.co_names and is_of_torch(code)):
            rule = judge(func)
            if of_torch:
                self._asking[id(code)] = code, func, rule
            return rule, (func, args, kwargs)
        return judge(self._named(func, caller)), self._run_again(caller)

    def _named(self, func: Any, caller: FrameType) -> Any:
        """Return the name by which a frame's code refers to the replacement, for ``judge``."""
        code, torch = caller.f_code, self._torch
        holders = (caller.f_globals, vars(torch), vars(torch.Tensor))
        name = next((one for one in code.co_names if any(holder.get(one) is func for holder in holders)), code.co_name)
        return SimpleNamespace(__name__=name, __qualname__=code.co_qualname)

    def _run_again(self, caller: FrameType) -> Run:
        """Return the function of a frame, and its arguments."""
        code, values = caller.f_code, read_locals(caller)
        known = self._again.get(id(code))
        function = _function(caller, values) if known is None else known[1]
        if not code.co_freevars:
            self._again[id(code)] = code, function
        names, count = code.co_varnames, code.co_argcount
        args, kwargs = [values[name] for name in names[:count]], dict[str, Any]()
        count += code.co_kwonlyargcount
        kwargs = {name: values[name] for name in names[code.co_argcount : count]}
        if code.co_flags & _VARARGS:
            args += values[names[count]]
            count += 1
        if code.co_flags & _VARKEYWORDS:
            kwargs |= values[names[count]]
        return function, tuple(args), kwargs


def _held(holder: Any, name: str) -> Any:
    """Return the value of a name in a class or module; for a static method its function."""
    value = vars(holder).get(name)
    return value.__func__ if isinstance(value, staticmethod) else value


def _code_of(func: Any) -> CodeType | None:
    """Return the code of a function, or of the getter or setter of an attribute."""
    held = func.__self__ if type(func) is MethodWrapperType else None
    if type(held) is property:
        func = held.fset if func.__name__ == "__set__" else held.fget
    return getattr(func, "__code__", None)


def _function(frame: FrameType, values: dict[str, Any]) -> FunctionType:
    """Return a function that does what a frame's does, with its closure."""
    code = frame.f_code
    cells = tuple(CellType(values[name]) for name in code.co_freevars)
    made = FunctionType(code, frame.f_globals, code.co_name, None, cells or None)
    made.__qualname__ = code.co_qualname
    return made
