"""What a program puts in the place of PyTorch's functions runs as often as without recording, and computes the same."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import traceback
import types
import weakref
from unittest import mock

import pytest

import retrograd as rg
from retrograd.inspect.process.recorder import recording

torch = pytest.importorskip("torch")
F = torch.nn.functional

LEVELS = ("graph", "backward", "full")


def numbers(*shape, seed=0):
    """Random numbers with a gradient, the same in each run."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), requires_grad=True)


def labels(*shape, of=3):
    """Whole numbers below ``of``."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape) % of


IMAGE = (1, 2, 8, 8)
CALLS = {
    "adaptive_avg_pool2d": lambda f: f(numbers(*IMAGE), 2),
    "alpha_dropout": lambda f: f(numbers(4, 3), 0.5),
    "batch_norm": lambda f: f(numbers(4, 3), None, None, training=True),
    "binary_cross_entropy": lambda f: f(numbers(4).sigmoid(), labels(4, of=2).float()),
    "binary_cross_entropy_with_logits": lambda f: f(numbers(4), labels(4, of=2).float()),
    "celu": lambda f: f(numbers(4)),
    "cosine_embedding_loss": lambda f: f(numbers(4, 3), numbers(4, 3, seed=1), torch.ones(4)),
    "cross_entropy": lambda f: f(numbers(4, 3), labels(4), label_smoothing=0.1),
    "dropout": lambda f: f(numbers(4, 3), 0.5),
    "elu": lambda f: f(numbers(4), inplace=False),
    "embedding": lambda f: f(labels(4), numbers(3, 2)),
    "embedding_bag": lambda f: f(labels(2, 2), numbers(3, 2)),
    "gaussian_nll_loss": lambda f: f(numbers(4), numbers(4, seed=1), torch.ones(4)),
    "glu": lambda f: f(numbers(4, 4)),
    "grid_sample": lambda f: f(numbers(*IMAGE), numbers(1, 4, 4, 2), align_corners=False),
    "group_norm": lambda f: f(numbers(4, 4), 2),
    "gumbel_softmax": lambda f: f(numbers(4, 3), hard=True),
    "hardtanh": lambda f: f(numbers(4)),
    "huber_loss": lambda f: f(numbers(4), numbers(4, seed=1)),
    "instance_norm": lambda f: f(numbers(2, 3, 4)),
    "interpolate": lambda f: f(numbers(*IMAGE), scale_factor=2),
    "kl_div": lambda f: f(numbers(4, 3).log_softmax(1), numbers(4, 3, seed=1).softmax(1), reduction="batchmean"),
    "l1_loss": lambda f: f(numbers(4), numbers(4, seed=1)),
    "layer_norm": lambda f: f(numbers(4, 3), (3,)),
    "leaky_relu": lambda f: f(numbers(4), 0.2),
    "log_softmax": lambda f: f(numbers(4, 3), 1),
    "lp_pool2d": lambda f: f(numbers(*IMAGE), 2, 2),
    "max_pool2d_with_indices": lambda f: f(numbers(*IMAGE), 2)[0],
    "mish": lambda f: f(numbers(4)),
    "mse_loss": lambda f: f(numbers(4), numbers(4, seed=1), reduction="sum"),
    "nll_loss": lambda f: f(numbers(4, 3), labels(4)),
    "normalize": lambda f: f(numbers(4, 3)),
    "pad": lambda f: f(numbers(4, 3), (1, 1)),
    "relu": lambda f: f(numbers(4)),
    "rms_norm": lambda f: f(numbers(4, 3), (3,)),
    "rrelu": lambda f: f(numbers(4), training=True),
    "selu": lambda f: f(numbers(4)),
    "silu": lambda f: f(numbers(4)),
    "smooth_l1_loss": lambda f: f(numbers(4), numbers(4, seed=1)),
    "softmax": lambda f: f(numbers(4, 3), 1),
    "softmin": lambda f: f(numbers(4, 3), dim=1),
    "softsign": lambda f: f(numbers(4)),
    "triplet_margin_loss": lambda f: f(numbers(4, 3), numbers(4, 3, seed=1), numbers(4, 3, seed=2)),
    "unfold": lambda f: f(numbers(*IMAGE), 3),
}
"""Name in ``torch.nn.functional`` -> how it is called there."""
NESTED = {
    "attention": lambda: torch.nn.MultiheadAttention(4, 2)(numbers(3, 1, 4), numbers(3, 1, 4), numbers(3, 1, 4))[0],
    "layer": lambda: torch.nn.TransformerEncoderLayer(4, 2, 8)(numbers(3, 1, 4)),
    "stack": lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3), torch.nn.Softmax(1))(
        numbers(4, 3)
    ),
    "pool": lambda: torch.nn.MaxPool2d(2)(numbers(*IMAGE)),
    "einsum": lambda: torch.einsum("ij,jk->ik", [numbers(2, 3), numbers(3, 2)]),
    "norm": lambda: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 3))(numbers(4, 3)),
}
"""Calls that reach the functions above from within PyTorch."""
METHODS = {
    "mul": lambda x: x.mul(2) + x * 3,
    "add": lambda x: x.add(1) + 1,
    "matmul": lambda x: x.matmul(x.T) @ x,
    "sum": lambda x: x.sum(0),
    "norm": lambda x: x.norm(),
    "split": lambda x: x.split(1)[0],
    "unflatten": lambda x: x.flatten().unflatten(0, (2, -1)),
    "detach": lambda x: x * x.detach(),
    "clone": lambda x: x.clone().zero_() + x,
    "zero_": lambda x: x.clone().zero_() + x,
    "__getitem__": lambda x: x[0],
    "__rsub__": lambda x: 1 - x,
    "__pow__": lambda x: x**2,
    "float": lambda x: x.float(),
    "item": lambda x: x * x.sum().item(),
    "register_hook": lambda x: (x.register_hook(lambda g: g * 2), x * 2)[1],
    "requires_grad_": lambda x: x.detach().requires_grad_() * x,
    "backward": lambda x: (x.sum().backward(), x * 2)[1],
    "T": lambda x: x.T,
    "grad": lambda x: (x.sum().backward(), x * x.grad)[1],
    "data": lambda x: x * x.data,
}
"""Name in ``torch.Tensor`` -> a use of it."""


class Counted:
    """A patch that is an object: it counts its calls, and changes what comes out."""

    def __init__(self, original, calls, name):
        self.original, self.calls, self.name = original, calls, name

    def __call__(self, *args, **kwargs):
        self.calls.append(self.name)
        return self.original(*args, **kwargs)

    def __get__(self, holder, cls=None):
        return self if holder is None else functools.partial(self, holder)


def counting(original, calls, name):
    """A patch that is a function."""

    @functools.wraps(original)
    def patch(*args, **kwargs):
        calls.append(name)
        return _more(original(*args, **kwargs))

    return patch


def _more(result):
    return result * 1.5 if isinstance(result, torch.Tensor) and result.is_floating_point() else result


def by_partial(original, calls, name):
    """A patch that is a partial function of one that counts."""
    return functools.partial(lambda count, *args, **kwargs: (count.append(name), original(*args, **kwargs))[1], calls)


def by_mock(original, calls, name):
    """A patch by ``unittest.mock``."""
    return mock.MagicMock(side_effect=lambda *args, **kwargs: (calls.append(name), original(*args, **kwargs))[1])


def counted_property(original, calls, name):
    """A patch of an attribute."""

    def read(tensor):
        calls.append(name)
        return original.__get__(tensor)

    return property(read, lambda tensor, value: original.__set__(tensor, value))


@contextlib.contextmanager
def all_patched(holder, names, make, calls):
    """Put a patch in the place of each of these functions."""
    with contextlib.ExitStack() as stack:
        for name in names:
            original = getattr(holder, name)
            fitting = make if callable(original) else counted_property
            stack.enter_context(mock.patch.object(holder, name, fitting(original, calls, name)))
        yield


def outcome(call, calls):
    """What a call comes to: its values, gradients, and how often each patch ran."""
    calls.clear()
    torch.manual_seed(3)
    result = call()
    result = torch.Tensor.sum(result) if result.requires_grad else result
    loss = torch.Tensor.sum(result)
    if loss.requires_grad:
        torch.autograd.backward(loss)
    return loss.detach().tolist(), list(calls)


def assert_undisturbed(uses, counted, levels=LEVELS):
    """Each use comes to the same alone and at each level of recording, also in a block of ``rg.debug``."""
    plain = {name: outcome(use, counted) for name, use in uses.items()}
    for level in levels:
        with recording(level=level):
            assert {name: outcome(use, counted) for name, use in uses.items()} == plain, level
    with rg.debug():
        assert {name: outcome(use, counted) for name, use in uses.items()} == plain


def forked(test):
    """Run a test in its own process: from ``Tensor.__getitem__`` patched on, Python takes tensors for sequences."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        child = os.fork()
        if child == 0:
            try:
                test(*args, **kwargs)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    return run


