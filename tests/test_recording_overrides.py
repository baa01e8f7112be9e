"""Classes and modes of a watched program are asked what they are asked when nobody watches."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from retrograd.inspect.process.recorder import recording

Heard = list[str]


def own_class(torch: Any, heard: Heard) -> type:
    """A tensor that notes what it is asked."""

    class Noted(torch.Tensor):  # type: ignore[misc, name-defined]
        """One with a say in everything."""

        __hash__ = torch.Tensor.__hash__

        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            """Note what is called."""
            heard.append(f"{function.__qualname__} {getattr(getattr(function, '__self__', None), '__name__', '')}")
            return super().__torch_function__(function, types, args, kwargs or {})

        def __eq__(self, other: object) -> bool:
            heard.append("==")
            return self is other

        def __getattr__(self, name: str) -> Any:
            heard.append(name)
            raise AttributeError(name)

    return Noted


def with_own_class(torch: Any, heard: Heard) -> list[Any]:
    """Leaves, results, hooks, steps and a custom Function; and variables that have nothing to do with a run."""

    class Double(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """A custom Function."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            """Keep the input."""
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            """The derivative."""
            return g * 2

    noted = own_class(torch, heard)
    leaf = torch.ones(2).as_subclass(noted).detach().requires_grad_()
    optimizer = torch.optim.SGD([leaf], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        result = leaf * 2
        result.register_hook(lambda grad: grad * 2)
        Double.apply(result).sum().backward()
        optimizer.step()
    plain = torch.ones(2, requires_grad=True)
    (plain * plain).sum().backward()
    return [plain.grad.tolist(), leaf.detach().tolist()]


def with_a_mode(torch: Any, heard: Heard) -> list[Any]:
    """The same for a function mode, and modules."""
    base = importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode

    class Noting(base):  # type: ignore[misc, valid-type]
        """Notes what is called."""

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            """Note it."""
            heard.append(f"{function.__qualname__} {getattr(getattr(function, '__self__', None), '__name__', '')}")
            return function(*args, **(kwargs or {}))

    with Noting():
        torch.manual_seed(0)
        layer = torch.nn.Linear(2, 2)
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda grad: None)
        layer(x).sum().backward()
        with torch.no_grad():
            x.sub_(x.grad)
            x.data.mul_(2)
    return [x.tolist()]


def with_own_modules(torch: Any, heard: Heard) -> list[Any]:
    """Modules that note what they are asked, and values of classes that do."""

    class Kind(type):
        """A class that notes what it is asked."""

        def __getattribute__(cls, name: str) -> Any:
            heard.append(f"class {name}")
            return super().__getattribute__(name)

    class Aside(metaclass=Kind):
        """Has nothing to do with a run."""

    class Noted(torch.nn.Module):  # type: ignore[misc, name-defined]
        """One with names of its own for what it holds."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
            self.scale = torch.nn.Parameter(torch.ones(2))
            self.plain = [torch.ones(2, requires_grad=True)]

        def forward(self, x: Any) -> Any:
            """Use all of it."""
            return self.second(self.first(x)) * self.scale + self.plain[0]

        def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
            """Only some."""
            return iter([("other", self.scale)])

        def named_modules(self, *args: Any, **kwargs: Any) -> Any:
            """None."""
            return iter([])

        def __hash__(self) -> int:
            heard.append("hash")
            return 1

        def __eq__(self, other: object) -> bool:
            heard.append("==")
            return self is other

        def __getattribute__(self, name: str) -> Any:
            if "hook" not in name:  # PyTorch itself looks at them when there are any, ours among them
                heard.append(name)
            return super().__getattribute__(name)

    aside, noted = Aside(), Noted()
    whole = torch.nn.Sequential(noted, torch.nn.ReLU())
    del heard[:]
    for _ in range(2):
        whole(torch.ones(3, 2)).sum().backward()
    return [type(aside) is Aside, noted.plain[0].grad.shape == (2,)]


def with_own_optimizers(torch: Any, heard: Heard) -> list[Any]:
    """Optimizers that note what they are asked, and are equal to nothing."""

    class Noted(torch.optim.SGD):  # type: ignore[misc, name-defined]
        """One that cannot be hashed."""

        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            heard.append("==")
            return False

        def __getattribute__(self, name: str) -> Any:
            if "hook" not in name:
                heard.append(name)
            return super().__getattribute__(name)

    weight = torch.ones(2, requires_grad=True)
    optimizer = Noted([weight], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()
    return [weight.tolist()]


@pytest.mark.parametrize("program", [with_own_class, with_a_mode, with_own_modules, with_own_optimizers])
@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_nothing_else_is_asked(engine, program):
    """A recording reads tensors behind their backs: no call, no attribute and no comparison is heard of."""
    torch = pytest.importorskip(engine)
    alone: Heard = []
    watched: Heard = []
    wanted = program(torch, alone)
    with recording(level="full") as record:
        assert program(torch, watched) == wanted
    assert watched == alone
    assert [event.kind for event in record.events].count("backward-end") >= 1
    assert not [event for event in record.events if event.kind == "problem"]


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_names_are_those_under_which_modules_hold_parameters(engine):
    """Also where a class tells other names, and shared modules and parameters have the first of theirs."""
    torch = pytest.importorskip(engine)

    class Renaming(torch.nn.Sequential):
        """Names nothing."""

        named_parameters = named_modules = lambda self, *args, **kwargs: iter([])

    shared = torch.nn.Linear(2, 2)
    model = Renaming(shared, torch.nn.Sequential(torch.nn.ReLU(), shared), torch.nn.Linear(2, 2))
    model[2].weight = shared.weight
    with recording(level="full") as record:
        model(torch.ones(1, 2)).sum().backward()

    told = next(event for event in record.events if event.kind == "module")
    wanted = [name for name, _ in torch.nn.Module.named_parameters(torch.nn.Sequential(*model))]
    assert list(told.data["parameters"]) == wanted == ["0.weight", "0.bias", "2.bias"]


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_optimizers_that_cannot_be_hashed_are_recorded(engine):
    """Made, clearing and stepping."""
    torch = pytest.importorskip(engine)
    with recording(level="full") as record:
        with_own_optimizers(torch, [])
    actions = [event.data["action"] for event in record.events if event.kind == "optimizer"]
    assert actions == ["made", *["zero_grad", "step"] * 2]
