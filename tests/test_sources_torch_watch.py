"""Watching a PyTorch program: what is recorded, and that the program cannot tell."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import types
import warnings
import weakref

import pytest
from marked_lines import marks_of

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.torch_.watching.watcher import WATCHER

torch = pytest.importorskip("torch")
checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint


def state_of_torch():
    """Everything a watch changes, to be compared before and after."""
    module = torch.nn.modules.module
    return (
        torch.autograd._engine_run_backward,
        torch.autograd.graph._engine_run_backward,
        vars(torch.autograd.function._HookMixin)["_register_hook"],
        getattr(module, "_has_any_global_hook", None),
        threading.Thread._bootstrap_inner,
        warnings._showwarnmsg,
        dict(module._global_forward_hooks),
        dict(module._global_forward_pre_hooks),
        dict(module._global_forward_hooks_always_called),
        torch.overrides._get_current_function_mode_stack(),
        [finder for finder in sys.meta_path if "Vendor" not in type(finder).__name__],  # of setuptools, as it loads
        gc.isenabled(),
    )


@pytest.fixture(autouse=True)
def _nothing_left_behind():
    """After every test, PyTorch, threading and the import system are as before."""
    before = state_of_torch()
    yield
    assert state_of_torch() == before


class Block(torch.nn.Module):
    """Convolutions, an in-place ReLU and a residual `+=`."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(2, 2, 3, padding=1)
        self.second = torch.nn.Conv2d(2, 2, 3, padding=1)
        self.relu = torch.nn.ReLU(inplace=True)
        self.head = torch.nn.Linear(32, 3)

    def forward(self, x):
        y = self.second(self.relu(self.first(x)))
        y += x  # residual
        return self.head(y.flatten(1))  # head


class Twice(torch.autograd.Function):
    """A custom Function whose forward calls PyTorch."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_conv_net():
    """Parameter names, module paths, shapes and lines of a net with an in-place ReLU and a residual `+=`."""
    torch.manual_seed(0)
    model = Block()
    with recording() as record:
        loss = model(torch.randn(2, 2, 4, 4)).pow(2).mean()  # loss
        loss.backward()
    (snapshot,) = record.graphs

    assert snapshot.root_names == ["loss"]
    assert {name for name, kind in zip(snapshot.name, snapshot.kind, strict=True) if kind == "leaf"} == {
        "first.weight",
        "first.bias",
        "second.weight",
        "second.bias",
        "head.weight",
        "head.bias",
    }
    scopes = dict(zip(snapshot.op, snapshot.scope, strict=True))
    assert scopes["ReluBackward0"] == "model/relu"
    assert scopes["AddmmBackward0"] == "model/head"
    assert scopes["AddBackward0"] == "model"
    assert scopes["MeanBackward0"] == ""
    lines = marks_of(snapshot)
    assert (lines["AddBackward0"], lines["AddmmBackward0"], lines["PowBackward0"]) == ("residual", "head", "loss")
    assert [event.kind for event in record.events] == ["module", "backward", "backward-end"]


def test_transformer_encoder():
    """Every parameter of a two-layer nn.TransformerEncoder appears by name, in the scope of its module."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2)
    with recording() as record:
        encoder(torch.randn(2, 3, 8)).sum().backward()
    (snapshot,) = record.graphs
    leaves = {
        name: scope
        for name, scope, kind in zip(snapshot.name, snapshot.scope, snapshot.kind, strict=True)
        if kind == "leaf"
    }

    assert leaves == {name: "/".join(["encoder", *name.split(".")[:-1]]) for name, _ in encoder.named_parameters()}
    assert {"encoder/layers/0/self_attn", "encoder/layers/1/linear1"} <= set(snapshot.scope)
    assert all(source for source, kind in zip(snapshot.source, snapshot.kind, strict=True) if kind != "leaf")


def test_custom_function_line():
    """A custom Function has the line that applies it, not one inside its forward."""
    with recording() as record:
        x = torch.ones(3, requires_grad=True)
        y = Twice.apply(x)  # apply
        y.sum().backward()

    assert marks_of(record.graphs[0])["TwiceBackward"] == "apply"


def test_double_backward():
    """Nodes made by a run with create_graph=True have the line of that run."""
    with recording() as record:
        x = torch.ones(3, requires_grad=True)
        (slope,) = torch.autograd.grad(x.sin().sum(), x, create_graph=True)  # slope
        slope.pow(2).sum().backward()  # penalty
    lines = marks_of(record.graphs[1])

    assert lines["CosBackward0"] == "slope"
    assert lines["PowBackward0"] == "penalty"


