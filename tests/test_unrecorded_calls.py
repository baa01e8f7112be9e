"""Calls in ``no_grad`` on the fast path: what the general path gives, down to the bit, unrecorded (SPEC row E-27)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from op_runs import array, flat, is_tensor
from op_samples import Sample, all_samples, function_of, tensors_for

import retrograd as rg
from retrograd.engine.calls.overload_choice import KindCheck
from retrograd.engine.switches import state


@contextmanager
def something_else_on() -> Iterator[None]:
    """Pretend that something is on in another thread, so that every call takes the general path."""
    state.enter_mode()
    try:
        yield
    finally:
        state.leave_mode()


def outcome(sample: Sample) -> list[Any]:
    """What each result of a call in ``no_grad`` is, or how the call was refused."""
    args, kwargs = tensors_for(rg, sample.args, []), tensors_for(rg, sample.kwargs, [])
    rg.manual_seed(0)
    with rg.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = flat(function_of(rg, sample)(*args, **kwargs))
        except Exception as error:
            return [type(error), str(error)]
    return [seen(r) for r in results]


def seen(value: Any) -> Any:
    """All that a program can see of a result."""
    if not is_tensor(value):
        return repr(value)
    if value.is_sparse or value.layout is not rg.strided:
        return repr(value)
    bits = np.ascontiguousarray(array(value)).tobytes()
    looks = (value.dtype, tuple(value.shape), value.stride(), value.storage_offset(), value._version)
    view = None if value._meta is None else value._meta.view
    made = None if view is None else (view.tag, view.nr, view.version, view.fn, repr(view.args), view.op.name)
    return *looks, made, value.requires_grad, value.grad_fn, value.is_leaf, bits


def arrangements(engine: Any) -> dict[str, Any]:
    """Tensors of one shape, or shapes that broadcast, by how they lie and what they are."""
    turned = engine.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    return {
        "leaf": engine.nn.Parameter(turned), "view": turned, "alias": turned.detach(), "result": turned + 1,
        "gaps": engine.ones(2, 3, 8)[..., ::2].permute(2, 0, 1), "rows": engine.ones(4, 2, 3),
        "expanded": engine.ones(4, 1, 3).expand(4, 2, 3), "row": engine.ones(3), "column": engine.ones(2, 1),
    }  # fmt: skip


@pytest.mark.parametrize("recorded", [False, True])
def test_results_lie_as_the_first_operand_does(recorded: bool) -> None:
    """Row E-27: strides follow the first operand, be it leaf, view or result, recorded or not; bounds, too."""
    torch = pytest.importorskip("torch")
    strides = []
    for engine in (torch, rg):
        functions = {
            "add": engine.add, "div": engine.div, "atan2": engine.atan2, "pow": engine.pow,
            "silu": lambda x, y, engine=engine: engine.nn.functional.silu(x), "doubled": lambda x, y: x * 2.0,
            "clamp": lambda x, y: x.clamp(y, y), "twice": lambda x, y: (x * 2.0 + 1) * y,
            "last": lambda x, y: y * (x + y),
        }  # fmt: skip
        made = arrangements(engine)
        with engine.set_grad_enabled(recorded):
            strides.append({
                (name, first, second): tuple(function(made[first], made[second]).stride())
                for name, function in functions.items() for first in made for second in made
            })  # fmt: skip
    assert strides[0] == strides[1]


PAIRS = {"add", "mul", "maximum"}
"""Functions of two operands, of which all samples are called: how the first one lies decides how the result does."""
CALLS = [s for s in all_samples() if s.call is None]
SOME = [s for s in {s.name: s for s in reversed(CALLS)}.values() if s.name not in PAIRS]


@pytest.mark.parametrize("part", range(4))
def test_fast_and_general_path_give_the_same(part: int) -> None:
    """A sample of each operator in ``no_grad``: dtype, shape, strides, leaf or not, bits; or the same error."""
    for sample in [*SOME, *[s for s in CALLS if s.name in PAIRS]][part::4]:
        fast = outcome(sample)
        with something_else_on():
            assert outcome(sample) == fast, sample


def test_steps_without_record_take_the_fast_path() -> None:
    """Operators, functions, one with a number and views leave the general path alone in ``no_grad``."""
    x = rg.rand(4, 4)
    w = rg.rand(4, 4, requires_grad=True)
    entered: set[str] = set()
    with rg.no_grad():
        sys.setprofile(lambda frame, event, arg: entered.add(frame.f_code.co_filename.rpartition("<")[2]))
        try:
            results = [x * w, 2.0 * w, w @ x, rg.tanh(w), rg.addmm(w, w, x), rg.nn.functional.relu(w), x + x.t()]
            views = [w[0], *w.chunk(2)]
        finally:
            sys.setprofile(None)
    assert not any(r.requires_grad for r in results)
    assert all(v.requires_grad and v.grad_fn is None for v in views)
    names = ("mul", "mm", "tanh", "addmm", "relu", "add", "select", "_split")
    assert {f"calls of {name} in no_grad>" for name in names} <= entered


def test_types_of_tensors_that_fitted_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public function judges kinds of arguments once, also those of tensors."""
    scores, classes = rg.rand(3, 4), rg.tensor([0, 1, 2])
    rg.nn.functional.cross_entropy(scores, classes)
    looked: list[Any] = []
    monkeypatch.setattr(KindCheck, "_look", lambda self, *args: looked.append(self.name))
    rg.nn.functional.cross_entropy(scores, classes)
    assert not looked
