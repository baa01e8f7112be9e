"""``nn.Parameter`` and ``nn.Buffer`` as classes, held against PyTorch."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from typing import Any

from both_engines import differential, raises


def kinds(*values: Any) -> list[str]:
    """The names of the classes of values."""
    return [type(value).__name__ for value in values]


@differential
def test_class_of_a_parameter(torch: Any) -> Any:
    """A parameter is of class ``Parameter``; what is computed from it, shares its memory or was cast is a tensor."""
    made = torch.nn.Parameter(torch.ones(2, 2))
    is_one = [type(made) is torch.nn.Parameter, isinstance(made, torch.Tensor), made.requires_grad_() is made]
    is_none = [isinstance(torch.ones(1), torch.nn.Parameter), isinstance(3, torch.nn.Parameter)]
    others = kinds(made * 1, made.detach(), made.data, made.clone(), made.T, made[0], made.double(), made.unbind()[0])
    outs = kinds(
        torch.add(made.detach(), 1, out=made.detach()), made.to(torch.float32), torch.zeros_like(made), copy.copy(made)
    )
    with torch.no_grad():
        written = [type(made.add_(1)) is torch.nn.Parameter, type(made.sub_(torch.ones(2, 2))) is torch.nn.Parameter]
    return (
        is_one,
        is_none,
        others,
        outs,
        written,
        repr(made),
        torch.nn.Parameter.__name__,
        issubclass(type(made), torch.Tensor),
    )


@differential
def test_gradients_of_parameters(torch: Any) -> Any:
    """Parameters as either operand, of views of either kind and of matrix products get what plain leaves get."""
    p, q = torch.nn.Parameter(torch.tensor([1.0, 2.0])), torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    x = torch.tensor([5.0, 6.0])
    a, b = p.unbind()
    loss = (p * q + x * p + p * 2 + 3 * q - q / p).sum() + a * b + p.view(1, 2).mm(q.view(2, 1)).sum()
    loss.backward()
    return loss, p.grad, q.grad, kinds(p.grad)


@differential
def test_subclasses_and_data_of_subclasses(torch: Any) -> Any:
    """Subclasses of ``Parameter`` keep their class; data of another subclass of Tensor keep theirs and count as one."""

    class Own(torch.nn.Parameter):
        pass

    class Other(torch.Tensor):
        pass

    own, other = Own(torch.ones(1)), torch.nn.Parameter(torch.ones(1).as_subclass(Other))
    holder = torch.nn.Module()
    holder.own, holder.other = own, other
    one_of = [isinstance(own, torch.nn.Parameter), isinstance(torch.nn.Parameter(torch.ones(1)), Own),
              isinstance(other, torch.nn.Parameter), isinstance(other, Other)]  # fmt: skip
    return (
        one_of,
        kinds(own, other, own * 1, other * 1),
        repr(own),
        repr(other),
        [n for n, _ in holder.named_parameters()],
    )


@differential
def test_copies(torch: Any) -> Any:
    """A deep copy has neither gradient nor attributes, a plain tensor's has both; saved ones come back as they were."""
    made, plain = torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True)
    for t in (made, plain):
        t.grad, t.tag = torch.ones(2), "x"
    copies = copy.deepcopy(made), copy.deepcopy(plain)
    file = io.BytesIO()
    torch.save([made, torch.nn.Linear(1, 1).state_dict()], file)
    file.seek(0)
    loaded, state = torch.load(file)
    found = [(type(c).__name__, c.grad, c.__dict__, c.requires_grad) for c in copies]
    return found, kinds(loaded, state["weight"]), loaded.requires_grad


@differential
def test_what_replaces_what(torch: Any) -> Any:
    """A parameter takes a buffer's or module's name and keeps its place in the order; a ``Buffer`` registers itself."""
    m = torch.nn.Module()
    m.a, m.b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    m.c, m.d, m.e = (
        torch.nn.Buffer(torch.ones(1)),
        torch.nn.Linear(1, 1),
        torch.nn.Buffer(torch.ones(2), persistent=False),
    )
    m.a = torch.nn.Parameter(torch.zeros(1))
    before = [n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], list(m.state_dict())
    m.c = m.d = torch.nn.Parameter(torch.zeros(1))
    m.e = torch.ones(3)
    after = list(m._parameters), [n for n, _ in m.named_buffers()], list(m._modules), list(m.state_dict())
    buffer = torch.nn.Buffer()
    return before, after, kinds(buffer), isinstance(buffer, torch.nn.Buffer), isinstance(torch.ones(1), torch.nn.Buffer)


@differential
def test_modes_and_refusals(torch: Any) -> Any:
    """A mode sees calls on parameters, whose class answers for nothing itself."""
    seen: list[Any] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    made = torch.nn.Parameter(torch.ones(1))
    with Mode():
        made.exp()
    return seen, torch.overrides.has_torch_function((made,)), raises("has to be", fails, torch)


def fails(torch: Any) -> None:
    """Refusals: integers that shall require a gradient, and what is no tensor."""
    try:
        torch.nn.Parameter(torch.ones(1, dtype=torch.int64))
    except RuntimeError as error:
        raise ValueError("has to be floating: " + str(error)) from None


def test_tensors_before_layers_are_loaded() -> None:
    """Tensors print, are copied and pickled as tensors in a program that never asks for ``nn``."""
    program = """
import copy, pickle, retrograd as torch
x = torch.tensor([1.0], requires_grad=True)
x.grad = torch.ones(1)
print(x, type(copy.deepcopy(x)).__name__, copy.deepcopy(x).grad, type(pickle.loads(pickle.dumps(x))).__name__)
y = x * 2 + 1
p = torch.nn.Parameter(x)
print(type(p).__name__, type(y + p).__name__)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told == "tensor([1.], requires_grad=True) Tensor tensor([1.]) Tensor\nParameter Tensor\n"