@pytest.mark.parametrize("make", [counting, by_partial, by_mock, Counted])
def test_functions(make):
    """A patch of any function of torch.nn.functional, of whatever sort, runs once a call, also from modules."""
    calls = []
    with all_patched(F, CALLS, make, calls):
        asked = {name: functools.partial(call, getattr(F, name)) for name, call in CALLS.items()}
        if make is counting:
            assert_undisturbed({**asked, **NESTED}, calls)
        else:
            assert_undisturbed(dict(list(asked.items())[::5]), calls, levels=("graph",))


def test_functions_are_those_that_dispatch():
    """Most functions of torch.nn.functional that ask modes are tried; what is left out takes arguments like others."""
    asking = {
        name
        for name, value in vars(F).items()
        if isinstance(value, types.FunctionType) and "handle_torch_function" in value.__code__.co_names
    }
    assert set(CALLS) <= asking


@pytest.mark.parametrize("make", [counting, Counted])
@forked
def test_methods(make):
    """A patch of a method or attribute of tensors runs as often as without us, whether operators reach it or not."""
    calls = []
    for name, use in METHODS.items():
        with all_patched(torch.Tensor, [name], make, calls):
            assert_undisturbed({name: lambda use=use: use(numbers(2, 2))}, calls, levels=("graph",))


