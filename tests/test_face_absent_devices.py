"""What programs ask about devices, mixed precision and compilers, as PyTorch's build for CPUs answers."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd


@differential
def test_no_device_is_there(torch: Any) -> Any:
    """The usual questions are answered with no, seeds are taken, and what needs the device says that it is missing."""
    kinds = [torch.cuda, torch.xpu, torch.mtia]
    asked = [(kind.is_available(), kind.device_count()) for kind in kinds]
    torch.cuda.manual_seed(3)
    torch.cuda.manual_seed_all(3)
    torch.cuda.empty_cache()
    device = torch.device(
        "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    )
    refused = [raises("Torch not compiled with CUDA enabled", torch.cuda.synchronize),
               raises("Torch not compiled with CUDA enabled", torch.cuda.current_device)]  # fmt: skip
    return (
        asked,
        torch.ones(1, device=device),
        refused,
        torch.cuda.is_initialized(),
        torch.version.cuda,
        torch.jit.is_scripting(),
    )


@differential
def test_settings_of_backends(torch: Any) -> Any:
    """Settings of libraries can be set, read and changed for a while."""
    cudnn = torch.backends.cudnn
    before = cudnn.enabled, cudnn.benchmark, cudnn.deterministic
    cudnn.benchmark, cudnn.deterministic = True, True
    with cudnn.flags(enabled=False):
        within = cudnn.enabled
    after = cudnn.enabled, cudnn.benchmark, cudnn.deterministic, torch.backends.cuda.matmul.allow_tf32
    cudnn.benchmark, cudnn.deterministic = before[1:]
    return before, within, after


@differential
def test_mixed_precision_is_off(torch: Any) -> Any:
    """A step with ``autocast`` and a scaler for a missing device warns and is an ordinary step."""
    w = torch.nn.Parameter(torch.tensor([2.0]))
    optimizer = torch.optim.SGD([w], lr=0.5)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        scaler = torch.amp.GradScaler("cuda")
        with torch.autocast("cuda"):
            loss = (w * w).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    quiet = torch.autocast("cpu", enabled=False)(lambda x: x * 3)(w)
    heard = ["CUDA is not available" in str(warning.message) for warning in told]
    return w, loss.dtype, heard, scaler.is_enabled(), scaler.state_dict(), quiet


def test_nothing_is_compiled() -> None:
    """``compile`` and the decorators around it leave functions as they are."""

    def double(x: Any) -> Any:
        return x * 2

    compilers = [retrograd.compile, retrograd.jit.script, retrograd.compiler.disable, retrograd.jit.ignore]
    assert all(compiled(double) is double for compiled in compilers)
    assert retrograd.compile(fullgraph=True)(double) is double
    assert not retrograd.compiler.is_compiling()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_compiled_module_is_wrapped() -> None:
    """It is printed, saved and looked into under ``_orig_mod``, as in PyTorch; what is set goes to the module."""
    torch = pytest.importorskip("torch")

    def program(engine: Any) -> Any:
        inner = engine.nn.Sequential(engine.nn.Linear(2, 1))
        inner.note = 3
        wrapped = engine.compile(inner, backend="eager")
        wrapped.note, wrapped.added = wrapped.note + 1, engine.nn.ReLU()
        wrapped.eval()
        copied = copy.deepcopy(wrapped)
        seen = [repr(wrapped), list(wrapped.state_dict()), [name for name, _ in copied.named_modules()]]
        seen += [type(wrapped).__module__.partition(".")[2], isinstance(wrapped, engine.nn.Sequential), len(wrapped)]
        seen += [inner.note, list(inner._modules), inner.training, wrapped.training, copied._orig_mod is inner]
        seen += [tuple(inner(engine.ones(3, 2)).shape), wrapped._orig_mod is inner, bool(wrapped.added is inner.added)]
        seen.append(str(wrapped.load_state_dict(copied.state_dict())))
        del wrapped.note
        seen += [hasattr(inner, "note"), raises("has no attribute", getattr, wrapped, "note")]
        return [*seen, raises("A callable function is expected", engine.compile, 3, backend="eager")]

    assert program(torch) == program(retrograd)
    one = retrograd.compile(retrograd.nn.Linear(2, 1))
    one(retrograd.ones(3, 2)).sum().backward()
    assert one.weight.grad.tolist() == [[3, 3]]
    assert pickle.loads(pickle.dumps(one)).state_dict().keys() == one.state_dict().keys()


@differential
def test_warnings_given_once(torch: Any) -> Any:
    """``set_warn_always`` makes a warning that is given once come each time."""

    def heard() -> int:
        x = torch.ones(1, requires_grad=True)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                (x * x).backward(create_graph=True)
        x.grad = None
        return len(told)

    torch.set_warn_always(True)
    always = heard(), torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    return always, torch.is_warn_always_enabled(), raises("expects a bool", torch.set_warn_always, 1)


@differential
def test_names_around_autograd(torch: Any) -> Any:
    """Small functions of autograd's modules that programs use directly."""
    shape = torch.autograd._calculate_shape
    x = torch.ones(2, 3, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x * 2)
    shapes = [
        shape(x, torch.ones(4, 2, 3), True),
        shape(x, torch.ones(2, 3), False),
        shape(edge, torch.ones(2, 3), False),
    ]
    from_profiler = torch.autograd.profiler_util._format_time
    with torch.autograd.grad_mode._unsafe_preserve_version_counter(x.detach()):
        pass
    return (
        [[tuple(s) for s in pair] for pair in shapes], [from_profiler(v) for v in (1.5, 2500.0, 3e6)],
        torch.autograd.kineto_available(), torch.autograd.function.FunctionMeta is type(torch.autograd.Function),
        raises("Batched grads are not supported", shape, edge, torch.ones(1), True),
        issubclass(torch.Tensor, torch._C.TensorBase), torch._C._is_multithreading_enabled(),
    )  # fmt: skip


