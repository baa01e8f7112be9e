"""Random programs with checkpoints anywhere: gradients are those of the program without them, and PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from both_engines import differential, raises
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd

STEPS: dict[str, Any] = {
    "sin": lambda t, a, w: a.sin(),
    "exp": lambda t, a, w: (a.tanh() * 0.3).exp(),
    "weight": lambda t, a, w: a * w,
    "square": lambda t, a, w: a * a.tanh(),
    "in place": lambda t, a, w: a.clone().mul_(w).sin_(),
    "view": lambda t, a, w: t.cat([a[1:], a[:1]]) + a.view(3, 1).mean(),
    "detached": lambda t, a, w: a + a.detach() * w,
    "quiet": lambda t, a, w: a * quiet(t, w),
    "hook": lambda t, a, w: hooked(a * 1.5),
    "random": lambda t, a, w: a * t.rand(3, dtype=t.float64) if t is retrograd else a,
}


def quiet(t: Any, w: Any) -> Any:
    """A factor computed without recording."""
    with t.no_grad():
        return w.cos()


def hooked(a: Any) -> Any:
    """The tensor with a hook that doubles its gradient."""
    if a.requires_grad:
        a.register_hook(lambda g: g * 2)
    return a


# A program is a list of step names and blocks; a block is (reentrant, program) and is checkpointed as a whole.
programs = st.recursive(
    st.lists(st.sampled_from(sorted(set(STEPS) - {"random"})), min_size=1, max_size=4),
    lambda inner: st.lists(
        st.sampled_from(sorted(set(STEPS) - {"random"})) | st.tuples(st.booleans(), inner), max_size=4
    ),
    max_leaves=6,
)


def run(t: Any, program: Any, a: Any, w: Any, *, checkpointed: bool) -> Any:
    """Apply a program to ``a``."""
    checkpoint = importlib.import_module(f"{t.__name__}.utils.checkpoint").checkpoint
    for entry in program:
        if isinstance(entry, str):
            a = STEPS[entry](t, a, w)
        elif checkpointed:
            reentrant, inner = entry
            block = lambda b, inner=inner: run(t, inner, b, w, checkpointed=True)  # noqa: E731
            a = checkpoint(block, a * 1, use_reentrant=reentrant)
        else:
            a = run(t, entry[1], a * 1, w, checkpointed=False)
    return a


def gradients(t: Any, program: Any, *, checkpointed: bool) -> list[Any]:
    """Result and gradients of a program."""
    t.manual_seed(0)
    x = t.tensor([0.5, -1.0, 1.5], dtype=t.float64, requires_grad=True)
    w = t.tensor([1.1, 0.7, -0.4], dtype=t.float64, requires_grad=True)
    out = run(t, program, x * 1, w, checkpointed=checkpointed)
    (out.sum() + (w * 0).sum()).backward()
    return [v.detach().tolist() for v in (out, x.grad, w.grad)]


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@settings(max_examples=60)
@given(programs)
def test_checkpoints_change_nothing(program: Any) -> None:
    """With and without checkpoints, here and on PyTorch: the same result and gradients."""
    torch = pytest.importorskip("torch")
    plain = gradients(retrograd, program, checkpointed=False)
    for found in (gradients(retrograd, program, checkpointed=True), gradients(torch, program, checkpointed=True)):
        for one, other in zip(plain, found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@settings(max_examples=30)
@given(st.lists(st.sampled_from(["random", "sin", "weight"]), min_size=1, max_size=4), st.booleans())
def test_random_numbers_are_drawn_again(steps: list[str], reentrant: bool) -> None:
    """Random factors inside a checkpoint are the same both times."""
    plain = gradients(retrograd, [*steps, "random"], checkpointed=False)
    found = gradients(retrograd, [(reentrant, steps), "random"], checkpointed=True)
    for one, other in zip(plain, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@differential
def test_beneath_transforms(torch: Any) -> Any:
    """G-23, F-10: ``func.grad`` refuses its hooks, forward mode and ``vmap`` do not; all refuse a reentrant one."""
    func = torch.func
    x = torch.tensor([1.0, 2.0])
    found: list[Any] = []
    for reentrant in (False, True):

        def f(x: Any, reentrant: bool = reentrant) -> Any:
            return torch.utils.checkpoint.checkpoint(lambda t: t.sin() * t, x, use_reentrant=reentrant)

        said = "override the setup_context" if reentrant else "don't yet support saved tensor hooks"
        found.append(raises(said, func.grad(lambda x: f(x).sum()), x))
        found.append(raises(said, func.vjp, f, x))
        for transform in (func.vmap(f), func.jacfwd(f), lambda x: func.jvp(f, (x,), (x,))):
            found.append(raises(said, transform, x) if reentrant else transform(x))
    return found
