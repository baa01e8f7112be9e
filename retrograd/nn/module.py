"""``Module``: a tree of parameters, buffers and further modules with a ``forward``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..engine.modes import no_grad
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor
from . import hooked


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
                    raise TypeError(
                        f"cannot assign '{type(value).__name__}' as '{name}' ({table[1:-1]} or None expected)"
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
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but not trained."""
        self._buffers[name] = tensor

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        self._modules[name] = module

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
    def state_dict(self) -> OrderedDict[str, Tensor]:
        """Detached parameters and buffers by name."""
        members = [*self.named_parameters(), *self.named_buffers()]
        return OrderedDict((name, t.detach()) for name, t in members)

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Copy values in; ``RuntimeError`` names what is missing or too much (unless not ``strict``)."""
        own = dict([*self.named_parameters(), *self.named_buffers()])
        missing, unexpected = sorted(own.keys() - state_dict.keys()), sorted(state_dict.keys() - own.keys())
        if strict and (missing or unexpected):
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}: Missing key(s) in state_dict: {missing}; "
                f"Unexpected key(s) in state_dict: {unexpected}"
            )
        with no_grad():
            for name in own.keys() & state_dict.keys():
                own[name].copy_(state_dict[name])

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
