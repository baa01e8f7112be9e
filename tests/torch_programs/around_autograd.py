"""Everything that real training code does around autograd, in one healthy program; it prints what it sees.

``test_recording_torch_programs.py`` runs it alone and under watch and compares.
"""

from __future__ import annotations

import atexit
import copy
import gc
import os
import pickle
import sys
import threading
import warnings
import weakref
import zlib

import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

warnings.simplefilter("ignore")
torch.set_num_threads(1)
atexit.register(lambda: print("at exit"))
CASES = []


def case(function):
    CASES.append(function)
    return function


def crc(*tensors):
    """Checksums of the exact bits."""
    return [None if one is None else zlib.crc32(one.detach().contiguous().numpy().tobytes()) for one in tensors]


def net():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 4))


def grads(module):
    return crc(*(parameter.grad for parameter in module.parameters()))


@case
def reentrant():
    model, inner, x = net(), net(), torch.randn(3, 4, requires_grad=True)
    y = checkpoint(lambda a: checkpoint(inner, model(a), use_reentrant=True), x, use_reentrant=True)
    y.square().sum().backward()
    yield grads(model), grads(inner), crc(x.grad), torch.rand(1).item()
    seq = torch.nn.Sequential(*[net() for _ in range(4)])
    checkpoint_sequential(seq, 2, x, use_reentrant=True).sum().backward()
    yield grads(seq)


@case
def not_reentrant():
    model, x = net(), torch.randn(3, 4, requires_grad=True)
    with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        y = checkpoint(model, x, use_reentrant=False)
    z = checkpoint(lambda a: checkpoint(model, a, use_reentrant=False) * a, y, use_reentrant=False)
    (g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    g.square().sum().backward()
    yield grads(model), crc(x.grad, g), torch.rand(1).item()


@case
def threads():
    found, errors = {}, []

    def work(number):
        try:
            model = torch.nn.Linear(4, 4)
            [torch.nn.init.constant_(parameter, number + 0.5) for parameter in model.parameters()]
            for _ in range(3):
                checkpoint(
                    model, torch.ones(2, 4, requires_grad=True), use_reentrant=number % 2 == 0
                ).square().sum().backward()
            found[number] = crc(model.weight.grad)
        except BaseException as error:
            errors.append(repr(error))

    many = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [one.start() for one in many]
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    other = threading.Thread(target=loss.backward)
    other.start()
    [one.join() for one in [*many, other]]
    yield sorted(found.items()), errors, crc(w.grad)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, place):
        w = torch.tensor(float(place), requires_grad=True)
        (w**2).backward()
        return w.grad.detach().expand(4).contiguous()


@case
def workers():
    model = torch.nn.Linear(4, 1)
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2):
        model(batch).sum().backward()
    yield grads(model)


@case
def nested_debug():
    import retrograd as rg

    x = torch.randn(3, requires_grad=True)
    with rg.debug() as trace, rg.debug(level="backward") as inner:
        (x * x).sum().backward()
    yield len(trace.graphs), len(inner.graphs), trace.findings, crc(x.grad)


@case
def asked_for():
    x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    z = (x**3 * y).sum()
    first = torch.autograd.grad(z, [x, y], create_graph=True)
    second = torch.autograd.grad(first[0], [x, y], grad_outputs=torch.ones(3), retain_graph=True)
    unused = torch.autograd.grad(z, [x, torch.ones(1, requires_grad=True)], allow_unused=True, retain_graph=True)
    torch.autograd.backward([z, first[1].sum()], inputs=[x])
    yield crc(*first, *second, *unused, x.grad, y.grad)
    yield crc(torch.autograd.functional.hessian(lambda a: a.sin().sum(), x.detach()))
    yield crc(torch.func.vmap(torch.func.grad(lambda a: (a * a).sum()))(torch.randn(2, 3)))
    yield crc(torch.func.jacrev(torch.sin)(x.detach()), torch.func.jvp(torch.cos, (x.detach(),), (y.detach(),))[1])


