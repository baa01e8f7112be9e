"""A PyTorch without a name that we use, failures of our own: the program runs as it would alone, and it is said."""

from __future__ import annotations

import sys
import threading
import warnings

import pytest

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording.unseen import sentences
from retrograd.inspect.sources.origins import Marks
from retrograd.inspect.sources.torch_ import own_work, private
from retrograd.inspect.sources.torch_.backward.runs import RunWriter
from retrograd.inspect.sources.torch_.calls.calls import Call
from retrograd.inspect.sources.torch_.calls.pristine import Pristine
from retrograd.inspect.sources.torch_.calls.usual_calls import UsualCalls
from retrograd.inspect.sources.torch_.watching import installation, mode

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.own_problems

NAMES = [
    *("autograd._get_sequence_nr", "autograd._make_grads", "autograd.graph._engine_run_backward"),
    *("_C._get_tracing_state", "_C.DisableTorchFunction", "_C._current_autograd_node"),
    *("_C._len_torch_dispatch_stack", "_C._functorch", "_C._functorch.peek_interpreter_stack", "_C._swap_tensor_impl"),
    *("_C._from_dlpack", "nn.utils.stateless._functional_call", "_C._functorch.get_interpreter_stack"),
    *("overrides._get_current_function_mode_stack", "_C._get_function_stack_at"),
    *("overrides._len_torch_function_stack", "_C._len_torch_function_stack", "overrides.handle_torch_function"),
    *("autograd.function.BackwardCFunction", "autograd.Function.apply", "nn.modules.module._has_any_global_hook"),
    *("nn.modules.module.register_module_forward_pre_hook",),
    *("utils.hooks.RemovableHandle.next_id", "utils.checkpoint"),
    *("optim.optimizer.register_optimizer_step_pre_hook", "nn.utils.clip_grad", "amp.GradScaler"),
    *("fx.traceback", "optim.lr_scheduler", "nn.MultiheadAttention", "nn.Module.load_state_dict"),
]
"""Names of PyTorch that we look up; what cannot be taken away from a class in C is not among them."""
OF_PYTHON = [(warnings, "_showwarnmsg"), (threading.Thread, "_bootstrap_inner")]


@pytest.fixture(autouse=True)
def _looked_up_anew(monkeypatch):
    """What was learned of PyTorch is learned anew in each test, and after it."""

    def forget():
        private.HELD.clear()
        mode._mode_class.cache_clear()
        own_work._of_process.cache_clear()

    forget()
    yield
    monkeypatch.undo()
    forget()


def training():
    """A program that uses something of all that we listen to; returns what it computed."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net[0].weight.register_hook(lambda gradient: gradient * 2)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.stack([Doubled.apply(net(torch.randn(5, 3))).square().mean()]).sum()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    thread = threading.Thread(target=lambda: found.append(torch.nn.functional.softmax(net[0].weight, 1).sum().item()))
    thread.start()
    thread.join()
    return found


class Doubled(torch.autograd.Function):
    """A custom Function."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def outcome(use):
    """What a program returns or raises."""
    try:
        return use()
    except Exception as error:
        return type(error).__name__, str(error)


def held(path):
    """The object that has the last name of a path, and that name."""
    *before, name = path.split(".")
    holder = torch
    for part in before:
        holder = sys.modules.get(f"{getattr(holder, '__name__', '')}.{part}") or getattr(holder, part)
    return holder, name


@pytest.mark.parametrize("path", NAMES)
def test_without_a_name(path, monkeypatch, capfd):
    """Each name in turn is taken away: the program computes or raises what it does without us, at every level."""
    monkeypatch.delattr(*held(path), raising=False)  # some are in newer releases only
    plain = outcome(training)
    for level in ("graph", "full"):
        with recording(level=level) as recorded:
            seen = outcome(training)
        assert seen == plain
        said = capfd.readouterr().err
        assert said.count("retrograd: ") == any("could not" in sentence for sentence in sentences([recorded]))
        assert "Traceback" not in said


@pytest.mark.parametrize(("holder", "name"), OF_PYTHON)
def test_without_a_name_of_python(holder, name, monkeypatch):
    """The same for what we use of Python's own; what Python itself does without it is its own affair."""
    monkeypatch.setattr(holder, name, getattr(holder, name))
    with recording(level="full"):
        replaced = getattr(holder, name)
    assert getattr(holder, name) is not replaced


BROKEN = [
    (installation.Installation, "__init__"),
    (installation.Installation, "install"),
    (installation.Installation, "serve"),
    (installation.Installation, "_follow_functions"),
    (installation.BackwardCalls, "_begin"),
    (RunWriter, "begin"),
    (RunWriter, "end"),
    (installation.Scopes, "enter"),
    (installation.Scopes, "leave"),
    (installation.WatchedThreads, "join"),
    (Call, "read_each"),
    (UsualCalls, "record"),
    (Call, "outputs"),
    (Pristine, "of_c"),
    (Pristine, "of_python"),
    (Marks, "note"),
]
"""Parts of ours of which each fails in turn."""


@pytest.mark.parametrize(("holder", "name"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
def test_failures_of_ours(holder, name, monkeypatch, capfd):
    """Whatever fails of ours, the program goes on, it is said once and counted, and all is put back."""
    before = state()
    plain = outcome(training)

    def fails(*args, **kwargs):
        raise LookupError("made to fail")

    monkeypatch.setattr(holder, name, fails)
    with recording(level="full") as recorded:
        seen = outcome(training)
    said = capfd.readouterr().err

    assert seen == plain
    assert state() == before
    assert said.count("retrograd: ") == 1
    assert "made to fail" in said
    assert "made to fail" in " ".join(sentences([recorded]))


def state():
    """What we replace."""
    module = torch.nn.modules.module
    return (
        torch.autograd._engine_run_backward,
        vars(torch.autograd.Function)["apply"],
        torch.Tensor.register_hook,
        warnings._showwarnmsg,
        threading.Thread._bootstrap_inner,
        dict(module._global_forward_hooks),
        torch.overrides._get_current_function_mode_stack(),
        list(sys.meta_path),
    )
