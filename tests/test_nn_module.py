"""``nn.Module``: its walk, state, hooks around both, conversions and refusals, held against PyTorch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from both_engines import differential, raises


def network(torch: Any) -> Any:
    """A layer, a norm, a parameter, a lasting and a passing buffer."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(2, 2)
            self.b = torch.nn.BatchNorm1d(2)
            self.w = torch.nn.Parameter(torch.ones(2))
            self.again = self.a
            self.register_buffer("kept", torch.zeros(2))
            self.register_buffer("passing", torch.zeros(2), persistent=False)

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x)) * self.w

        def extra_repr(self) -> str:
            return "one\ntwo"

    return Net()


@differential
def test_walk(torch: Any) -> Any:
    """Names with and without repeats, prefixes, versions in the state, and the text of a module with both parts."""
    net = network(torch)
    order: list[str] = []
    net.apply(lambda m: order.append(type(m).__name__))
    return [
        repr(net), list(net.state_dict()), dict(net.state_dict()._metadata), order,
        [n for n, _ in net.named_parameters(remove_duplicate=False)], net._get_name(), net._version,
        [n for n, _ in net.named_parameters(prefix="p", recurse=False)],
        [n for n, _ in net.named_modules(prefix="x", remove_duplicate=False)], [n for n, _ in net.named_children()],
    ]  # fmt: skip


@differential
def test_state_that_does_not_fit(torch: Any) -> Any:
    """What is missing, too much, of another shape or no tensor; batches counted in old states; assignment."""
    net = network(torch)
    state = net.state_dict()
    loose = net.load_state_dict({}, strict=False)
    given = torch.ones(2)
    net.load_state_dict({**state, "w": given}, assign=True)
    return [
        raises("Missing key", net.load_state_dict, {}), loose.missing_keys, repr(net.load_state_dict(state)),
        raises("Unexpected key", net.load_state_dict, {**state, "zz": given}),
        raises("size mismatch for w", net.load_state_dict, {**state, "w": torch.ones(3)}),
        raises("dict-like", net.load_state_dict, 3), raises("Tensor-like", net.load_state_dict, {**state, "w": 3}),
        net.w.data_ptr() == given.data_ptr(), net.w.requires_grad,
    ]  # fmt: skip


@differential
def test_hooks_around_state(torch: Any) -> Any:
    """Hooks before and after saving and loading, state beside tensors, and own ways to save."""
    log: list[Any] = []

    class Counting(torch.nn.Linear):
        count = 3

        def get_extra_state(self) -> Any:
            return torch.tensor(self.count)

        def set_extra_state(self, state: Any) -> None:
            self.count = int(state) + 1

    net = torch.nn.Sequential(Counting(2, 2))
    net.register_state_dict_pre_hook(lambda m, prefix, keep_vars: log.append(("before", prefix)))
    net._register_state_dict_hook(lambda m, state, prefix, local: log.append(("after", list(state))))
    net[0].register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: log.append(("load", prefix)))
    net._register_load_state_dict_pre_hook(lambda *given: log.append(("raw", given[1])))
    net.register_load_state_dict_post_hook(lambda m, keys: log.append(("loaded", keys.missing_keys)))
    net.load_state_dict(net.state_dict())
    return [log, net[0].count]


@differential
def test_hooks_of_all_modules(torch: Any) -> Any:
    """Hooks for every module run before its own, forward and backward, until removed."""
    every, log, x = torch.nn.modules.module, [], torch.ones(1, 2, requires_grad=True)
    layer = torch.nn.ReLU()
    layer.register_forward_hook(lambda m, args, out: log.append("own"))
    handles = [
        every.register_module_forward_pre_hook(lambda m, args: log.append("pre")),
        every.register_module_forward_hook(lambda m, args, out: log.append("all")),
        every.register_module_full_backward_hook(lambda m, gi, go: log.append(("back", gi, go))),
        every.register_module_full_backward_pre_hook(lambda m, go: log.append(("before", go))),
    ]
    layer(x).sum().backward()
    for handle in handles:
        handle.remove()
    layer(x)
    return [log, x.grad]