def test_checkpoint():
    """A nested run of reentrant checkpointing is an event of its own without a graph."""
    model = torch.nn.Linear(3, 3)
    with recording() as record:
        x = torch.ones(2, 3, requires_grad=True)
        checkpoint(model, x, use_reentrant=True).sum().backward()
        checkpoint(model, x, use_reentrant=False).sum().backward()

    assert [event.data.get("nested", False) for event in record.events if event.kind == "backward"] == [
        False,
        True,
        False,
    ]
    assert [snapshot.op[1] for snapshot in record.graphs] == ["CheckpointFunctionBackward", "AddmmBackward0"]


def test_failing_backward():
    """An error of the engine reaches the program as it was, and the recording knows of it."""
    with recording() as record:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        z = y * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as watched:
            z.sum().backward()
    with pytest.raises(RuntimeError) as alone:
        z.sum().backward()

    assert str(watched.value) == str(alone.value)
    assert record.events[1].data["error"].startswith("RuntimeError: one of the variables needed")
    assert len(record.graphs[0]) == 4


def train(watch):
    """A few steps of training with dropout; returns the parameters."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2), torch.nn.Flatten(), torch.nn.Linear(24, 2))
    optimizer = torch.optim.Adam(model.parameters())
    with watch():
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(2, 3, 8)).pow(2).mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():
            model.eval()
            result = model(torch.randn(2, 3, 8))
    return [result, *model.parameters()]


def test_bitwise_the_same():
    """Training (with dropout) and then inference on the fast path give bitwise the same under watch."""
    from contextlib import nullcontext

    alone, watched = train(nullcontext), train(recording)

    assert all(torch.equal(a, b) for a, b in zip(alone, watched, strict=True))


def test_nothing_is_kept():
    """Tensors die under watch when the user drops them, without the garbage collector."""

    def step():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        loss = y.sum()
        watched = [weakref.ref(tensor) for tensor in (x, y, loss)]
        loss.backward()
        del x, y, loss
        return [ref() for ref in watched]

    gc.disable()
    try:
        with recording() as record:
            assert step() == [None, None, None]
    finally:
        gc.enable()
    assert record.graphs[0].name == ["loss", "y", "x"]


def test_threads():
    """Each thread's graphs have that thread's lines, also where backward runs elsewhere."""

    def forward_and_backward():
        (torch.ones(2, requires_grad=True) * 3).sum().backward()  # in a thread

    with recording() as record:
        thread = threading.Thread(target=forward_and_backward)
        thread.start()
        thread.join()
        loss = torch.ones(2, requires_grad=True).exp().sum()  # in main
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()

    assert marks_of(record.graphs[0])["MulBackward0"] == "in a thread"
    assert marks_of(record.graphs[1])["ExpBackward0"] == "in main"


def test_one_thread_only():
    """A watch of one thread hears nothing of the others."""

    def backward():
        (torch.ones(2, requires_grad=True) * 3).sum().backward()

    with recording(every_thread=False) as record:
        thread = threading.Thread(target=backward)
        thread.start()
        thread.join()

    assert record.events == []


def test_ended_by_another_thread():
    """A watch that another thread ends goes silent at once, and the next one on this thread knows all lines again."""
    watch = recording()
    before = watch.__enter__()
    marks = WATCHER.origins().here()
    thread = threading.Thread(target=watch.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    torch.ones(2, requires_grad=True).exp()
    silent = marks.end
    with recording() as after:
        (torch.ones(2, requires_grad=True) * 3).sum().backward()  # watched again

    assert before.events == []
    assert silent < torch.autograd._get_sequence_nr() - 2
    assert marks_of(after.graphs[0])["MulBackward0"] == "watched again"


def test_user_mode():
    """A TorchFunctionMode of the user sees exactly what it sees alone, and lines are still the user's."""

    class Names(torch.overrides.TorchFunctionMode):
        def __init__(self):
            self.log = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.log.append(func.__name__)
            return func(*args, **(kwargs or {}))

    def program():
        with Names() as mode:
            x = torch.ones(3, requires_grad=True)
            (x * 2).sum().backward()  # in mode
        return mode.log

    alone = program()
    with recording() as record:
        watched = program()

    assert alone == watched
    assert marks_of(record.graphs[0])["MulBackward0"] == "in mode"


