"""The input is a tensor of a class of its own, which wraps another one and is asked about each operator."""

import torch
from torch.utils._pytree import tree_map


class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, requires_grad=requires_grad)

    def __init__(self, elem, requires_grad=False):
        self.elem = elem

    def __repr__(self):
        return f"Wrapped({self.elem})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inner = tree_map(lambda t: t.elem if isinstance(t, cls) else t, (args, kwargs or {}))
        result = func(*inner[0], **inner[1])
        return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, result)


torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
x = Wrapped(torch.ones(4, 3))
for _ in range(3):
    model.zero_grad()
    loss = (model(x * 2) - 1).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.01 * p.grad.elem
print(model.weight.grad is not None)
