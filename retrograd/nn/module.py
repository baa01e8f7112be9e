"""``Module``: a tree of parameters, buffers and further modules with a ``forward``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..engine.tensors.parameter import Parameter
from . import hooked, module_state

_EXPECTED = {"_parameters": ("parameter", "torch.nn.Parameter"), "_modules": ("child module", "torch.nn.Module")}
"""What stands in a table, and of which class."""


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

    training: bool

    def __init__(self) -> None:
        self.__dict__.update(_parameters=OrderedDict(), _buffers=OrderedDict(), _modules=OrderedDict(), training=True)
        self._non_persistent_buffers_set: set[str] = set()
        hooked.start_hooks(self)

    # -- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        for table, kind in (("_parameters", Parameter), ("_modules", Module)):
            known = self.__dict__.get(table)
            if isinstance(value, kind):
                if known is None:
                    raise AttributeError(f"cannot assign {table[1:]} before Module.__init__() call")
                self.__dict__.pop(name, None)
                known[name] = value
                return
            if known is not None and name in known:
                if value is not None:
                    what, wanted = _EXPECTED[table]
                    raise TypeError(
                        f"cannot assign '{module_state.typename(value)}' as {what} '{name}' ({wanted} or None expected)"
                    )
                known[name] = None
                return
        buffers = self.__dict__.get("_buffers", {})
        if name in buffers:
            buffers[name] = value
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
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter (or ``None``) under a name."""
        module_state.check_name(self, "parameter", name)
        module_state.check_parameter(name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is not trained; ``persistent`` ones are part of ``state_dict``."""
        module_state.check_name(self, "buffer", name)
        module_state.check_buffer(name, tensor)
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{module_state.typename(module)} is not a Module subclass")
        module_state.check_name(self, "module", name)
        self._modules[name] = module

    register_module = add_module

    def get_submodule(self, target: str) -> Any:
        """The module with a dotted name; ``AttributeError`` where there is none."""
        return module_state.member(self, target)

    def get_parameter(self, target: str) -> Any:
        """The parameter with a dotted name; ``AttributeError`` where there is none."""
        return module_state.member(self, target)

    def get_buffer(self, target: str) -> Any:
        """The buffer with a dotted name; ``AttributeError`` where there is none."""
        return module_state.member(self, target)

    # -- walking the tree
    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Direct children by name."""
        for name, module in self._modules.items():
            if module is not None:
                yield name, module

    def children(self) -> Iterator[Module]:
        """Direct children."""
        for _, module in self.named_children():
            yield module

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once, with dotted names."""
        stack: list[tuple[str, Module]] = [(prefix, self)]
        seen: set[int] = set()
        while stack:
            name, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            below = [(f"{name}.{n}" if name else n, m) for n, m in module.named_children()]
            stack.extend(reversed(below))

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def _named_members(self, table: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, value in getattr(module, table).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Any]]:
        """Parameters with dotted names, each once."""
        return self._named_members("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Parameters, each once."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Any]]:
        """Buffers with dotted names, each once."""
        return self._named_members("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """Buffers, each once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    # -- state
    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by name, detached unless ``keep_vars``."""
        return module_state.state_dict(self, prefix, keep_vars, destination)

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> module_state.IncompatibleKeys:
        """Copy values in and tell which names did not fit; with ``strict`` those are a ``RuntimeError``."""
        return module_state.load_state_dict(self, state_dict, strict)

    def train(self, mode: bool = True) -> Module:
        """Switch training mode for the whole tree."""
        for module in self.modules():
            module.training = mode
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
            if set_to_none or p.grad is None:
                p.grad = None
            else:
                p.grad = p.grad.detach() * 0

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call ``fn`` on every module, children first."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """Change the dtype of floating parameters and buffers in place."""
        for t in (*self.parameters(), *self.buffers()):
            if t.is_floating_point() or t.is_complex():
                t.data = t.data.to(*args, **kwargs)
        return self

    def double(self) -> Module:
        """All floating parameters in float64."""
        for t in (*self.parameters(), *self.buffers()):
            if t.is_floating_point():
                t.data = t.data.double()
        return self

    def half(self) -> Module:
        """All floating parameters in float16."""
        for t in (*self.parameters(), *self.buffers()):
            if t.is_floating_point():
                t.data = t.data.half()
        return self

    def float(self) -> Module:
        """All floating parameters in float32."""
        for t in (*self.parameters(), *self.buffers()):
            if t.is_floating_point():
                t.data = t.data.float()
        return self

    # -- calling
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; to be written by subclasses."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    register_forward_pre_hook = hooked.register_forward_pre_hook
    register_forward_hook = hooked.register_forward_hook
    register_full_backward_pre_hook = hooked.register_full_backward_pre_hook
    register_full_backward_hook = hooked.register_full_backward_hook
    register_backward_hook = hooked.register_backward_hook
    __call__ = hooked.call

    def extra_repr(self) -> str:
        """What ``repr`` shows between the parentheses."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({n}): " + repr(m).replace("\n", "\n  ") for n, m in self.named_children()]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"