def test_user_mode_left_on():
    """A mode that the user turns on inside the block and leaves on stays on, and ours goes from beneath it."""

    class Pass(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    mode = Pass()
    with recording():
        mode.__enter__()
    stack = torch.overrides._get_current_function_mode_stack()
    mode.__exit__(None, None, None)

    assert stack == [mode]


def test_nested_watches():
    """Watches nest, the inner one's end does not end the outer one, and each run is in both."""
    with recording() as outer:
        with recording() as inner:
            (torch.ones(2, requires_grad=True) * 3).sum().backward()
        (torch.ones(2, requires_grad=True) * 3).sum().backward()

    assert (len(outer.graphs), len(inner.graphs)) == (2, 1)
    assert outer.graphs[1].source[1] is not None


def test_exception_passes():
    """An exception is the same object with its traceback free of our frames, and everything is restored."""
    error = KeyError("mine")
    model = Block()
    model.relu.register_forward_pre_hook(lambda module, args: (_ for _ in ()).throw(error))

    with pytest.raises(KeyError) as caught, recording() as record:
        model(torch.randn(2, 2, 4, 4))

    assert caught.value is error
    entry, files = error.__traceback__, []
    while entry is not None:
        files.append(entry.tb_frame.f_code.co_filename)
        entry = entry.tb_next
    assert [name for name in files if "retrograd/inspect" in name.replace("\\", "/")] == []
    assert record.events[-1].kind == "error"
    assert (record.events[-1].data["type"], record.events[-1].data["message"]) == ("KeyError", "'mine'")


def test_interrupted_forward():
    """After a caught Ctrl-C inside a module, what follows is not taken for a part of that module."""

    def interrupt(module, args):
        raise KeyboardInterrupt

    with recording() as record:
        model = Block()
        handle = model.relu.register_forward_pre_hook(interrupt)
        with pytest.raises(KeyboardInterrupt):
            model(torch.randn(2, 2, 4, 4))
        handle.remove()
        for _ in range(2):
            model(torch.randn(2, 2, 4, 4)).mean().backward()

    assert record.graphs[1].scope[0] == ""
    assert "model/head" in record.graphs[1].scope


@pytest.mark.filterwarnings("ignore:Guards may run slower:RuntimeWarning")  # PyTorch's own, of Python 3.13.0
@pytest.mark.parametrize("whole", [False, True])
def test_compile(whole):
    """torch.compile, also with fullgraph=True, works under watch without warnings, and afterwards."""
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    x = torch.ones(2, 3)
    expected = model(x)
    with recording() as record:
        compiled = torch.compile(model, backend="aot_eager", fullgraph=whole)
        result = compiled(x)
        result.sum().backward()

    assert torch.equal(result, expected)
    assert torch.equal(compiled(x), expected)
    assert record.graphs[-1].op[:2] == ["SumBackward0", "CompiledFunctionBackward"]  # after those of the compiler


LATE_IMPORT = """
import sys
from retrograd.inspect.process.recorder import recording
assert "torch" not in sys.modules
finders = list(sys.meta_path)
with recording() as record:
    import torch
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
assert sys.meta_path == finders
assert "exec_module" not in vars(torch.__loader__) and torch.__spec__.loader is torch.__loader__
print(record.graphs[0].op, record.graphs[0].name, [s and s.line for s in record.graphs[0].source])
"""


def run(code: str) -> str:
    """Run a program and return what it printed."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_torch_imported_later():
    """A program that imports PyTorch inside the block is watched from then on; the import system is untouched."""
    assert run(LATE_IMPORT) == ("['SumBackward0', 'MulBackward0', 'AccumulateGrad'] [None, None, 'x'] [9, 9, None]\n")


def test_torch_taken_out_of_sys_modules(monkeypatch):
    """A program that hides PyTorch, or has another module of its name, computes on and is watched on."""
    x = torch.ones(3, requires_grad=True)
    with recording(level="full") as record:
        monkeypatch.delitem(sys.modules, "torch")
        x.exp().sum().backward()
        monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
        x.cos().sum().backward()
    monkeypatch.undo()

    assert torch.equal(x.grad, torch.ones(3).exp() - torch.ones(3).sin())
    assert [graph.op[1] for graph in record.graphs] == ["ExpBackward0", "CosBackward0"]
    assert not [event for event in record.events if event.kind == "problem"]


def test_torch_is_never_imported_for_the_user():
    """Watching a program without PyTorch does not load it."""
    code = "import sys, retrograd as rg\nwith rg.record(): pass\nprint('torch' in sys.modules)"

    assert run(code) == "False\n"


def test_forked_processes():
    """A DataLoader's forked workers do their work under watch, and a forked child may watch itself."""
    code = """
    import os
    import torch
    from retrograd.inspect.process.recorder import recording
    untouched = torch.autograd.graph._engine_run_backward
    with recording() as record:
        w = torch.ones(2, requires_grad=True)
        for batch in torch.utils.data.DataLoader(torch.arange(8.0).reshape(4, 2), batch_size=2, num_workers=1):
            (batch * w).sum().backward()
        child = os.fork()
        touched = torch.autograd.graph._engine_run_backward is not untouched, torch._C._len_torch_function_stack()
        with recording() as own:
            (w * 0).sum().backward()
        if child:
            os.waitpid(child, 0)
    print(w.grad, len(record.graphs), len(own.graphs), *touched)
    """
    assert run(code) == "tensor([12., 16.]) 2 1 False 0\ntensor([12., 16.]) 3 1 True 1\n"