class Hostile(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("</script>", '"', "a\nb", "[red]", "<b>:x", "ü", " ", "ctx", "%s{}"):
            self.register_parameter(name, torch.nn.Parameter(torch.randn(2)))
            if name != "ctx":
                self.add_module(name + "m", torch.nn.Linear(2, 2))

    def forward(self, x):
        for module in self.children():
            x = module(x)
        return x + sum(self.parameters(recurse=False))


@case
def hostile_names():
    model = Hostile()
    model(torch.randn(1, 2)).sum().backward()
    yield grads(model)


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise ValueError("broken rule")


@case
def failures():
    x = torch.randn(3, requires_grad=True)

    def raising(grad):
        raise RuntimeError("hook")

    h = x * 2
    h.register_hook(raising)
    for attempt in (
        lambda: Broken.apply(x * 2).sum().backward(),
        lambda: h.sum().backward(),
        lambda: x.sum().backward() or torch.ones(1).backward(),
        lambda: x.backward(),
        lambda: checkpoint(lambda a: Broken.apply(a), x, use_reentrant=True).sum().backward(),
        lambda: torch.ones(2, 3) @ torch.ones(2, 3),
    ):
        try:
            attempt()
            print("fine")
        except Exception as error:
            print(type(error).__name__, str(error)[:60])
    yield crc(x.grad)


@case
def hooks():
    seen = []
    model, x = net().eval(), torch.randn(3, 4, requires_grad=True)
    h = model(x)
    handles = [
        h.register_hook(lambda g: seen.append(("tensor", tuple(g.shape)))),
        h.grad_fn.register_hook(lambda gi, go: seen.append(("node", len(gi), len(go)))),
        h.grad_fn.register_prehook(lambda go: seen.append(("pre", len(go)))),
        model[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(("post", crc(p.grad)))),
        model[0].register_full_backward_hook(lambda m, gi, go: seen.append(("module", len(gi)))),
        torch.autograd.graph.register_multi_grad_hook([h, x], lambda gs: seen.append(("multi", len(gs)))),
    ]
    h.sum().backward()
    [handle.remove() for handle in handles]
    model(x).sum().backward()
    yield seen, grads(model), len(h._backward_hooks or ()), len(model[0].weight._post_accumulate_grad_hooks or ())
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        loss = model(x).square().sum()
    with torch.autograd.graph.save_on_cpu():
        loss = loss * model(x).sum()
    loss.backward()
    yield len(packed), crc(x.grad)


@case
def modes():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(getattr(func, "__name__", "?"))
            return func(*args, **(kwargs or {}))

    class Kernels(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append("own " + getattr(func, "__name__", "?"))
            return super().__torch_function__(func, types, args, kwargs)

    for mode in (Names, Kernels):
        calls = []
        x = torch.randn(3, requires_grad=True)
        with mode():
            (x.exp() + 1).sum().backward()
        yield calls, crc(x.grad)
    calls = []
    own = torch.randn(3).as_subclass(Own).requires_grad_()
    (own * 2).sum().backward()
    yield calls, crc(own.grad.as_subclass(torch.Tensor))
    with torch.autograd.detect_anomaly(check_nan=False), torch.autograd.set_multithreading_enabled(False):
        x = torch.randn(3, requires_grad=True)
        x.cos().sum().backward()
    with torch.autocast("cpu", torch.bfloat16):
        model = net().eval()
        loss = model(torch.ones(2, 4)).sum()
    loss.backward()
    yield crc(x.grad), grads(model)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        x.sin().sum().backward()
    yield sorted({event.key for event in profile.key_averages() if event.key.startswith("aten::")})


@case
def kinds_of_tensors():
    table = torch.nn.Embedding(5, 3, sparse=True)
    table(torch.tensor([1, 2, 1])).sum().backward()
    yield crc(table.weight.grad.to_dense())
    c = torch.randn(3, dtype=torch.complex64, requires_grad=True)
    (c.conj().imag * c.abs()).sum().backward()
    yield crc(torch.view_as_real(c.grad))
    w = torch.randn(3, 3, requires_grad=True)
    (w.t().expand(2, 3, 3)[:, ::2] * 2).sum().backward(torch.tensor(2.0))
    w.grad.untyped_storage().resize_(0)
    yield w.grad.untyped_storage().nbytes()
    e = torch.empty(0, 3, requires_grad=True)
    e.sum().backward()
    yield crc(e.grad), tuple(e.grad.shape)


@case
def copies():
    model = net().eval()
    twin = copy.deepcopy(model)
    again = pickle.loads(pickle.dumps(model))
    traced = torch.jit.trace(model, torch.ones(2, 4))
    graph = torch.fx.symbolic_trace(model)
    for one in (model, twin, again, traced, graph):
        one.zero_grad()
        one(torch.ones(2, 4)).sum().backward()
        yield grads(one)


@case
def lifetimes():
    model, x = net(), torch.randn(3, 4)
    h = model(x)
    loss = h.square().sum()
    loss.backward(retain_graph=True)
    model.zero_grad()
    loss.backward()
    seen = [weakref.ref(h), weakref.ref(loss), weakref.ref(model[0].weight)]
    gradient = weakref.ref(model[0].weight.grad)
    del h, loss
    before = [one() is None for one in seen]
    model.zero_grad()
    cleared = gradient() is None
    del model
    gc.collect()
    yield before, cleared, [one() is None for one in seen]


@case
def forks():
    x = torch.randn(3, requires_grad=True)
    loss = (x * 3).sum()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        loss.backward()
        print("child", crc(x.grad))
        sys.stdout.flush()
        os._exit(7)
    _, status = os.waitpid(child, 0)
    loss.backward()
    yield os.waitstatus_to_exitcode(status), crc(x.grad)


for number, function in enumerate(CASES):
    torch.manual_seed(number)
    for result in function():
        print(function.__name__, result, flush=True)
sys.exit(3)
