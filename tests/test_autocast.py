"""``autocast`` on the CPU: which functions compute in which dtype, what is recorded, and how blocks nest."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_engines import differential, raises
from op_samples import Const, Dtype, Sample, all_samples, function_of, tensors_for

import retrograd

pytest.importorskip("ml_dtypes")

OTHERWISE = {
    "_log_softmax_backward_data", "_softmax_backward_data", "corrcoef", "cov", "einsum", "inner", "tensordot",
    "matrix_power", "linalg.matrix_power", "lstm", "view_as_complex_copy", "nn.functional.interpolate",
    "linalg.pinv", "pinv of hermitian ones", "nn.functional.pad", "fake_quantize_per_tensor_affine",
}  # fmt: skip
"""Composed functions that PyTorch casts in the midst or by their arguments, and a few that it lists by other names."""


def _in(engine: Any, value: Any, dtype: Any) -> Any:
    if isinstance(value, Const):
        return _in(engine, value.array, dtype)
    if isinstance(value, Dtype):
        return getattr(engine, value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        t = tensors_for(engine, Const(value), [], grad=False)
        return t.to(dtype) if t.dtype.is_floating_point else t
    if isinstance(value, (list, tuple)):
        return type(value)([_in(engine, entry, dtype) for entry in value])
    return value


def _dtypes(engine: Any, sample: Sample, name: str) -> list[str] | None:
    """The dtypes of what a call returns within a block, or None where it is refused."""
    dtype = getattr(engine, name)
    try:
        args = _in(engine, list(sample.args), dtype)
        kwargs = {key: _in(engine, value, dtype) for key, value in sample.kwargs.items()}
        with engine.autocast("cpu"):
            found = function_of(engine, sample)(*args, **kwargs)
    except Exception:
        return None
    results = found if isinstance(found, (tuple, list)) else [found]
    return [str(t.dtype) for t in results if hasattr(t, "requires_grad")]


@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_results() -> None:
    """Each function gives PyTorch's dtypes for single precision and for bfloat16."""
    torch = pytest.importorskip("torch")
    wrong = {}
    for sample in {s.name: s for s in reversed(all_samples())}.values():
        if sample.name in OTHERWISE or "sparse" in sample.name or "random" in sample.name:
            continue
        for name in ("float32", "bfloat16"):
            wanted, found = _dtypes(torch, sample, name), _dtypes(retrograd, sample, name)
            if wanted != found and wanted is not None:
                wrong[sample.name, name] = (wanted, found)
    assert not wrong


def _trained(torch: Any, optimizer: str) -> Any:
    torch.manual_seed(0)
    x = torch.rand(16, 1, 6, 6)
    y = (x.mean((1, 2, 3)) > 0.5).long()
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 2)
    )
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=0.02)
    scaler = torch.amp.GradScaler("cpu")
    losses = []
    for _ in range(10):
        step.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
            loss = torch.nn.functional.cross_entropy(out, y)
        scaler.scale(loss).backward()
        scaler.step(step)
        scaler.update()
        losses.append(loss.item())
    return losses, str(out.dtype), str(loss.dtype), {str(p.grad.dtype) for p in model.parameters()}


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_training(optimizer: str) -> None:
    """Layers compute in bfloat16, the loss and all gradients in single precision; losses are PyTorch's, rounded."""
    torch = pytest.importorskip("torch")
    wanted, found = _trained(torch, optimizer), _trained(retrograd, optimizer)
    np.testing.assert_allclose(found[0], wanted[0], rtol=2**-5)
    assert wanted[1:] == found[1:] == ("torch.bfloat16", "torch.float32", {"torch.float32"})


@differential
def test_modules(torch: Any) -> Any:
    """Layers with products in them, recurrent ones and cells, attention, losses."""
    nn, one = torch.nn, torch.ones(1, 1, 2)
    with torch.autocast("cpu"):
        outs = [
            nn.Linear(2, 2)(one), nn.Conv1d(1, 1, 1)(one), nn.LSTM(2, 2)(one)[0], nn.GRU(2, 2)(one)[0],
            nn.RNN(2, 2)(one)[0], nn.RNNCell(2, 2)(one[0]), nn.LSTMCell(2, 2)(one[0])[0], nn.GRUCell(2, 2)(one[0]),
            nn.MultiheadAttention(2, 1)(one, one, one)[0], nn.TransformerEncoderLayer(2, 1, 4)(one),
            nn.Embedding(3, 2)(torch.tensor([1])), nn.LayerNorm(2)(one.bfloat16()), nn.MSELoss()(one, one.bfloat16()),
            nn.Bilinear(2, 2, 2)(one, one), nn.PReLU()(one), nn.Softmax(-1)(one.bfloat16()),
        ]  # fmt: skip
    return [str(t.dtype) for t in outs]


