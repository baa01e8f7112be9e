"""Names of functions that are asked about, modes that change nothing, loading where nothing else is; beside PyTorch."""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from both_engines import differential, raises, warned


@differential
def test_accessors_have_names(torch: Any) -> Any:
    """``resolve_name`` names what reads and sets attributes; overridable functions stand under their module."""
    overrides = import_module(f"{torch.__name__}.overrides")
    tensor = torch.Tensor
    names = [overrides.resolve_name(getattr(tensor, name).__get__) for name in ("shape", "grad", "T", "data", "device")]
    names += [
        overrides.resolve_name(tensor.grad.__set__),
        overrides.resolve_name(tensor.grad),
        overrides.resolve_name(len),
    ]
    known = overrides.get_overridable_functions()
    return names, torch.add in known[torch], tensor.add in known[tensor]


@differential
def test_a_mode_that_changes_nothing(torch: Any) -> Any:
    """``BaseTorchFunctionMode`` calls what it is asked about, and modes outside of it are asked."""
    overrides, heard = import_module(f"{torch.__name__}.overrides"), list[str]()

    class Heard(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Heard(), overrides.BaseTorchFunctionMode():
        made = torch.zeros(2)
    return heard, made


@differential
def test_tensors_are_loaded_to_no_missing_device(torch: Any) -> Any:
    """Tensors cannot come to a GPU; what has no tensor is read anyway; ``mmap`` needs a path."""

    def load(value: Any, **options: Any) -> Any:
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        return torch.load(file, **options)

    tensors, cuda = {"a": torch.ones(2)}, "Attempting to deserialize object on a CUDA device"
    refused = [
        raises(cuda, load, tensors, map_location=place)
        for place in ("cuda", "cuda:0", torch.device("cuda"), {"cpu": "cuda"})
    ]
    refused += [raises(cuda, load, tensors, map_location="cuda", weights_only=False)]
    refused += [raises("don't know how to restore data location", load, tensors, map_location="xla")]
    refused += [raises("f must be a file path in order to use the mmap argument", load, tensors, mmap=True)]
    found = [
        load(tensors, map_location=place) for place in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, {"cuda": "cpu"})
    ]
    return refused, found, load([1], map_location="cuda")


@differential
def test_hooks_that_stay_behind(torch: Any) -> Any:
    """``warn_if_has_hooks`` tells of each hook that a pickle would not have."""
    hooks, x = import_module(f"{torch.__name__}.utils.hooks"), torch.ones(2, requires_grad=True)
    silent = hooks.warn_if_has_hooks(x)
    x.register_hook(hooks.unserializable_hook(lambda g: g))
    silent = [silent, hooks.warn_if_has_hooks(x)]
    x.register_hook(lambda g: g)
    return silent, warned("will not be serialized", hooks.warn_if_has_hooks, x)


@differential
def test_complex_weights_are_drawn(torch: Any) -> Any:
    """``uniform_`` draws both parts of complex numbers, so that layers of complex numbers can be made."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(2, 3, dtype=torch.complex64)
    drawn = torch.empty(20, dtype=torch.complex128).uniform_(-1, 2)
    return layer.weight.detach(), layer.bias.detach(), drawn, torch.empty(2, 3, dtype=torch.complex64).t().uniform_()
