"""What training loops and tests use beside autograd: clipped gradients, parameters as vectors, ``torch.testing``."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd


@differential
def test_gradients_are_clipped(torch: Any) -> Any:
    """The norm over all parameters, its bound, and the bound of entries."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    ((a * 3).sum() + (b * b * 2).sum()).backward()
    clip = torch.nn.utils
    norms = [
        clip.clip_grad_norm_([a, b], 1.0), clip.clip_grad_norm_(a, 100.0, norm_type=float("inf")),
        clip.get_total_norm([a.grad, b.grad], 1), clip.clip_grad_norm_([], 1.0),
    ]  # fmt: skip
    first = [a.grad.clone(), b.grad.clone()]
    clip.clip_grad_value_((p for p in (a, b)), 0.3)
    a.grad[0] = float("nan")
    return [
        norms, first, a.grad, b.grad, clip.get_total_norm([a.grad]),
        raises("is non-finite, so it cannot be clipped", clip.clip_grad_norm_, [a], 1.0, error_if_nonfinite=True),
    ]  # fmt: skip


@differential
def test_parameters_as_a_vector(torch: Any) -> Any:
    """The vector is recorded, and parameters may be set from one."""
    a, b = torch.ones(3, requires_grad=True), torch.zeros(2, 2, requires_grad=True)
    vector = torch.nn.utils.parameters_to_vector([a, b])
    (vector**2).sum().backward()
    torch.nn.utils.vector_to_parameters(torch.arange(7.0), [a, b])
    return [vector, a.grad, a, b, raises("expected torch.Tensor", torch.nn.utils.vector_to_parameters, 3, [a])]


CLOSE = [
    lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.5])),
    lambda t: (t.tensor([[1.0, 2.0], [0.0, 1.0]]), t.tensor([[1.0, 2.0], [0.0, 1.0]])),
    lambda t: (t.ones(2), t.ones(3)),
    lambda t: (t.ones(2), t.ones(2).double()),
    lambda t: (t.tensor([1, 2, 3]), t.tensor([1, 2, 4])),
    lambda t: (t.tensor(float("nan")), t.tensor(float("nan"))),
    lambda t: (1.0, 1.5),
    lambda t: (1, 1.0),
    lambda t: ([t.ones(2), 3], [t.ones(2), 4]),
    lambda t: ({"a": t.ones(2), "b": [1.0]}, {"a": t.ones(2), "b": [2.0]}),
    lambda t: ({"a": 1}, {"b": 1}),
    lambda t: ([1], [1, 2]),
    lambda t: (None, t.ones(2)),
    lambda t: (None, None),
    lambda t: ("a", "b"),
    lambda t: (t.tensor(True), t.tensor(False)),
    lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    lambda t: (t.tensor(2.0), t.tensor(1.0)),
    lambda t: (t.ones(0), t.ones(0)),
]


@pytest.mark.parametrize("options", [{}, {"equal_nan": True}, {"rtol": 0.5, "atol": 0.1}, {"check_dtype": False}])
def test_closeness(options: dict[str, Any]) -> None:
    """The same values are close, and the message says the same of those that are not."""
    torch = pytest.importorskip("torch")
    for pair in CLOSE:
        assert _said(torch, pair, options) == _said(retrograd, pair, options)


def _said(engine: Any, pair: Any, options: dict[str, Any]) -> tuple[str, str]:
    try:
        engine.testing.assert_close(*pair(engine), **options)
    except Exception as error:
        text = str(error).replace("retrograd", "torch")
        return type(error).__name__, text if isinstance(error, AssertionError) else ""
    return "", ""


@differential
def test_half_a_tolerance_is_refused(torch: Any) -> Any:
    """Both tolerances or none; a message of one's own."""
    close = torch.testing.assert_close
    return [
        raises("Both 'rtol' and 'atol' must be", close, 1.0, 1.0, rtol=1.0), raises("mine", close, 1, 2, msg="mine"),
        raises("> Scalars", close, 1, 2, msg=lambda text: f"> {text}"),
    ]  # fmt: skip


@differential
def test_made_tensors(torch: Any) -> Any:
    """Shape, dtype, bounds and gaps of ``make_tensor``."""
    make = torch.testing.make_tensor
    found = []
    for name in ("float32", "float64", "int64", "uint8", "bool", "complex64"):
        t = make((3, 4), dtype=getattr(torch, name), device="cpu", noncontiguous=True)
        found.append([tuple(t.shape), str(t.dtype), t.is_contiguous(), t.stride()])
    low = make(50, dtype=torch.float32, device="cpu", low=1, high=2, requires_grad=True)
    whole = make(200, dtype=torch.int32, device="cpu", low=-1, high=2, exclude_zero=True)
    return [
        found, bool(((low >= 1) & (low < 2)).all()), low.requires_grad, sorted(set(whole.tolist())),
        raises("requires_grad=True", make, 2, dtype=torch.int64, device="cpu", requires_grad=True),
        raises("`low` must be less than `high`", make, 2, dtype=torch.float32, device="cpu", low=2, high=1),
    ]  # fmt: skip


@differential
def test_states_of_generators(torch: Any) -> Any:
    """A state is a tensor of bytes; set again, or on a clone, it gives the same numbers."""
    torch.manual_seed(3)
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    with torch.random.fork_rng(devices=[]):
        torch.rand(5)
    g = torch.Generator().manual_seed(1)
    h = g.clone_state()
    return [
        state.dtype, state.dim(), torch.equal(a, torch.rand(3)), str(g.device), h.initial_seed(),
        torch.equal(torch.rand(2, generator=g), torch.rand(2, generator=h)),
        torch.equal(torch.rand(2, generator=pickle.loads(pickle.dumps(g))), torch.rand(2, generator=copy.deepcopy(g))),
        raises("", g.set_state, torch.ones(3)),
        raises("the input RNG state size to be 3", g.set_state, torch.ones(3, dtype=torch.uint8)),
        torch.default_generator.initial_seed(),
    ]  # fmt: skip
