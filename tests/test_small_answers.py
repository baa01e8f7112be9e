"""Small questions that programs ask of modules, transforms and tensors: the same answer or refusal as PyTorch's."""

from __future__ import annotations

import importlib
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_same, plain

import retrograd

real_torch = pytest.importorskip("torch")


def _tied(t: Any) -> Any:
    """A module that stands under two names."""
    pair = t.nn.Module()
    pair.first = pair.second = t.nn.Linear(2, 2)
    return pair


def _loaded(t: Any, assign: bool) -> list[Any]:
    """What a module is told of the options when it loads."""
    seen: list[Any] = []

    class Layer(t.nn.Linear):  # type: ignore[misc]
        def _load_from_state_dict(self, given: Any, prefix: str, local: Any, *rest: Any) -> None:
            seen.append(dict(local))
            super()._load_from_state_dict(given, prefix, local, *rest)

    layer = Layer(1, 1)
    layer.load_state_dict(layer.state_dict(), assign=assign)
    return seen


def _registered(t: Any) -> list[str]:
    """The names under which a module that counts its parameters is given some."""

    class Counting(t.nn.Linear):  # type: ignore[misc]
        def register_parameter(self, name: str, param: Any) -> None:
            self.__dict__.setdefault("names", []).append(name)
            super().register_parameter(name, param)

    made = Counting(1, 1, bias=False)
    made.weight = t.nn.Parameter(t.ones(1, 1))
    return [*made.names, *made.state_dict()]


def _unscaled(t: Any, inverse: Any) -> Any:
    gradients, found = [t.tensor([1.0, float("inf")]), t.tensor([2.0])], t.tensor([0.0])
    t._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse)
    return gradients, found


def _places(t: Any) -> Any:
    return t.tensor([[0.0, float("nan"), 1.0], [0.0] * 3, [2.0, 0.0, 0.0]]).to_sparse_csr()


def _sampled(t: Any, **numbers: float) -> list[Any]:
    """A product at the places of a matrix, and the gradients of its factors."""
    a, b = t.arange(6.0).reshape(3, 2).requires_grad_(), t.arange(6.0).reshape(2, 3).requires_grad_()
    found = t.sparse.sampled_addmm(_places(t), a, b, **numbers).to_dense()
    return [found.detach(), *t.autograd.grad(found[0, 2] + found[2, 0] * 3, (a, b))]


def _scaled(t: Any, **named: Any) -> Any:
    """The product of two matrices of eight bits with scales."""
    a, b = (t.arange(16.0 * 32).reshape(16, 32).sub(n).div(n).sin().to(t.float8_e4m3fn) for n in (9, 50))
    return t._scaled_mm(a, b.t(), t.tensor(2.0), t.tensor(0.5), **named)


def _image(t: Any) -> Any:
    return t.rand(2, 3, 4, 5).to(memory_format=t.channels_last)


def _whole(t: Any) -> Any:
    return t.tensor([1, 2], dtype=t.uint16)


def _sliced(t: Any) -> Any:
    """A part of a sequence in evaluation, whose hook is the whole's alone."""
    whole = t.nn.Sequential(t.nn.Identity(), t.nn.ReLU()).eval()
    whole.register_forward_pre_hook(lambda module, args: args[0] * 5)
    return whole[1:]


def _batch(t: Any, draw: Callable[[Any], Any], randomness: str) -> Any:
    return t.func.vmap(draw, randomness=randomness)(t.full((2, 3), 0.5)).shape


