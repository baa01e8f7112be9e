"""``Module``: a tree of parameters, buffers and further modules with a ``forward``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..engine import observe
from ..engine.core.gradient import clear_gradient
from ..engine.tensors.parameter import Buffer, Parameter
from . import conversions, hooked, module_state

_BEFORE = {"_parameters": "parameters", "_modules": "module"}
_EXPECTED = {"_parameters": ("parameter", "torch.nn.Parameter"), "_modules": ("child module", "torch.nn.Module")}
"""The entries of a table, and their class."""


def _take_in(module: Module, table: str, name: str, value: Any) -> None:
    """Put a value into a table, where a name that is known keeps its place; what else had the name goes."""
    known = module.__dict__.get(table)
    if known is None:
        raise AttributeError(f"cannot assign {_BEFORE[table]} before Module.__init__() call")
    module.__dict__.pop(name, None)
    if table == "_modules":
        value = hooked.registered(module, table, name, value)
    for other in ("_buffers", "_parameters", "_modules"):
        if other != table:
            module.__dict__.get(other, {}).pop(name, None)
    if table == "_parameters":  # which a subclass may override
        module.register_parameter(name, value)
    else:
        known[name] = value


def _leave_empty(module: Module, table: str, name: str, value: Any) -> None:
    """``None`` in the place of a parameter or module; ``TypeError`` for anything else."""
    if value is not None:
        what, wanted = _EXPECTED[table]
        raise TypeError(
            f"cannot assign '{module_state.typename(value)}' as {what} '{name}' ({wanted} or None expected)"
        )
    module.__dict__[table][name] = None if table == "_parameters" else hooked.registered(module, table, name, None)


class Module:
    """Base of layers and networks: assign parameters and modules as attributes, write ``forward``.

    >>> import retrograd as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.ones(1))
    ...     def forward(self, x):
    ...         return self.weight * x
    >>> [name for name, _ in Scale().named_parameters()]
    ['weight']
    """

    __module__ = "retrograd.nn.modules.module"

    training: bool
    call_super_init: bool = False
    """Whether ``__init__`` calls that of the next class, for modules with several bases."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        goes_on = self.call_super_init
        if not goes_on and (args or kwargs):
            module_state.refuse_arguments(self, args, kwargs)
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, training=True)
        self._non_persistent_buffers_set: set[str] = set()
        hooked.start_hooks(self)
        if goes_on:
            super().__init__(*args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # -- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        for table, kind in (("_parameters", Parameter), ("_modules", Module)):
            if isinstance(value, kind):
                _take_in(self, table, name, value)
                return
            if name in self.__dict__.get(table, ()):
                _leave_empty(self, table, name, value)
                return
        if isinstance(value, Buffer) or name in self.__dict__.get("_buffers", ()):
            module_state.set_buffer(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            known = self.__dict__.get(table, {})
            if name in known:
                return known[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(table, {}):
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter (or ``None``) under a name."""
        module_state.check_name(self, "parameter", name)
        module_state.check_parameter(name, param)
        self._parameters[name] = None if param is None else hooked.registered(self, "_parameters", name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is not trained; ``persistent`` ones are part of ``state_dict``."""
        module_state.check_name(self, "buffer", name)
        module_state.check_buffer(name, tensor)
        self._buffers[name] = hooked.registered(self, "_buffers", name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{module_state.typename(module)} is not a Module subclass")
        module_state.check_name(self, "module", name)
        self._modules[name] = hooked.registered(self, "_modules", name, module)

    register_module = add_module

    def get_submodule(self, target: str) -> Any:
        """The module with a dotted name; ``AttributeError`` where there is none."""
        return module_state.member(self, target)

    def get_parameter(self, target: str) -> Any:
        """The parameter with a dotted name; ``AttributeError`` where there is none."""
        return module_state.member(self, target, "parameter")

    def get_buffer(self, target: str) -> Any:
        """The buffer with a dotted name; ``AttributeError`` where there is none."""
        return module_state.member(self, target, "buffer")

    set_submodule = module_state.set_member
    get_extra_state = module_state.get_extra_state
    set_extra_state = module_state.set_extra_state

    # -- walking the tree
    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Direct children by name."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Direct children."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it with dotted names, each once unless ``remove_duplicate`` is off."""
        stack: list[tuple[str, Module]] = [(prefix, self)]
        seen = set() if memo is None else memo
        while stack:
            name, module = stack.pop()
            if module in seen:
                continue
            if remove_duplicate:
                seen.add(module)
            yield name, module
            below = [(f"{name}.{n}" if name else n, m) for n, m in module._modules.items() if m is not None]
            stack.extend(reversed(below))

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def _named_members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        walk = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in walk:
            for name, value in getattr(module, table).items():
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Parameters with dotted names, each once unless ``remove_duplicate`` is off."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Parameters, each once."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Buffers with dotted names, each once unless ``remove_duplicate`` is off."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """Buffers, each once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    # -- state
    _version = 1
    state_dict = module_state.state_dict
    load_state_dict = module_state.load_state_dict
    _save_to_state_dict = module_state.save_to_state_dict
    _load_from_state_dict = module_state.load_from_state_dict
    register_state_dict_pre_hook = module_state.register_state_dict_pre_hook
    register_state_dict_post_hook = module_state.register_state_dict_post_hook
    _register_state_dict_hook = module_state.register_raw_state_dict_hook
    register_load_state_dict_pre_hook = module_state.register_load_state_dict_pre_hook
    register_load_state_dict_post_hook = module_state.register_load_state_dict_post_hook
    _register_load_state_dict_pre_hook = module_state.register_raw_load_pre_hook

    def train(self, mode: bool = True) -> Module:
        """Switch training mode for the whole tree; children are asked, since they may do more than that."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        observe.notify("switching", self, mode)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Switch recording for all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear all gradients."""
        for p in self.parameters():
            clear_gradient(p, set_to_none)

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call ``fn`` on every module, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    _apply = conversions.apply_to_tensors
    to = conversions.to
    type = conversions.to_type
    double = conversions.double
    float = conversions.single
    half = conversions.half
    cpu, share_memory = conversions.cpu, conversions.share_memory
    cuda, xpu, mtia, bfloat16 = conversions.cuda, conversions.xpu, conversions.mtia, conversions.bfloat16
    to_empty = conversions.to_empty

    # -- calling
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; to be written by subclasses."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    register_forward_pre_hook = hooked.register_forward_pre_hook
    register_forward_hook = hooked.register_forward_hook
    register_full_backward_pre_hook = hooked.register_full_backward_pre_hook
    register_full_backward_hook = hooked.register_full_backward_hook
    register_backward_hook = hooked.register_backward_hook
    __call__ = _call_impl = hooked.call

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is compiled: ``forward`` stays as it is written."""

    def extra_repr(self) -> str:
        """What ``repr`` shows between the parentheses."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __dir__(self) -> list[str]:
        own = [*self.__dict__, *self._parameters, *self._buffers, *self._modules]
        return sorted({*object.__dir__(self), *own})

    def __repr__(self) -> str:
        extra, name = self.extra_repr(), self._get_name()
        below = [(n, repr(m)) for n, m in self._modules.items()]
        if not below and "\n" not in extra:
            return f"{name}({extra})"
        lines = [*(extra.split("\n") if extra else []), *(f"({n}): " + text.replace("\n", "\n  ") for n, text in below)]
        return f"{name}(\n  " + "\n  ".join(lines) + "\n)"