@forked
def test_several_methods_at_once():
    """Patches that call one another."""
    calls = []
    with all_patched(torch.Tensor, METHODS, counting, calls), all_patched(F, CALLS, counting, calls):
        used = {name: lambda use=use: use(numbers(2, 2)) for name, use in METHODS.items()}
        assert_undisturbed({**used, **NESTED}, calls)


def test_autospec():
    """A patch by ``mock`` that takes after what it replaces."""

    def asked():
        with mock.patch.object(torch.Tensor, "backward", autospec=True, side_effect=torch.Tensor.backward) as patch:
            numbers(2).sum().backward()
        with mock.patch("torch.nn.functional.relu", wraps=F.relu) as relu:
            result = torch.nn.ReLU()(numbers(3))
        calls.extend([patch.call_count, relu.call_count])
        return result

    calls = []
    assert_undisturbed({"autospec": asked}, calls)


def test_another_function_of_pytorch():
    """One of PyTorch's own functions in the place of another, which others still hold."""
    original = F.relu
    with mock.patch.object(F, "relu", F.gelu), mock.patch.object(F, "silu", F.mish):
        assert_undisturbed(
            {"held": lambda: original(numbers(4)), "new": lambda: F.relu(numbers(4)) + F.silu(numbers(4))}, []
        )