def _prune(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.nn.utils.prune")


def _converted(t: Any, setting: str) -> list[Any]:
    """Which objects stay when modules are converted and loaded under a setting of ``torch.__future__``."""
    switch = getattr(t.__future__, f"set_{setting}_module_params_on_conversion")
    layer, lstm = t.nn.Linear(2, 2), t.nn.LSTM(2, 2)
    weight, values = layer.weight, t.nn.Linear(2, 2).state_dict()
    weight.grad = gradient = t.ones(2, 2)
    switch(True)
    try:
        layer.double()
        found = [layer.weight is weight, layer.weight.grad is gradient, weight.dtype, layer.weight.grad.dtype]
        layer.load_state_dict(values, assign=True)
        found += [layer.weight is weight, layer.weight.dtype, layer.weight.requires_grad]
        return [*found, lstm.double()(t.ones(1, 1, 2).double())[0].dtype]
    finally:
        switch(False)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    # containers of modules and parameters
    "ModuleList.insert": lambda t: t.nn.ModuleList([t.nn.ReLU()]).insert(0, t.nn.Tanh()),
    "ModuleList of a module": lambda t: t.nn.ModuleList(t.nn.ReLU()),
    "ModuleDict of triples": lambda t: t.nn.ModuleDict([[1, 2, 3]]),
    "ParameterDict.fromkeys": lambda t: repr(t.nn.ParameterDict().fromkeys(["q", "r"], t.ones(1))),
    "ParameterDict backwards": lambda t: list(reversed(t.nn.ParameterDict({"a": t.ones(1), "b": t.ones(1)}))),
    "ParameterDict of a number": lambda t: t.nn.ParameterDict(3),
    "beneath a parameter": lambda t: t.nn.Linear(1, 1).get_parameter("weight.x"),
    "told to a loading module": lambda t: [_loaded(t, False), _loaded(t, True)],
    "parameters that are exchanged": lambda t: _converted(t, "swap"),
    "parameters that are replaced": lambda t: _converted(t, "overwrite"),
    # layers
    "LayerNorm of nothing": lambda t: t.nn.LayerNorm([])(t.ones(2)),
    "InstanceNorm of other channels": lambda t: t.nn.InstanceNorm1d(3)(t.ones(1, 2, 3)),
    "fractional pooling": lambda t: t.nn.FractionalMaxPool2d(2, output_ratio=2.0),
    "recurrence over nothing": lambda t: t.nn.LSTM(2, 3)(t.ones(0, 1, 2)),
    "dropout2d of a line": lambda t: t.nn.functional.dropout2d(t.ones(2)),
    "dropout2d of three dimensions": lambda t: t.nn.functional.dropout2d(t.ones(2, 2, 2), training=False),
    "softmin": lambda t: t.nn.Softmin()(t.ones(2)),
    "glu of a number": lambda t: t.nn.functional.glu(t.tensor(1.0)),
    "NLLLoss2d": lambda t: repr(t.nn.NLLLoss2d()),
    "packed, cast": lambda t: t.nn.utils.rnn.pack_sequence([t.ones(2)]).char().data,
    "packed, as it was": lambda t: (lambda p: p.to("cpu") is p)(t.nn.utils.rnn.pack_sequence([t.ones(2)])),
    # functions of modules, transforms
    "tied tensors": lambda t: t.func.functional_call(
        _tied(t), {"first.weight": t.zeros(2, 2), "second.weight": t.ones(2, 2)}, t.ones(1, 2)
    ),
    "a number as cotangent": lambda t: t.func.vjp(lambda x: x, t.ones(2))[1](3),
    "an entry into what all share": lambda t: t.func.vmap(lambda x: t.zeros(3).copy_(x))(t.ones(2, 3)),
    "an entry into its own": lambda t: t.func.vmap(lambda x: x.new_zeros(3).copy_(x))(t.ones(2, 3)),
    "an entry into one like it": lambda t: t.func.vmap(lambda x: t.full_like(x, 2).add_(x))(t.ones(2, 3)),
    "an entry's memory for what all share": lambda t: t.func.vmap(lambda x: t.zeros(3).set_(x))(t.ones(2, 3)),
    "data of an entry": lambda t: t.func.vmap(lambda x: x.data)(t.ones(2, 3)),
    "data of an argument": lambda t: t.func.grad(lambda x: (x * x.data).sum())(t.ones(3)),
    "different in one tensor": lambda t: _batch(t, lambda x: t.zeros(3).normal_(), "different"),
    "different in its own": lambda t: _batch(t, lambda x: t.zeros_like(x).uniform_(), "different"),
    "alike by other chances": lambda t: _batch(t, lambda x: t.bernoulli(x), "same"),
    "alike by other means": lambda t: _batch(t, lambda x: t.normal(x, 1.0), "same"),
    # what programs state, and names of old
    "a condition": lambda t: t._check(False, lambda: "as asked for"),
    "a condition without a message": lambda t: t._check_value(False),
    "a number for a condition": lambda t: t._check(3),
    "no size": lambda t: t._check_is_size(-1, lambda: "negative"),
    "all of a tensor": lambda t: t._check_tensor_all(t.tensor([True, False])),
    "all of numbers": lambda t: t._check_tensor_all(t.tensor([1])),
    "an assertion": lambda t: t._assert(t.tensor(False), "as asserted"),
    "removed": lambda t: t.symeig(t.eye(2)),
    "removed methods": lambda t: t.eye(2).lstsq(t.eye(2)),
    "shared memory": lambda t: [
        t._debug_has_internal_overlap(x)
        for x in (t.ones(2, 3).t(), t.ones(1).expand(3), t.ones(4, 4)[::2, ::2], t.ones(9).as_strided((3, 3), (2, 1)))
    ],
    "a share to prune": lambda t: _prune(t)._compute_nparams_toprune(0.5, 5),
    "too much to prune": lambda t: _prune(t)._validate_pruning_amount(7, 5),
    # tensors
    "uint16 and int64": lambda t: t.promote_types(t.uint16, t.int64),
    "uint16 and bool": lambda t: t.promote_types(t.bool, t.uint16),
    "uint16 and float": lambda t: t.promote_types(t.uint16, t.float16),
    "uint16 and complex": lambda t: t.promote_types(t.uint16, t.complex64),
    "uint16 + int32": lambda t: t.ones(2, dtype=t.uint16) + t.ones(2, dtype=t.int32),
    "uint16 * number": lambda t: (t.ones(2, dtype=t.uint16) * 2).to(t.int32),
    "two numbers as an index": lambda t: t.ones(2).__index__(),
    "three among two": lambda t: t.ones(3) in t.ones(2),
    "values that do not fit": lambda t: t.arange(4).__setitem__(t.tensor([True] * 4), t.arange(5.0)),
    "a tolerance that wants a gradient": lambda t: t.isclose(
        t.ones(2), t.ones(2), t.tensor(1.5), t.tensor(1.0, requires_grad=True)
    ),
    "cut off beyond the end": lambda t: t.nn.functional.pad(t.ones(1, 1, 4), (-3, -2), mode="circular"),
    "told of a norm": lambda t: t.nn.utils.spectral_norm(t.nn.Linear(2, 2)).state_dict()._metadata[""],
    "the stride of a dimension that is not there": lambda t: t.ones(2).stride(3),
    "a complex type of integers": lambda t: t.int8.to_complex(),
    "the old constructor elsewhere": lambda t: t.Tensor(2, device="meta"),
    "the old constructor of lists": lambda t: [t.Tensor(2, 3).shape, t.ones(2).__div__(4)],
    "names of dimensions": lambda t: t.zeros(2, names=("a",)),
    # moved about in memory
    "images beside others": lambda t: [
        f(t, _image(t), t.rand(2, 3, 4, 5)).stride()
        for f in (
            lambda t, c, x: c * x,
            lambda t, c, x: x * c,
            lambda t, c, x: t.cat([c, x]),
            lambda t, c, x: t.cat([x, c]),
            lambda t, c, x: t.stack([c, c]),
            lambda t, c, x: t.stack([c, c], 1),
            lambda t, c, x: t.stack([c, c], 4),
            lambda t, c, x: t.stack([c, x]),
            lambda t, c, x: c.roll(1, 0),
            lambda t, c, x: c.roll(1),
            lambda t, c, x: c.repeat(1, 1, 1, 1),
            lambda t, c, x: c[[0, 1]],
            lambda t, c, x: c[:, [0, 1]],
            lambda t, c, x: c[:, :, [0, 1]],
            lambda t, c, x: c[[0, 1], :, [0, 1]],
            lambda t, c, x: c[t.ones(2) > 0],
            lambda t, c, x: t.nn.functional.channel_shuffle(c, 3),
            lambda t, c, x: t.nn.functional.adaptive_max_pool2d(c, 2),
            lambda t, c, x: c.hypot(x),
        )
    ],
    "the real part of one number": lambda t: [
        t.tensor([1j]).float().stride(),
        t.ones(2, 3, dtype=t.complex64)[:, :1].double().stride(),
    ],
    # sparse tensors
    "nothing at no places": lambda t: [
        [s.layout, s.shape, s._nnz(), s.requires_grad]
        for s in (t.sparse_coo_tensor(size=(2, 3)), t.sparse_coo_tensor((2, 3), requires_grad=True))
    ],
    "no places and no size": lambda t: t.sparse_coo_tensor(),
    "rows, by the general name": lambda t: t.sparse_compressed_tensor(
        [0, 1], [0], [1.0], (1, 3), layout=t.sparse_csr
    ).to_dense(),
    "compressed how?": lambda t: t.sparse_compressed_tensor([0, 1], [0], [1.0]),
    # what scalers of losses call
    "gradients without a scale": lambda t: _unscaled(t, t.tensor([0.5])),
    "two scales": lambda t: _unscaled(t, t.tensor([0.5, 1.0])),
    "whole gradients": lambda t: t._amp_foreach_non_finite_check_and_unscale_(
        [t.tensor([1])], t.tensor([0.0]), t.tensor([0.5])
    ),
    "scales": lambda t: [
        t._amp_update_scale_(t.tensor([scale]), t.tensor([1], dtype=t.int32), t.tensor([found]), 2.0, 0.5, interval)
        for scale, found, interval in ((4.0, 0.0, 2), (4.0, 0.0, 3), (4.0, 1.0, 2), (3e38, 0.0, 2))
    ],
    # products
    "at the places of a matrix": lambda t: _sampled(t, beta=0.5, alpha=2.0),
    "at the places of one of NaN": lambda t: _sampled(t, beta=0.0),
    "of other sizes than the places": lambda t: t.sparse.sampled_addmm(_places(t), t.ones(2, 2), t.ones(2, 2)),
    "of other sizes than each other": lambda t: t.sparse.sampled_addmm(_places(t), t.ones(3, 2), t.ones(3, 3)),
    "at no places": lambda t: t.sparse.sampled_addmm(t.eye(2), t.ones(2, 2), t.ones(2, 2)),
    **{
        f"eight bits, {kind}": lambda t, kind=kind: _scaled(t, out_dtype=kind and getattr(t, kind)).float()
        for kind in (None, "float32", "bfloat16")
    },
    "eight bits and a bias": lambda t: _scaled(t, bias=t.arange(16.0), out_dtype=t.float32),
    # refused for want of a kernel, or of a device
    **{
        f"uint16 {name}": question
        for name, question in {
            "+": lambda t: _whole(t) + 1,
            "-": lambda t: -_whole(t),
            ">": lambda t: _whole(t) > _whole(t),
            "max": lambda t: _whole(t).max(),
            "written": lambda t: _whole(t).add_(1),
            "@": lambda t: _whole(t) @ _whole(t),
            "masked": lambda t: _whole(t).masked_fill(_whole(t) == 1, 0),
            "and": lambda t: _whole(t) & 1,
            "sum": lambda t: _whole(t).sum(),
            "sorted": lambda t: _whole(t).sort().values.to(t.int32),
            "powers": lambda t: _whole(t) ** 2,
            "taken": lambda t: _whole(t)[[0]].to(t.int32),
        }.items()
    },
    "pinned memory": lambda t: t.ones(2, pin_memory=True),
    "no device": lambda t: t.device(None),
    "a device without a name": lambda t: t.device(""),
    "autocast elsewhere": lambda t: t.autocast("nowhere"),
    "old types elsewhere": lambda t: t.FloatTensor([1], device="cuda"),
    "the old constructor of a dtype": lambda t: t.Tensor([1], dtype=t.int32),
    "deleted": lambda t: t.ones(2).__delitem__(0),
    "saved in a number": lambda t: t.save(1, 5),
    "a damaged file": lambda t: t.load(io.BytesIO(b"garbage")),
    "handed out with a gradient": lambda t: t.utils.dlpack.to_dlpack(t.ones(2, requires_grad=True)) is not None,
    "layouts are no texts": lambda t: [isinstance(t.strided, str), t.strided == "torch.strided", t.strided],
    # containers
    "a part of a sequence": lambda t: _sliced(t)(t.ones(1)),
    "a sequence made longer": lambda t: (_sliced(t) + t.nn.Sequential(t.nn.Tanh())).training,
    "parameters named as paths": lambda t: t.nn.ParameterDict().__setitem__("a.b", t.ones(1)),
    "parameters named as methods": lambda t: setattr(t.nn.Module(), "forward", t.nn.Parameter(t.ones(1))),
    "told of parameters": lambda t: _registered(t),
    "a loss with a distance": lambda t: repr(t.nn.TripletMarginWithDistanceLoss()),
    "nonzero_static": lambda t: t.nonzero_static(t.ones(2), size=-1),
}


def _answer(engine: Any, question: Callable[[Any], Any]) -> Any:
    """The value with its warnings, or the refusal: its type and the first words of what it says."""
    engine.set_warn_always(True)  # PyTorch says some things once per process only
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = plain(question(engine))
    except Exception as refusal:
        value, caught = f"{type(refusal).__name__}: {_words(refusal)}", []
    finally:
        engine.set_warn_always(False)
    return [
        value,
        *(
            f"{w.category.__name__}: {_words(w.message)}"
            for w in caught
            if not re.search("torch.jit|is in beta state|invariant checks are", str(w.message))
        ),
    ]


def _words(said: Any) -> str:
    return " ".join(re.findall(r"\w+", str(said).replace("retrograd", "torch"))[:4])


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_answer(name: str) -> None:
    """Values, warnings, and types and first words of refusals agree."""
    wanted, found = (_answer(engine, QUESTIONS[name]) for engine in (real_torch, retrograd))
    assert_same(wanted, found, f"\n  torch:     {wanted}\n  retrograd: {found}")