@differential
def test_conversions_and_copies(torch: Any) -> Any:
    """Dtypes of parameters, buffers and gradients; integers stay; copies are modules of their own."""
    net = network(torch)
    net(torch.arange(6.0).reshape(3, 2)).sum().backward()
    kinds = [[m.w.dtype, m.w.grad.dtype, m.kept.dtype] for m in (net.double(), net.half(), net.float())]
    copied, pickled = copy.deepcopy(net), pickle.loads(pickle.dumps(torch.nn.Linear(2, 2)))
    return [
        kinds, net.b.num_batches_tracked.dtype, net.to(torch.float64).w.dtype, net.type(torch.float32).w.dtype,
        raises("floating point or complex", net.to, torch.int32), raises("boolean", net.train, 3),
        copied.w is net.w, isinstance(copied.w, torch.nn.Parameter), repr(pickled), net.cpu() is net,
        net.to_empty(device="cpu").w.shape, sorted(set(dir(net)) & {"a", "w", "kept", "forward"}),
    ]  # fmt: skip


@differential
def test_refused_attributes(torch: Any) -> Any:
    """Buffers hold tensors, members are of the kind asked for, and nothing goes before ``__init__``."""
    net = network(torch)

    class Early(torch.nn.Module):
        def __init__(self, value: Any) -> None:
            self.value = value

    return [
        raises("as buffer 'kept'", setattr, net, "kept", 3), raises("is not an nn.Parameter", net.get_parameter, "a"),
        raises("is not a buffer", net.get_buffer, "w"), net.get_buffer("b.running_mean"),
        raises("cannot assign module before", Early, torch.nn.Linear(1, 1)),
        raises("cannot assign parameters before", Early, torch.nn.Parameter(torch.ones(1))),
    ]  # fmt: skip


@differential
def test_F_one_element_is_loaded_as_a_number(torch):
    """F-: a parameter that is a number takes the one element that files of old releases hold, and nothing longer."""
    m = torch.nn.Module()
    m.w = torch.nn.Parameter(torch.zeros(()))
    m.load_state_dict({"w": torch.full((1,), 3.0)})
    return [m.w, raises("size mismatch", m.load_state_dict, {"w": torch.ones(2)})]


@differential
def test_F_submodules_are_modules(torch):
    """F-: ``get_submodule`` gives modules, not what else has the name."""
    m = torch.nn.Sequential(torch.nn.Linear(1, 1))
    return [raises("`weight` is not an nn.Module", m.get_submodule, "0.weight"), type(m.get_submodule("0")).__name__]


@differential
def test_F_names_of_a_plain_dict_are_sorted(torch):
    """F-: a ``ParameterDict`` takes a ``dict`` in the order of its names, pairs as they come, and gives the last."""
    pairs = [("b", torch.ones(1)), ("a", torch.zeros(1))]
    sorted_, kept = torch.nn.ParameterDict(dict(pairs)), torch.nn.ParameterDict(pairs)
    return [list(sorted_), list(kept), *kept.popitem(), list(kept)]


@differential
def test_F_a_module_with_whole_numbers_takes_a_memory_format(torch):
    """F-: ``to(memory_format=...)`` leaves counts alone, such as those of a norm, and is no device."""
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 2, 3), torch.nn.BatchNorm2d(2)).to(memory_format=torch.channels_last)
    return [net[0].weight.is_contiguous(memory_format=torch.channels_last), net[1].num_batches_tracked.dtype.itemsize]


@differential
def test_submodules_are_put_in_place(torch: Any) -> Any:
    """``set_submodule`` makes new names, unless strict, and takes modules only, in place of modules."""
    nn, found = torch.nn, []
    places = ["t.l", "t.q", "q", "q.r", "0", "t.l.weight", "x", "x.y", ""]
    for strict in (False, True):
        for name, module in [*[(name, nn.ReLU()) for name in places], ("t.l", 5), ("t.l", None)]:
            m = nn.Module()
            m.t, m.x = nn.Module(), 5
            m.t.l = nn.Linear(1, 2)
            try:
                m.set_submodule(name, module, strict)
            except (AttributeError, ValueError) as error:
                found.append([type(error).__name__, str(error)])
            else:
                found.append([n for n, _ in m.named_modules()])
    return found


@differential
def test_modules_with_other_bases(torch: Any) -> Any:
    """``call_super_init`` passes arguments on to the next class; without it ``Module`` takes none."""

    class Other:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__()
            self.got = args, kwargs

    class Alone(torch.nn.Module, Other):
        pass

    class Both(torch.nn.Module, Other):
        call_super_init = True

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    return [
        Both(1, a=2).got, hasattr(Alone(), "got"), torch.nn.Module.call_super_init,
        raises("takes 1 positional argument but 2", Alone, 1), raises("unexpected keyword argument 'a'", Alone, a=1),
    ]  # fmt: skip
