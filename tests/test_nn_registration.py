"""What modules take in: hooks of registration, containers, extra state, hooks of all modules (beside PyTorch)."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

from both_engines import differential, raises


def _module(torch: Any) -> Any:
    return import_module(f"{torch.__name__}.nn.modules.module")


@differential
def test_registrations_are_told(torch: Any) -> Any:
    """Hooks hear of parameters, buffers and modules as they come, however they come, and may replace them."""
    nn, module, heard = torch.nn, _module(torch), list[Any]()

    def told(kind: str) -> Any:
        return lambda m, name, value: heard.append([kind, type(m).__name__, name, type(value).__name__])

    handles = [
        module.register_module_parameter_registration_hook(told("parameter")),
        module.register_module_buffer_registration_hook(told("buffer")),
        module.register_module_module_registration_hook(told("module")),
    ]
    m = nn.Module()
    m.register_parameter("none", None)
    m.register_buffer("empty", None)
    m.add_module("absent", None)
    m.x = nn.Parameter(torch.ones(1))
    m.x = None
    m.register_buffer("b", torch.ones(1))
    m.b = torch.zeros(1)
    m.c = nn.Buffer(torch.ones(1))
    m.inner = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU())
    m.inner = None
    nn.ParameterList([torch.ones(1)])
    for handle in handles:
        handle.remove()
    replacing = module.register_module_module_registration_hook(lambda m, name, value: nn.Tanh())
    replaced = nn.Sequential(nn.ReLU())
    replacing.remove()
    return heard, repr(replaced)


@differential
def test_containers_refuse_and_join(torch: Any) -> Any:
    """A ``Sequential`` joins only its like, and inserts only within its length; dictionaries of parameters join."""
    nn = torch.nn
    made = nn.Sequential(nn.ReLU(), nn.Tanh())
    only = "add operator supports only objects of Sequential class"
    refused = [raises(only, made.__add__, other) for other in (3, [nn.ReLU()])]
    refused += [raises(only, made.__iadd__, [nn.ReLU()]), raises("Index out of range: 3", made.insert, 3, nn.ReLU())]
    refused += [
        raises("Index out of range: -3", made.insert, -3, nn.ReLU()),
        raises("module should be", made.insert, 0, 3),
    ]
    made.insert(-2, nn.GELU())
    p = nn.ParameterDict({"a": torch.ones(1)})
    joined = p | {"n": torch.zeros(2)}
    front = {"z": 1} | p
    p |= {"k": torch.ones(2)}
    return (
        refused,
        repr(made),
        list(joined.items()),
        list(front),
        list(p),
        type(front).__name__,
        p.copy()["a"] is p["a"],
    )


@differential
def test_extra_state_of_any_module(torch: Any) -> Any:
    """Every module has the two methods, which only count where a subclass wrote them."""

    class Kept(torch.nn.Module):  # type: ignore[misc]
        def get_extra_state(self) -> int:
            return 3

    m = torch.nn.Module()
    refused = [
        raises("should never be called", m.get_extra_state),
        raises("should never be called", m.set_extra_state, 1),
    ]
    return (
        refused,
        dict(Kept().state_dict()),
        dict(m.state_dict()),
        raises("Unexpected key", Kept().load_state_dict, {"_extra_state": 3}),
    )


@differential
def test_backward_hooks_of_all_modules_are_of_one_kind(torch: Any) -> Any:
    """After a full hook for all modules there is no regular one; one tensor that a hook returns counts by its rows."""
    module = _module(torch)
    handle = module.register_module_full_backward_hook(lambda *given: None)
    refused = raises("Cannot use both regular backward hooks", module.register_module_backward_hook, print)
    handle.remove()
    m, x = torch.nn.Linear(1, 1), torch.ones(1, 1, requires_grad=True)
    returned = []
    for value in (torch.ones(1, 1), (torch.ones(2),), (torch.ones(1, 1), None)):
        handle = m.register_full_backward_hook(lambda m, gi, go, value=value: value)
        phrase = "invalid number" if len(value) == 2 else "has changed the size of value"
        returned.append(raises(phrase, m(x).sum().backward))
        handle.remove()
    return refused, returned


@differential
def test_assigning_needs_an_inverse(torch: Any) -> Any:
    """A parametrization without ``right_inverse`` starts from the tensor, but nothing can be assigned to it."""
    parametrize = import_module(f"{torch.__name__}.nn.utils.parametrize")

    class Doubled(torch.nn.Module):  # type: ignore[misc]
        def forward(self, w: Any) -> Any:
            return w * 2

    m = torch.nn.Linear(2, 2)
    with torch.no_grad():
        m.weight.fill_(1.0)
    parametrize.register_parametrization(m, "weight", Doubled())
    return m.weight, raises("does not implement right_inverse", setattr, m, "weight", torch.ones(2, 2))


@differential
def test_buffers_assigned_over_each_other(torch: Any) -> Any:
    """A ``Buffer`` says whether it is part of the state, whatever had its name; a plain tensor does not."""
    nn = torch.nn
    makers = {
        "tensor": lambda: torch.ones(2), "lasting": lambda: nn.Buffer(torch.ones(2)), "none": lambda: None,
        "passing": lambda: nn.Buffer(torch.ones(2), persistent=False), "parameter": lambda: nn.Parameter(torch.ones(2)),
    }  # fmt: skip
    found = []
    for names in [
        *itertools.product(makers, repeat=2),
        ("lasting", "passing", "tensor"),
        ("passing", "none", "lasting"),
    ]:
        m = nn.Module()
        try:
            for name in names:
                m.a = makers[name]()
            found.append([names, sorted(m.state_dict()), [k for k, _ in m.named_buffers()], "a" in m.__dict__])
        except (KeyError, TypeError) as error:
            found.append([names, type(error).__name__])
    m.a = nn.Buffer(torch.ones(2), persistent=False)
    del m.a
    return found, m._non_persistent_buffers_set


@differential
def test_register_buffer_overridden(torch: Any) -> Any:
    """Assignment asks the module's own ``register_buffer``, also one that knows nothing of persistence."""
    nn, heard = torch.nn, []

    class Short(nn.Module):
        def register_buffer(self, name: str, value: Any) -> None:
            heard.append(name)
            super().register_buffer(name, value, True)

    m = Short()
    m.a = nn.Buffer(torch.ones(1))
    m.a = torch.zeros(1)
    return heard, raises("without the persistent", setattr, m, "b", nn.Buffer(torch.ones(1), persistent=False))


@differential
def test_batches_counted_are_kept(torch: Any) -> Any:
    """A state from before batches were counted, or none, leaves the count that a batch norm has."""
    norm = torch.nn.BatchNorm1d(2)
    norm.num_batches_tracked = torch.tensor(10)
    norm.load_state_dict({}, strict=False)
    return norm.num_batches_tracked, norm.state_dict()["num_batches_tracked"]