@differential
def test_what_is_recorded(torch: Any) -> Any:
    """A cast is a node; that of a leaf is shared by all uses in the block unless the cache is off."""
    w = torch.ones(2, 2, requires_grad=True)

    def casts(**how: Any) -> Any:
        with torch.autocast("cpu", **how):
            y = w @ w
        (first, _), (second, _) = y.grad_fn.next_functions
        return first.name(), first is second

    with torch.autocast("cpu"):
        y = (w @ w) @ w
    y.float().sum().backward()
    return casts(), casts(cache_enabled=False), w.grad, str(w.grad.dtype)


@differential
def test_blocks(torch: Any) -> Any:
    """Nested, switched off within, as decorators, of halves, left by an error; doubles and ``out`` stay as they are."""
    a = torch.ones(2, 2)
    told = []

    @torch.autocast("cpu")
    def decorated() -> Any:
        return a @ a

    with torch.autocast("cpu"):
        told.append(a @ a)
        with torch.autocast("cpu", enabled=False):
            told.append(a @ a)
        told.append(a.mm(a))
        told.append(a.double() @ a.double())
        told.append(torch.mm(a, a, out=torch.zeros(2, 2)))
        told.append(torch.zeros(2, 2).addmm_(a, a))
        with torch.autocast("cpu", dtype=torch.float16):
            told.append(a @ a)
    try:
        with torch.autocast("cpu"):
            raise ValueError
    except ValueError:
        told.append(a @ a)
    told += [decorated(), a @ a]
    return [str(t.dtype) for t in told]


@differential
def test_settings(torch: Any) -> Any:
    """What programs ask and set; a dtype that is not for the CPU is told and switches it off."""
    before = torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu"))
    with torch.autocast("cpu", dtype=torch.float16):
        within = torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled(), str(torch.get_autocast_dtype("cpu"))
    torch.set_autocast_enabled("cpu", True)
    on = str((torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
    torch.set_autocast_enabled("cpu", False)
    amp = importlib.import_module(f"{torch.__name__}.amp")
    warned = raises("CPU Autocast only supports", torch.autocast, "cpu", torch.float32)
    return before, within, on, amp.is_autocast_available("cpu"), torch.is_autocast_enabled("cpu"), warned


@differential
def test_custom_functions(torch: Any) -> Any:
    """``custom_fwd`` and ``custom_bwd`` run a Function as its block was, or outside of it with cast inputs."""
    amp = importlib.import_module(f"{torch.__name__}.amp")
    seen: list[Any] = []

    def function(**how: Any) -> Any:
        class Product(torch.autograd.Function):  # type: ignore[misc,name-defined]
            @staticmethod
            @amp.custom_fwd(device_type="cpu", **how)
            def forward(ctx: Any, x: Any) -> Any:
                seen.append((str(x.dtype), torch.is_autocast_enabled("cpu")))
                ctx.save_for_backward(x)
                return x @ x

            @staticmethod
            @amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, g: Any) -> Any:
                seen.append((str(g.dtype), torch.is_autocast_enabled("cpu")))
                return g * 2

        return Product.apply

    x = torch.ones(2, 2, requires_grad=True)
    for how in ({}, {"cast_inputs": torch.float32}, {"cast_inputs": torch.bfloat16}):
        with torch.autocast("cpu"):
            out = function(**how)(x * 1)
        out.float().sum().backward()
    function()(x * 1).sum().backward()
    return seen, x.grad


@differential
def test_function_modes_hear_what_was_called(torch: Any) -> Any:
    """A mode of the program's gets the arguments as they were given, and its calls are cast."""
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    heard: list[Any] = []

    class Listening(overrides.TorchFunctionMode):  # type: ignore[misc,name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.__name__ == "matmul":
                heard.append(str(args[0].dtype))
            return func(*args, **(kwargs or {}))

    a = torch.ones(2, 2)
    with torch.autocast("cpu"), Listening():
        out = torch.matmul(a, a)
    return heard, str(out.dtype)


def test_threads_have_their_own() -> None:
    """A block casts in its own thread alone."""
    threading = importlib.import_module("threading")
    found: list[Callable[[], Any]] = []
    a = retrograd.ones(2, 2)
    with retrograd.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((a @ a).dtype))
        thread.start()
        thread.join()
        found.append((a @ a).dtype)
    assert found == [retrograd.float32, retrograd.bfloat16]


@pytest.mark.parametrize("torch", [pytest.importorskip("torch"), retrograd])
def test_scale_that_reaches_zero(torch: Any) -> None:
    """Gradients that overflow again and again halve the scale until it is zero: further steps are left out as well."""
    weight = torch.ones(1, requires_grad=True)
    sgd = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1e-44)
    for _ in range(6):
        scaler.scale((weight * float("inf")).sum()).backward()
        scaler.step(sgd)
        scaler.update()

    assert (scaler.get_scale(), weight.tolist()) == (0.0, [1.0])