@differential
def test_devices_can_be_named(torch: Any) -> Any:
    """Each device that PyTorch knows has a name, with a number or without; other names are refused."""
    made = [torch.device("cuda"), torch.device("cuda:1"), torch.device("cuda", 1), torch.device("cpu:0"),
            torch.device("mps"), torch.device(type="cuda", index=2)]  # fmt: skip
    refused = [raises("at start of device string: foo", torch.device, "foo"),
               raises("Invalid device string: 'cuda:x'", torch.device, "cuda:x"),
               raises("Invalid device string: 'cpu:-1'", torch.device, "cpu:-1")]  # fmt: skip
    same = [
        made[1] == made[2],
        torch.device("cpu") == made[3],
        len({*made}),
        torch.ones(1).device == torch.device("cpu"),
    ]
    return [[(str(d), repr(d), d.type, d.index) for d in made], refused, same]


@differential
def test_nothing_is_put_on_a_missing_device(torch: Any) -> Any:
    """Making or moving a tensor or a module there says that it is missing, whatever function is asked."""
    x, layer = torch.ones(2), torch.nn.Linear
    calls = [
        lambda d: torch.ones(2, device=d), lambda d: torch.tensor([1], device=d), lambda d: torch.rand(2, device=d),
        lambda d: torch.zeros_like(x, device=d), lambda d: x.new_zeros(2, device=d), lambda d: torch.eye(2, device=d),
        lambda d: x.to(d), lambda d: x.to(device=d), lambda d: layer(2, 2).to(d), lambda d: layer(2, 2, device=d),
        lambda d: torch.arange(3, device=d), lambda d: torch.full((2,), 1.0, device=d), lambda d: x.cuda(),
        lambda d: torch.as_tensor([1.0], device=d), lambda d: torch.set_default_device(d) or torch.ones(1),
    ]  # fmt: skip
    try:
        missing = "Torch not compiled with CUDA enabled"
        return [raises(missing, call, d) for call in calls for d in ("cuda", torch.device("cuda:0"))]
    finally:
        torch.set_default_device(None)  # a name would leave PyTorch's mode for it in place for the tests that follow


@differential
def test_scaled_losses(torch: Any) -> Any:
    """A scaler of the CPU multiplies losses, divides gradients, leaves out a step that overflowed, and adapts."""
    p = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([p], 0.1), torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    seen: list[Any] = [scaler.is_enabled(), scaler.get_scale()]
    for factor in (1.0, 2.0, float("inf"), 3.0):
        optimizer.zero_grad()
        loss = scaler.scale((p * factor).sum())
        loss.backward()
        seen += [p.grad.clone(), loss]
        if factor == 2.0:
            scaler.unscale_(optimizer)
            seen.append(p.grad.clone())
        scaler.step(optimizer)
        scaler.update()
        seen += [p.detach().clone(), scaler.get_scale(), scaler.state_dict()]
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    nested = scaler.scale([torch.ones(1), (torch.ones(1),)])
    return seen, other.state_dict(), nested, torch.amp.GradScaler("cpu", enabled=False).state_dict()


@differential
def test_a_scaler_out_of_turn(torch: Any) -> Any:
    """What is called twice or too early, with what no scaler takes, says so."""
    p = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([p], 0.1), torch.amp.GradScaler("cpu")
    early = [raises("_scale is None", call, optimizer) for call in (scaler.step, scaler.unscale_)]
    early.append(raises("_scale is None", scaler.update))
    wrong = [raises("iterable of Tensors", scaler.scale, 3), raises("empty", scaler.load_state_dict, {}),
             raises("growth factor", torch.amp.GradScaler, "cpu", growth_factor=0.5),
             raises("backoff factor", torch.amp.GradScaler, "cpu", backoff_factor=2.0)]  # fmt: skip
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    twice = [raises("unscale_() has already been called", scaler.unscale_, optimizer)]
    scaler.step(optimizer)
    twice += [raises("step() has already been called", scaler.step, optimizer),
              raises("being called after step()", scaler.unscale_, optimizer),
              raises("Closure use", scaler.step, optimizer, closure=lambda: 1)]  # fmt: skip
    scaler.update()
    p.grad = None
    return early, wrong, twice, raises("No inf checks", scaler.update), raises("No inf checks", scaler.step, optimizer)


@differential
def test_questions_about_autocast(torch: Any) -> Any:
    """It is off, and its settings can be asked for."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    within = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(True)
    torch.clear_autocast_cache()
    return before, within, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cuda")
