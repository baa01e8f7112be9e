"""Names that programs ask for beside the engine: exchanged tensors, devices that are not there, hooks by C's names."""

from __future__ import annotations

import importlib
import io
import weakref
from typing import Any

from both_engines import differential, raises


@differential
def test_V_10_swapped_tensors(t: Any) -> Any:
    """Row V-10: two tensors exchange class, attributes, and gradients; a graph from before is refused."""
    utils = importlib.import_module(f"{t.__name__}.utils")
    weight, other = t.nn.Parameter(t.ones(2)), t.zeros(3)
    weight.tag = "kept"
    before = (weight * 3).sum()
    utils.swap_tensors(weight, other)
    poisoned = raises("Trying to execute AccumulateGrad node that was poisoned by swap_tensors", before.backward)
    found = [type(weight).__name__, type(other).__name__, weight, other, other.grad, weight.grad, other.tag]
    kept = weakref.ref(other)
    refused = raises("has weakref associated with it", utils.swap_tensors, weight, other)
    return found, hasattr(weight, "tag"), poisoned, refused, kept() is other


@differential
def test_F_53_no_accelerator(t: Any) -> Any:
    """Row F-53: the absent accelerator is None, and what needs one is refused."""
    phrase = "Cannot access accelerator device when none is available."
    refused = [
        raises(phrase, getattr(t.accelerator, name)) for name in ("current_stream", "synchronize", "empty_cache")
    ]
    return t.accelerator.current_accelerator(), t.accelerator.is_available(), t.accelerator.device_count(), refused


@differential
def test_F_52_kinds_of_devices(t: Any) -> Any:
    """Row F-52: profilers number kinds of devices as PyTorch does; a checkpoint's default is the CPU."""
    kinds, default = t.autograd.DeviceType, importlib.import_module(f"{t.__name__}.utils.checkpoint").DefaultDeviceType
    return str(kinds.CPU), repr(kinds.MTIA), int(kinds.Meta), default.get_device_type()


@differential
def test_G_34_switches_want_truth_values(t: Any) -> Any:
    """Rows G-34, G-56: switches refuse what is neither True nor False."""
    graph = importlib.import_module(f"{t.__name__}.autograd.graph")
    return (
        raises("enabled must be a bool, but got str", graph.set_warn_on_accumulate_grad_stream_mismatch, "x"),
        raises("must be bool, not str", t.autograd.set_multithreading_enabled, "x"),
        t._C._is_multithreading_enabled(),
    )


@differential
def test_G_23_hooks_by_their_names_in_c(t: Any) -> Any:
    """Rows G-23, G-33: pairs of hooks are pushed and popped, entering them is forbidden and allowed again."""
    names = t._C._autograd
    names._push_saved_tensors_default_hooks(lambda x: x * 10, lambda x: x)
    x = t.tensor([2.0], requires_grad=True)
    y = x * x
    names._pop_saved_tensors_default_hooks()
    names._saved_tensors_hooks_disable("not now")
    refused = raises("not now", t.autograd.graph.saved_tensors_hooks(abs, abs).__enter__)
    names._saved_tensors_hooks_enable()
    y.backward()
    return x.grad, refused, names._saved_tensors_hooks_is_enabled()


@differential
def test_V_62_where_loaded_tensors_go(t: Any) -> Any:
    """Row V-62: a function given as map_location is asked for each tensor; what is no place is refused."""
    file, asked = io.BytesIO(), []
    t.save({"a": t.ones(2), "b": t.zeros(1)}, file)

    def read(place: Any) -> Any:
        file.seek(0)
        return t.load(file, map_location=place)

    loaded = read(lambda storage, where: (asked.append((type(storage).__name__, where)), storage)[1])
    return loaded, asked, raises("'int' object is not callable", read, 3)


@differential
def test_V_01_containers_of_parameters(t: Any) -> Any:
    """Row V-01: one entry prints on one line, several on lines of their own; keys are texts."""
    one, named = t.nn.ParameterList([t.ones(1)]), t.nn.ParameterDict({"a": t.ones(2), "b": 3})
    phrase = "Index given to ParameterDict cannot be used as a key as it is not a string (type is 'int')"
    texts = [repr(one), repr(t.nn.ParameterList([t.ones(1), 3])), repr(named), repr(t.nn.ParameterDict())]
    return texts, raises(phrase, named.__getitem__, 1), raises(phrase, named.__setitem__, 1, t.ones(1))


@differential
def test_V_62_state_of_lbfgs(t: Any) -> Any:
    """Row V-62: what L-BFGS keeps has PyTorch's names and kinds, so that one reads the other's state."""
    p = t.tensor([1.0, 2.0, -1.5], dtype=t.float64, requires_grad=True)
    optimizer = t.optim.LBFGS([p], max_iter=4, history_size=2)

    def loss() -> Any:
        optimizer.zero_grad()
        value = (p**4).sum() + p[0] * p[1]
        value.backward()
        return value

    for _ in range(3):
        optimizer.step(loss)
    state = optimizer.state_dict()["state"][0]
    kinds = {name: type(value).__name__ for name, value in sorted(state.items())}
    return p.detach(), kinds, state["al"], state["ro"], state["H_diag"]