def test_bindings():
    """A patch in the module in which functions written in C look themselves up."""
    calls, held = [], F.linear
    with all_patched(torch._C._nn, ["linear"], counting, calls):
        assert_undisturbed({"linear": lambda: held(numbers(2, 3), numbers(2, 3, seed=1))}, calls)


class Multiplies(torch.overrides.TorchFunctionMode):
    """A mode of the program that counts what it is told."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append(getattr(func, "__name__", str(type(func))))
        return func(*args, **(kwargs or {}))


class Subclass(torch.Tensor):
    """A class of the program that counts what it is told."""

    calls: list

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Subclass.calls.append(getattr(func, "__name__", str(type(func))))
        return super().__torch_function__(func, types, args, kwargs)


def test_modes_of_the_program():
    """Modes above ours and below are told the same, with patches and without."""
    calls = []

    def above():
        with Multiplies(calls):
            return F.softmax(numbers(4, 3), 1) * 2 + F.layer_norm(numbers(3), (3,))

    for patched in ([], ["softmax", "layer_norm"]):
        with all_patched(F, patched, counting, calls):
            assert_undisturbed({"above": above}, calls)
            with Multiplies(calls):
                assert_undisturbed({"below": lambda: F.softmax(numbers(4, 3), 1) * 2, "both": above}, calls)


def test_subclasses_of_the_program():
    """A class of tensors is told the same, with patches and without."""
    Subclass.calls = calls = []

    def asked():
        given = numbers(4, 3).as_subclass(Subclass)
        return F.relu(F.softmax(given, 1) * given - given.norm())

    for patched in ([], ["softmax", "relu"]):
        with all_patched(F, patched, counting, calls), all_patched(torch.Tensor, patched and ["mul"], counting, calls):
            assert_undisturbed({"subclass": asked}, calls)


def test_functions_of_the_program_that_ask_modes():
    """Functions of the program that can be overridden run once, also where another one is named in their place."""
    calls = []

    def scaled(x, *, by=2):
        if torch.overrides.has_torch_function_unary(x):
            return torch.overrides.handle_torch_function(scaled, (x,), x, by=by)
        calls.append("scaled")
        return x * by

    def renamed(x, *more, by=3):
        if torch.overrides.has_torch_function_unary(x):
            return torch.overrides.handle_torch_function(torch.relu, (x,), x)
        calls.append(len(more))
        return x * by

    @torch.overrides.wrap_torch_function(lambda x: (x,))
    def wrapped(x):
        calls.append("wrapped")
        return scaled(x) + 1

    uses = {
        "own": lambda: scaled(numbers(3)),
        "other": lambda: renamed(numbers(3), 1, 2),
        "wrapped": lambda: wrapped(numbers(3)),
    }
    assert_undisturbed(uses, calls)


def test_nothing_is_held():
    """A patch that is taken away again is not kept alive by what was learned of it."""

    def used():
        original = torch.Tensor.mul
        patch = counting(original, [], "mul")
        with mock.patch.object(torch.Tensor, "mul", patch), mock.patch.object(F, "relu", counting(F.relu, [], "relu")):
            F.relu(numbers(3) * 2).mul(2).sum().backward()
        return weakref.ref(patch)

    with recording(level="full"):
        reference = used()
        gc.collect()
        assert reference() is None


def test_patched_calls_are_recorded_by_name():
    """A call of a patched function is recorded once, under the name of the function it stands for."""
    calls = []
    patched = all_patched(F, ["softmax"], by_partial, calls), all_patched(torch.Tensor, ["exp"], by_mock, calls)
    with patched[0], patched[1], recording(level="full") as recorded:
        F.softmax(torch.Tensor.exp(numbers(4, 3)), 1)
    assert [event.op for event in recorded.events if event.op in ("softmax", "exp")] == ["exp", "softmax"]
